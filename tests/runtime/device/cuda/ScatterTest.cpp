//===- ScatterTest.cpp - scatters on a GPU against a CPU ------------------===//
//
// The bits of sums are those of the CPU, which adds updates in their order.
//
//===----------------------------------------------------------------------===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/support/Error.h"
#include "tests/support/ElementTypes.h"

#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class ScatterTest : public testing::TestWithParam<DType> {
protected:
  /// Indices are mostly below `spread`.
  void check(bool isAlong, int64_t outer, int64_t rows, int64_t count, int64_t inner, int64_t spread,
             DType index = DType::I32) {
    LibraryCall call{isAlong ? LibraryFunction::ScatterAddAlong : LibraryFunction::ScatterAdd,
                     GetParam(),
                     {outer, rows, count, inner},
                     {index}};
    int64_t indices = isAlong ? outer * count * inner : count;
    tester.check(call,
                 {drawNumbers(random, GetParam(), outer * rows * inner),
                  drawIndices(random, index, indices, std::max<int64_t>(rows, 1), spread),
                  drawNumbers(random, GetParam(), outer * count * inner)},
                 outer * rows * inner * byteSize(GetParam()));
  }
  std::mt19937 random{static_cast<uint32_t>(GetParam())};
  LibraryCallTester tester;
};

TEST_P(ScatterTest, FewUpdates) {
  for (bool isAlong : {false, true})
    for (int64_t count : {1, 2, 5, 16}) {
      check(isAlong, 1, 1, count, 1, 1);
      check(isAlong, 3, 7, count, 5, 3, DType::I64);
      check(isAlong, 40, 11, count, 1, 11);
    }
}

TEST_P(ScatterTest, ManyUpdates) {
  for (bool isAlong : {false, true}) {
    check(isAlong, 1, 300, 1000, 1, 300);
    check(isAlong, 2, 50, 40, 3, 50, DType::I64);
    check(isAlong, 1, 9, 333, 36, 9);
    check(isAlong, 3, 1000, 17, 8, 1000);
  }
  // Rows of a multiple of 16 bytes.
  check(false, 2, 20, 50, 16, 20);
  if (tester.getLaunches()[0] == "spmd_scatter_keys")
    EXPECT_EQ(tester.getLaunches()[2], "spmd_scatter_short_wide");
  // Columns of several blocks, of sizes that differ.
  check(false, 1, 30, 300, 528, 30);
  check(false, 1, 40, 300, 65, 40);
  // Keys of two digits, and of a digit that `rows` itself needs.
  check(false, 1, 70000, 5000, 1, 70000);
  check(false, 1, 256, 5000, 1, 256, DType::I64);
}

TEST_P(ScatterTest, LongRuns) {
  for (bool isAlong : {false, true}) {
    check(isAlong, 1, 4, 700, 1, 1);
    check(isAlong, 2, 3, 300, 5, 2);
    check(isAlong, 1, 2, 200, 33, 1, DType::I64);
  }
  check(false, 1, 5, 6000, 1, 2);
  // Runs of 63 to 66 elements at all positions: around the length from which a block adds.
  for (int64_t length : {63, 64, 65, 66}) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < 9 * length; ++i)
      indices.push_back(i / length);
    LibraryCall call{LibraryFunction::ScatterAdd, GetParam(), {1, 9, 9 * length, 2}, {DType::I32}};
    tester.check(call,
                 {drawNumbers(random, GetParam(), 18), makeIndices(DType::I32, indices),
                  drawNumbers(random, GetParam(), 18 * length)},
                 18 * byteSize(GetParam()));
  }
}

TEST_P(ScatterTest, NothingToAdd) {
  check(false, 1, 5, 0, 3, 1);
  check(true, 0, 5, 4, 3, 1);
  check(false, 2, 0, 4, 3, 1);
  check(true, 2, 5, 4, 0, 1);
  EXPECT_TRUE(tester.getLaunches().empty());
  // All indices are out of range.
  LibraryCall call{LibraryFunction::ScatterAdd, GetParam(), {1, 3, 20, 1}, {DType::I64}};
  tester.check(call,
               {drawNumbers(random, GetParam(), 3), makeIndices(DType::I64, std::vector<int64_t>(20, int64_t(1) << 40)),
                drawNumbers(random, GetParam(), 20)},
               3 * byteSize(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, ScatterTest, testing::ValuesIn(test::elementTypes()),
                         [](const auto &info) { return std::string(dtypeName(info.param)); });

TEST(ScatterErrors, NamesWhatCannotBeAdded) {
  LibraryCallTester tester;
  LibraryCall call{LibraryFunction::ScatterAdd, DType::F32, {1, int64_t(1) << 32, 100, 1}, {DType::I64}};
  EXPECT_THROW(tester.getLibrary().getScratchBytes(call), Error);
  call = {LibraryFunction::ScatterAdd, DType::Key, {1, 4, 4, 1}, {DType::I32}};
  EXPECT_THROW(tester.getLibrary().prepare(call), Error);
}

} // namespace
