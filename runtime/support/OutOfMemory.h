//===- OutOfMemory.h - saying that there is no memory -----------*- C++ -*-===//
//
// Where memory is used up, saying so takes some: a message, a frame for the coordinator, a line of the log. The process
// keeps a reserve for that, and lets go of it when an allocation fails.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace spmd {

/// Makes the reserve, where there is none; without memory for it there is none. Safe from any thread.
void keepMemoryReserve() noexcept;
/// An allocation has failed, and its error is to be told. Safe from any thread.
void releaseMemoryReserve() noexcept;

/// "the system gives this process no more memory; ..." with what to do. Made when the process starts: asking for it
/// takes no memory.
const std::string &noMemoryText() noexcept;

} // namespace spmd
