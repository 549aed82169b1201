#include "runtime/io/BoxCopy.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace spmd;

namespace {

// Every box of a 3x4x5 array, copied to every position of another shape, against element-by-element copying.
TEST(BoxCopy, every_box_of_a_small_array) {
  std::vector<int64_t> from = {3, 4, 5}, to = {4, 4, 6};
  std::vector<int32_t> source(60);
  std::iota(source.begin(), source.end(), 1);
  for (int64_t a = 0; a <= 3; ++a)
    for (int64_t b = 0; b <= 4; ++b)
      for (int64_t c = 0; c <= 5; ++c) {
        std::vector<int64_t> extent = {a, b, c}, start = {3 - a, 4 - b, 5 - c}, place = {1, 0, 1};
        std::vector<int32_t> target(96), expected(96);
        copyBox(4, extent, source.data(), from, start, target.data(), to, place);
        for (int64_t i = 0; i < a; ++i)
          for (int64_t j = 0; j < b; ++j)
            for (int64_t k = 0; k < c; ++k)
              expected[((i + 1) * 4 + j) * 6 + k + 1] = source[((i + 3 - a) * 4 + j + 4 - b) * 5 + k + 5 - c];
        ASSERT_EQ(target, expected) << a << " " << b << " " << c;
      }
}

TEST(BoxCopy, scalars_have_one_element) {
  double source = 2.5, target = 0;
  copyBox(8, {}, &source, {}, {}, &target, {}, {});
  EXPECT_EQ(target, 2.5);
}

} // namespace
