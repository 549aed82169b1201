//===- SortTest.cpp - sorts on a GPU against those on a CPU ---------------===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/support/Error.h"
#include "tests/support/ElementTypes.h"

#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class SortTest : public testing::TestWithParam<DType> {
protected:
  void check(int64_t outer, int64_t size, int64_t inner, bool isDescending = false, DType positions = DType::I32) {
    int64_t count = outer * size * inner;
    checkBoth({outer, size, inner}, isDescending, positions, drawElements(random, GetParam(), count));
  }
  /// Positions, and then values.
  void checkBoth(const std::vector<int64_t> &sizes, bool isDescending, DType positions,
                 const std::vector<char> &elements) {
    auto count = static_cast<int64_t>(elements.size()) / byteSize(GetParam());
    tester.check(
        {isDescending ? LibraryFunction::ArgsortDescending : LibraryFunction::Argsort, GetParam(), sizes, {positions}},
        {elements}, count * byteSize(positions));
    launches = tester.getLaunches();
    tester.check({isDescending ? LibraryFunction::SortDescending : LibraryFunction::Sort, GetParam(), sizes, {}},
                 {elements}, count * byteSize(GetParam()));
  }
  /// Number of elements that one block sorts.
  int64_t blockItems() const { return byteSize(GetParam()) == 8 ? 2048 : 4096; }

  std::mt19937 random{static_cast<uint32_t>(GetParam())};
  LibraryCallTester tester;
  std::vector<std::string> launches; ///< Of the last argsort; the tester has those of the sort of values.
};

TEST_P(SortTest, LinesInAWarp) {
  for (int64_t size : {1, 2, 3, 7, 8, 13, 16, 31, 32})
    for (bool isDescending : {false, true}) {
      check(1, size, 1, isDescending);
      check(5, size, 3, isDescending, DType::I64);
    }
  check(70, 3, 11);
  EXPECT_EQ(tester.getLaunches(), std::vector<std::string>{"spmd_sort_warps"});
}

TEST_P(SortTest, LinesInABlock) {
  for (bool isDescending : {false, true}) {
    check(2, 33, 1, isDescending);
    check(1, 256, 1, isDescending);
    check(2, 257, 2, isDescending, DType::I64);
    check(1, 1024, 1, isDescending);
    check(1, 1025, 1, isDescending);
    check(1, blockItems() - 1, 1, isDescending);
    check(1, blockItems(), 1, isDescending);
  }
  EXPECT_EQ(tester.getLaunches().size(), 1u);
}

TEST_P(SortTest, LinesOfSeveralTiles) {
  check(1, blockItems() + 1, 1);
  check(1, 3 * blockItems(), 1, true);
  check(2, 2 * blockItems() + 77, 1, false, DType::I64);
  check(1, blockItems() + 300, 2, true);
  check(1, 10000, 1);
  // Two blocks count the digits of one line.
  if (byteSize(GetParam()) <= 2)
    check(1, 16384 + 700, 1);
  EXPECT_EQ(launches.back(), "spmd_sort_pass");
  EXPECT_EQ(tester.getLaunches().back(), "spmd_sort_values");
}

// Digits that are equal in a full line are skipped, others in each line; equal elements need one pass.
TEST_P(SortTest, DigitsThatAreTheSame) {
  int64_t width = byteSize(GetParam()), size = blockItems() + 50;
  for (bool isDescending : {false, true}) {
    std::vector<char> elements;
    for (uint64_t limit : {1, 2, 200, 70'000}) {
      // The low bits of floats that are 1 or slightly more.
      uint64_t one = GetParam() == DType::F64   ? 0x3ff0000000000000
                     : GetParam() == DType::F32 ? 0x3f800000
                     : isFloat(GetParam())      ? 0x3c00
                                                : 0;
      for (int64_t i = 0; i < size; ++i) {
        uint64_t bits = one + random() % (GetParam() == DType::Bool ? std::min<uint64_t>(limit, 2) : limit);
        elements.insert(elements.end(), reinterpret_cast<char *>(&bits), reinterpret_cast<char *>(&bits) + width);
      }
    }
    checkBoth({4, size, 1}, isDescending, DType::I32, elements);
    checkBoth({2, size, 2}, isDescending, DType::I32, elements);
  }
}

TEST_P(SortTest, NothingToSort) {
  check(0, 5, 1);
  check(3, 0, 1);
  check(3, 5, 0);
  EXPECT_TRUE(tester.getLaunches().empty());
}

INSTANTIATE_TEST_SUITE_P(All, SortTest, testing::ValuesIn(test::elementTypes()),
                         [](const auto &info) { return std::string(dtypeName(info.param)); });

TEST(SortErrors, NamesWhatCannotBeSorted) {
  LibraryCallTester tester;
  LibraryCall call{LibraryFunction::Argsort, DType::U8, {1, int64_t(1) << 32, 1}, {DType::I64}};
  EXPECT_THROW(tester.getLibrary().getScratchBytes(call), Error);
  call = {LibraryFunction::Argsort, DType::Key, {1, 4, 1}, {DType::I32}};
  EXPECT_THROW(tester.getLibrary().prepare(call), Error);
}

} // namespace
