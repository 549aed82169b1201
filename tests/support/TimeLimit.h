//===- TimeLimit.h - limits of time in tests --------------------*- C++ -*-===//
//
// What RUNTIME promises holds for the release build. Sanitizers make everything several times slower; their presets
// define the factor (cmake/Toolchain.cmake), which also stretches the limits that ctest sets.
//
//===----------------------------------------------------------------------===//
#pragma once

#ifndef SPMDC_TEST_TIME_SCALE
#define SPMDC_TEST_TIME_SCALE 1
#endif

namespace spmd::test {

/// The time that this build may take where a release build may take `limit`.
template <typename Duration> constexpr Duration timeLimit(Duration limit) { return limit * SPMDC_TEST_TIME_SCALE; }

} // namespace spmd::test
