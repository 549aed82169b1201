//===- LibraryCallsHelper.cpp - library calls, on both devices ------------===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/device/cpu/Library.h"

#include <gtest/gtest.h>

namespace spmd::cuda {

std::vector<spmdc::ThreadOrder> threeOrders() {
  return {spmdc::ThreadOrder::forward(), spmdc::ThreadOrder::backward(), spmdc::ThreadOrder::shuffled(7)};
}

void LibraryCallTester::check(const LibraryCall &call, const std::vector<std::vector<char>> &inputs,
                              int64_t resultBytes) {
  bool isSort = inputs.size() == 1;
  std::vector<char> expected(resultBytes);
  std::vector<const void *> pointers;
  for (const std::vector<char> &input : inputs)
    pointers.push_back(input.data());
  ParallelFor loop(1, std::chrono::nanoseconds(0));
  runLibrary(call, loop, pointers.data(), expected.data());

  std::string what = std::string(dtypeName(call.dtype));
  for (int64_t size : call.sizes)
    what += " " + std::to_string(size);
  library.prepare(call);
  int order = 0;
  for (const spmdc::ThreadOrder &threads : threeOrders()) {
    for (bool inPlace : {false, true}) {
      if (inPlace && isSort)
        continue;
      driver.setOrder(threads);
      std::vector<std::unique_ptr<DeviceArray>> arrays;
      std::vector<DevicePointer> addresses;
      for (const std::vector<char> &input : inputs) {
        arrays.push_back(std::make_unique<DeviceArray>(input.data(), input.size()));
        addresses.push_back(arrays.back()->address());
      }
      DeviceArray other(inPlace ? 0 : resultBytes), scratch((library.getScratchBytes(call) + 255) / 256 * 256);
      DeviceArray &result = inPlace ? *arrays[0] : other;
      driver.takeLaunches();
      library.run(call, nullptr, addresses, result.address(), scratch.address());
      launches = driver.takeLaunches();
      if (!inPlace)
        copyingLaunches = launches;
      std::vector<char> actual = result.bytes();
      if (actual != expected) {
        size_t at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
        ADD_FAILURE() << what << (inPlace ? ", in place" : "") << ", order " << order << ": byte " << at << " of "
                      << actual.size() << " differs";
        return;
      }
      for (size_t i = inPlace ? 1 : 0; i < inputs.size(); ++i)
        EXPECT_EQ(arrays[i]->bytes(), inputs[i]) << what << ": input " << i << " was written to";
    }
    ++order;
  }
}

} // namespace spmd::cuda
