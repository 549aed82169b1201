//===- Random.h - random inputs ---------------------------------*- C++ -*-===//
//
// jax.random.normal(jax.random.key(seed), shape): threefry2x32 in its partitionable form, so that an element depends
// only on its index in the global array, and is the same on every mesh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <utility>

namespace spmd {

/// One block of Threefry-2x32 with 20 rounds.
std::pair<uint32_t, uint32_t> threefry2x32(std::pair<uint32_t, uint32_t> key, std::pair<uint32_t, uint32_t> counter);

/// Element `index` (row-major) of the standard normal array of that seed, in f32.
float normalElement(uint64_t seed, uint64_t index);

} // namespace spmd
