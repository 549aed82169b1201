//===- StandardStreams.h - what a command starts with -----------*- C++ -*-===//
#pragma once

namespace spmdc {

/// What a command does before anything else, so that writing fails where it should, with an error that can be told:
/// - a standard stream that is closed stays so, instead of becoming the next file that is opened;
/// - a file that grows beyond the limit (`ulimit -f`) is an error of the write, and not the end of the process.
void prepareWriting();

/// What a command does last: what it has printed is written, and where it cannot be, that is said on stderr. Returns
/// `status`, or 1 in the place of 0.
int finishWriting(const char *command, int status);

} // namespace spmdc
