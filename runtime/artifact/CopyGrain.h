//===- CopyGrain.h - copies that are worth another thread -------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace spmd {

/// Bytes of a copy that are worth another thread of a CPU device. The compiler knows it, too: a loop that one function
/// runs (CompiledLoops.h) has no copies that the runtime would divide.
inline constexpr int64_t copyGrainBytes = 1 << 18;

} // namespace spmd
