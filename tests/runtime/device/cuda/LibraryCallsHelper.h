//===- LibraryCallsHelper.h - library calls, on both devices ----*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/Library.h"
#include "tests/runtime/device/cuda/EmulatedDriverHelper.h"

#include <random>

namespace spmd::cuda {

/// Elements of any type: NaN of both signs, infinities, zeros of both signs and few different values among the floats,
/// so that there are ties; all bit patterns of integers.
std::vector<char> drawElements(std::mt19937 &random, DType dtype, int64_t count);
/// Finite numbers whose sums round.
std::vector<char> drawNumbers(std::mt19937 &random, DType dtype, int64_t count);
/// Positions [-1, rows] and some far outside, most of them below `spread`.
std::vector<char> drawIndices(std::mt19937 &random, DType dtype, int64_t count, int64_t rows, int64_t spread);
std::vector<char> makeIndices(DType dtype, const std::vector<int64_t> &values);

/// Runs the call on the emulated GPU in three orders of its threads, into other memory and, where a call changes its
/// first input, in place, and on the CPU; fails the running test where the bytes differ.
class LibraryCallTester {
public:
  void check(const LibraryCall &call, const std::vector<std::vector<char>> &inputs, int64_t resultBytes);
  /// Of the last call.
  const std::vector<std::string> &getLaunches() const { return launches; }
  Library &getLibrary() { return library; }
  EmulatedDriver &getDriver() { return driver; }

private:
  EmulatedDriver driver;
  Library library{driver.getDriver()};
  std::vector<std::string> launches;
};

/// Forward, backward, shuffled.
std::vector<spmdc::ThreadOrder> threeOrders();

} // namespace spmd::cuda
