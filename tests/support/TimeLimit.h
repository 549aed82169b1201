//===- TimeLimit.h - time limits in tests -----------------------*- C++ -*-===//
//
// The limits that RUNTIME promises hold for the release build. Sanitizers make everything several times slower; their
// presets define the factor (cmake/Toolchain.cmake), which also stretches the limits that ctest sets.
//
//===----------------------------------------------------------------------===//
#pragma once

#ifndef SPMDC_TEST_TIME_SCALE
#define SPMDC_TEST_TIME_SCALE 1
#endif

namespace spmd::test {

/// Returns the time that this build may take if a release build may take `limit`.
template <typename Duration> constexpr Duration timeLimit(Duration limit) { return limit * SPMDC_TEST_TIME_SCALE; }

} // namespace spmd::test
