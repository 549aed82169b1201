//===- StandardStreams.h - errors on standard streams -----------*- C++ -*-===//
#pragma once

namespace spmdc {

/// Makes failures of writes reportable. A command calls this first:
/// - a closed standard stream stays unusable, instead of becoming the next file that is opened;
/// - a write beyond the file size limit (`ulimit -f`) fails, instead of killing the process by a signal.
void prepareWriting();

/// Flushes standard output; a command calls this last. On failure prints an error to stderr. Returns `status`, or 1 if
/// `status` is 0 and the flush fails.
int finishWriting(const char *command, int status);

} // namespace spmdc
