//===- LibraryHardwareTest.cpp - the library's kernels on a GPU -----------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/device/cpu/Matmul.h"
#include "tests/runtime/device/cuda/DrawHelper.h"
#include "tests/runtime/device/cuda/hardware/Machine.h"
#include "tests/support/ElementTypes.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class LibraryHardware : public HardwareTest, public testing::WithParamInterface<DType> {
protected:
  /// Runs the call directly and, captured, twice more; all three results equal the CPU's.
  void check(const LibraryCall &call, const std::vector<std::vector<char>> &inputs, int64_t resultBytes) {
    std::vector<char> expected(resultBytes);
    std::vector<const void *> pointers;
    for (const std::vector<char> &input : inputs)
      pointers.push_back(input.data());
    ParallelFor loop(1, std::chrono::nanoseconds(0));
    runLibrary(call, loop, pointers.data(), expected.data());

    const Driver &driver = machine->driver;
    std::vector<DevicePointer> addresses;
    for (const std::vector<char> &input : inputs)
      addresses.push_back(machine->upload(input));
    DevicePointer result = machine->upload(std::vector<char>(resultBytes));
    DevicePointer scratch =
        machine->gpu.allocate(std::max<int64_t>(machine->library.getScratchBytes(call), 256), machine->stream);
    machine->library.run(call, machine->stream, addresses, result, scratch);
    expectEqual(call, machine->download(result, resultBytes), expected);

    Graph graph = nullptr;
    GraphExec executable = nullptr;
    driver.check(driver.StreamBeginCapture(machine->stream, kCaptureThreadLocal), "cuStreamBeginCapture");
    machine->library.run(call, machine->stream, addresses, result, scratch);
    driver.check(driver.StreamEndCapture(machine->stream, &graph), "cuStreamEndCapture");
    driver.check(driver.GraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < 2; ++i) {
      driver.check(driver.MemsetD8Async(result, 0x7f, resultBytes, machine->stream), "cuMemsetD8Async");
      driver.check(driver.GraphLaunch(executable, machine->stream), "cuGraphLaunch");
      expectEqual(call, machine->download(result, resultBytes), expected);
    }
    driver.GraphExecDestroy(executable);
    driver.GraphDestroy(graph);
    addresses.push_back(result);
    addresses.push_back(scratch);
    for (DevicePointer address : addresses)
      machine->gpu.free(address, machine->stream);
  }

  static void expectEqual(const LibraryCall &call, const std::vector<char> &actual, const std::vector<char> &expected) {
    if (actual == expected)
      return;
    std::string what(dtypeName(call.dtype));
    for (int64_t size : call.sizes)
      what += " " + std::to_string(size);
    size_t at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
    ADD_FAILURE() << what << ": byte " << at << " of " << actual.size() << " differs";
  }

  void sort(int64_t outer, int64_t size, int64_t inner, bool isDescending, DType positions) {
    int64_t count = outer * size * inner;
    std::vector<char> elements = drawElements(random, GetParam(), count);
    check({isDescending ? LibraryFunction::ArgsortDescending : LibraryFunction::Argsort,
           GetParam(),
           {outer, size, inner},
           {positions}},
          {elements}, count * byteSize(positions));
    check(
        {isDescending ? LibraryFunction::SortDescending : LibraryFunction::Sort, GetParam(), {outer, size, inner}, {}},
        {elements}, count * byteSize(GetParam()));
  }

  void scatter(bool isAlong, int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t spread, DType index) {
    LibraryCall call{isAlong ? LibraryFunction::ScatterAddAlong : LibraryFunction::ScatterAdd,
                     GetParam(),
                     {outer, rows, count, inner},
                     {index}};
    check(call,
          {drawNumbers(random, GetParam(), outer * rows * inner),
           drawIndices(random, index, isAlong ? outer * count * inner : count, rows, spread),
           drawNumbers(random, GetParam(), outer * count * inner)},
          outer * rows * inner * byteSize(GetParam()));
  }

  std::mt19937 random{static_cast<uint32_t>(GetParam())};
};

TEST_P(LibraryHardware, Sorts) {
  for (bool isDescending : {false, true}) {
    sort(3, 1, 5, isDescending, DType::I32);
    sort(1000, 7, 3, isDescending, DType::I64);
    sort(100, 32, 1, isDescending, DType::I32);
    sort(30, 100, 4, isDescending, DType::I32);
    sort(50, 1000, 1, isDescending, DType::I64);
    sort(10, 2048, 1, isDescending, DType::I32);
    sort(7, 5000, 3, isDescending, DType::I32);
    sort(1, 1 << 20, 1, isDescending, DType::I32);
    sort(3, 300'001, 1, isDescending, DType::I64);
  }
}

TEST_P(LibraryHardware, Scatters) {
  for (bool isAlong : {false, true})
    for (DType index : {DType::I32, DType::I64}) {
      scatter(isAlong, 2, 5, 7, 3, 5, index);
      scatter(isAlong, 500, 1000, 1, 1, 1000, index);
      scatter(isAlong, 1, 1000, 100'000, 1, 1000, index);
      scatter(isAlong, 1, 10, 100'000, 1, 2, index);
      scatter(isAlong, 3, 300, 3000, 40, 300, index);
      scatter(isAlong, 1, 100, 2000, 65, 3, index);
    }
  scatter(false, 1, 1'000'000, 1'000'000, 1, 1'000'000, DType::I32);
}

TEST_P(LibraryHardware, UpdatesOfSlices) {
  for (int64_t start : {-3, 0, 70, 1000}) {
    auto bytes = static_cast<int64_t>(byteSize(GetParam()));
    std::vector<char> operand(100 * 64 * 48 * bytes, 1), update(100 * 5 * 48 * bytes, 2), zero(8), at(8);
    std::memcpy(at.data(), &start, 8);
    check({LibraryFunction::UpdateSlice, GetParam(), {100, 64, 48, 100, 5, 48}, {DType::I64, DType::I32, DType::I64}},
          {operand, update, zero, at, zero}, operand.size());
  }
}

// Floats of small integers, so that the products are exact.
TEST_P(LibraryHardware, Products) {
  for (auto [batch, m, n, k] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                {3, 70, 130, 33},
                                {1, 1000, 900, 100},
                                {1, 1152, 1024, 32},
                                {70'000, 2, 3, 4},
                                {2, 300, 200, 0}})
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true}) {
        MatmulShape shape{batch, m, n, k, transposeLhs, transposeRhs, GetParam(), GetParam()};
        auto draw = [&](int64_t count) {
          std::vector<char> bytes = drawSmall(random, GetParam(), count);
          bytes.resize(std::max<size_t>(bytes.size(), 64));
          return bytes;
        };
        std::vector<char> lhs = draw(batch * m * k), rhs = draw(batch * k * n);
        std::vector<char> expected(batch * m * n * byteSize(GetParam()));
        ParallelFor loop(1, std::chrono::nanoseconds(0));
        auto matmul = Matmul::create(shape, nullptr, 1);
        std::vector<char> scratch(matmul->getScratchBytes() + 64);
        auto *aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
        matmul->run(loop, lhs.data(), rhs.data(), expected.data(), aligned, {});
        DevicePointer left = machine->upload(lhs), right = machine->upload(rhs);
        DevicePointer result = machine->upload(std::vector<char>(expected.size()));
        machine->library.multiply(shape, machine->stream, left, right, result);
        EXPECT_TRUE(machine->download(result, expected.size()) == expected)
            << dtypeName(GetParam()) << " " << batch << " " << m << " " << n << " " << k << transposeLhs
            << transposeRhs;
        for (DevicePointer address : {left, right, result})
          machine->gpu.free(address, machine->stream);
      }
}

INSTANTIATE_TEST_SUITE_P(All, LibraryHardware, testing::ValuesIn(test::elementTypes()),
                         [](const auto &info) { return std::string(dtypeName(info.param)); });

} // namespace
