//===- SliceTest.cpp - windows on a GPU against those on a CPU ------------===//

#include "tests/runtime/device/cuda/LibraryCallsHelper.h"

#include "runtime/support/Error.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class SliceTest : public testing::Test {
protected:
  void check(DType dtype, const std::vector<int64_t> &shape, const std::vector<int64_t> &window,
             const std::vector<int64_t> &starts) {
    LibraryCall call{LibraryFunction::UpdateSlice, dtype, shape, {}};
    call.sizes.insert(call.sizes.end(), window.begin(), window.end());
    auto count = [](const std::vector<int64_t> &sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
    };
    // Only bytes matter; a random key has 8.
    auto draw = [&](int64_t elements) {
      std::vector<char> bytes(elements * byteSize(dtype));
      for (char &byte : bytes)
        byte = static_cast<char>(random());
      return bytes;
    };
    std::vector<std::vector<char>> inputs{draw(count(shape)), draw(count(window))};
    for (int64_t start : starts) {
      call.indexTypes.push_back(random() % 2 ? DType::I64 : DType::I32);
      inputs.push_back(makeIndices(call.indexTypes.back(), {start}));
    }
    tester.check(call, inputs, inputs[0].size());
  }
  std::mt19937 random{5};
  LibraryCallTester tester;
};

const DType allTypes[] = {DType::F64, DType::F32, DType::BF16, DType::I8, DType::Bool, DType::Key};

TEST_F(SliceTest, WindowsAtAllPlaces) {
  for (DType dtype : allTypes) {
    check(dtype, {}, {}, {});
    check(dtype, {10}, {3}, {4});
    check(dtype, {10}, {10}, {0});
    for (int64_t start : {-5, 0, 1, 2, 3, 100})
      check(dtype, {5, 7}, {3, 7}, {start, start});
    check(dtype, {5, 7}, {3, 2}, {1, 4});
    check(dtype, {5, 7}, {5, 2}, {9, 4});
    check(dtype, {4, 3, 6, 2, 8}, {2, 3, 6, 1, 8}, {1, 0, 0, 1, 0});
    check(dtype, {4, 3, 6, 2, 8}, {4, 1, 5, 2, 3}, {0, 2, 1, 0, 4});
    check(dtype, {2, 3, 2, 3, 2, 3, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 2}, {1, 1, 0, 0, 1, 0, 1, 1});
    check(dtype, {40, 33}, {39, 31}, {1, 2});
    check(dtype, {3, 1, 300, 1}, {2, 1, 41, 1}, {1, 0, 258, 0});
  }
}

// Rows from one start on: a range, without divisions. Of small windows elsewhere, the array is copied first.
TEST_F(SliceTest, Ranges) {
  using Names = std::vector<std::string>;
  for (DType dtype : allTypes)
    for (int64_t start : {-3, 0, 4, 90, 1000}) {
      check(dtype, {100, 7}, {33, 7}, {start, 0});
      check(dtype, {3000}, {1100}, {start});
      check(dtype, {130, 4, 8}, {129, 4, 8}, {start, 0, 0});
    }
  check(DType::F32, {100, 8}, {33, 8}, {5, 0});
  EXPECT_EQ(tester.getLaunches(), Names{"spmd_range_16"});
  EXPECT_EQ(tester.getCopyingLaunches(), Names{"spmd_range_copy_16"});
  check(DType::F32, {100, 8}, {99, 7}, {1, 1});
  EXPECT_EQ(tester.getCopyingLaunches(), Names{"spmd_slice_copy_4"});
  check(DType::F32, {100, 8}, {2, 7}, {50, 1});
  EXPECT_EQ(tester.getCopyingLaunches(), Names{"spmd_slice_4"});
}

TEST_F(SliceTest, NothingToWrite) {
  check(DType::F32, {5, 7}, {0, 2}, {1, 1});
  check(DType::F32, {0, 7}, {0, 7}, {0, 0});
  EXPECT_TRUE(tester.getLaunches().empty());
}

// Rows of a cache: 16 bytes at a time.
TEST_F(SliceTest, MovesTheLargestContiguousUnit) {
  check(DType::BF16, {3, 20, 4, 8}, {3, 1, 4, 8}, {0, 11, 0, 0});
  EXPECT_EQ(tester.getLaunches(), std::vector<std::string>{"spmd_slice_16"});
  EXPECT_EQ(tester.getCopyingLaunches(), std::vector<std::string>{"spmd_slice_16"}); // Behind a copy.
  check(DType::BF16, {3, 20, 6}, {3, 1, 6}, {0, 11, 0});
  EXPECT_EQ(tester.getLaunches(), std::vector<std::string>{"spmd_slice_4"});
  check(DType::F32, {8, 64}, {8, 32}, {0, 5});
  EXPECT_EQ(tester.getLaunches(), std::vector<std::string>{"spmd_slice_4"});
}

TEST_F(SliceTest, NamesTooManyDimensions) {
  LibraryCall call{LibraryFunction::UpdateSlice, DType::F32, std::vector<int64_t>(18, 1), {}};
  call.indexTypes.assign(9, DType::I32);
  std::fill_n(call.sizes.begin(), 9, 2);
  EXPECT_THROW(tester.getLibrary().prepare(call), Error);
}

} // namespace
