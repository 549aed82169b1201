//===- OutOfMemory.h - reports of exhausted memory --------------*- C++ -*-===//
//
// Reporting exhausted memory itself needs memory: for a message, a frame to the coordinator, a log line. The process
// keeps a reserve for that, and frees it when an allocation fails.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace spmd {

/// Allocates the reserve if there is none and memory suffices. Thread-safe.
void keepMemoryReserve() noexcept;
/// Frees the reserve after a failed allocation, so that its error can be reported. Thread-safe.
void releaseMemoryReserve() noexcept;

/// Returns "the system gives this process no more memory; ..." with a remedy. Created at the start of the process, so
/// the call allocates nothing.
const std::string &noMemoryText() noexcept;

} // namespace spmd
