//===- LibraryCallsHelper.cpp - library calls, on both devices ------------===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Elements.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace spmd::cuda {
namespace {

template <typename Draw> std::vector<char> drawWith(DType dtype, int64_t count, const Draw &draw) {
  std::vector<char> bytes(count * byteSize(dtype));
  visitElement(dtype, [&](auto element) {
    using Stored = typename decltype(element)::Stored;
    for (int64_t i = 0; i < count; ++i) {
      Stored stored = draw(element);
      std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
    }
  });
  return bytes;
}

} // namespace

std::vector<char> drawElements(std::mt19937 &random, DType dtype, int64_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const double specials[] = {0.0, -0.0, kInfinity, -kInfinity, kNan, -kNan, 1.0, -1.0};
  bool hasTies = random() % 2;
  return drawWith(dtype, count, [&](auto element) -> typename decltype(element)::Stored {
    using Stored = typename decltype(element)::Stored;
    if (dtype == DType::Bool)
      return static_cast<Stored>(random() % 2);
    if (isFloat(dtype)) {
      double value = random() % 4 == 0 ? specials[random() % 8]
                     : hasTies         ? static_cast<double>(random() % 7) - 3
                               : std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 60) - 60);
      return element.store(value);
    }
    uint64_t bits = hasTies ? random() % 5 - 2 : static_cast<uint64_t>(random()) << 32 | random();
    return static_cast<Stored>(bits);
  });
}

std::vector<char> drawNumbers(std::mt19937 &random, DType dtype, int64_t count) {
  return drawWith(dtype, count, [&](auto element) -> typename decltype(element)::Stored {
    if (isFloat(dtype))
      return element.store((static_cast<double>(random()) - 2e9) * std::ldexp(1e-9, static_cast<int>(random() % 12)));
    return element.store(dtype == DType::Bool ? random() % 3 == 0 : static_cast<int64_t>(random()) * 3);
  });
}

std::vector<char> makeIndices(DType dtype, const std::vector<int64_t> &values) {
  std::vector<char> bytes(values.size() * byteSize(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + i * byteSize(dtype), &values[i], byteSize(dtype));
  return bytes;
}

std::vector<char> drawIndices(std::mt19937 &random, DType dtype, int64_t count, int64_t rows, int64_t spread) {
  std::vector<int64_t> values(count);
  for (int64_t &value : values) {
    uint32_t kind = random() % 16;
    value = kind == 0   ? -1
            : kind == 1 ? rows
            : kind == 2
                ? (dtype == DType::I64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min())
            : kind < 5 ? static_cast<int64_t>(random() % rows)
                       : static_cast<int64_t>(random() % std::min(spread, rows));
  }
  return makeIndices(dtype, values);
}

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
