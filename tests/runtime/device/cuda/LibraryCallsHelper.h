//===- LibraryCallsHelper.h - library calls, on both devices ----*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/Library.h"
#include "tests/runtime/device/cuda/DrawHelper.h"
#include "tests/runtime/device/cuda/EmulatedDriverHelper.h"

namespace spmd::cuda {

/// Runs the call on the emulated GPU in three orders of its threads, into other memory and, if a call updates its first
/// input, in place, and on the CPU; fails the running test if the bytes differ.
class LibraryCallTester {
public:
  void check(const LibraryCall &call, const std::vector<std::vector<char>> &inputs, int64_t resultBytes);
  /// The launches of the last call.
  const std::vector<std::string> &getLaunches() const { return launches; }
  /// The launches of the last call whose result was not in the operand's memory.
  const std::vector<std::string> &getCopyingLaunches() const { return copyingLaunches; }
  Library &getLibrary() { return library; }
  EmulatedDriver &getDriver() { return driver; }

private:
  EmulatedDriver driver;
  Library library{driver.getDriver(), /*capability=*/70};
  std::vector<std::string> launches, copyingLaunches;
};

/// Forward, backward, shuffled.
std::vector<spmdc::ThreadOrder> threeOrders();

} // namespace spmd::cuda
