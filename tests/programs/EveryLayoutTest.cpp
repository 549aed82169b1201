//===- EveryLayoutTest.cpp - contractions and reshards, executed ----------===//
//
// All shardings of the operands and the result of a product over two axes of 8 devices, and of an array of rank 1 to 3
// before and after a reshard, with even and uneven sizes: compiled and run on 8 devices, each gives the bits of the
// unpartitioned program, at every stage. benchmarks/partitioner/contractions.py and reshards.py measure what they send.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

/// The axes of each dimension, in the language's syntax.
using Layout = std::vector<std::string>;

/// Returns all ways to assign a and b to the dimensions of an array; two axes of one dimension come in either order.
std::vector<Layout> listLayouts(size_t rank) {
  std::vector<Layout> layouts;
  for (size_t a = 0; a <= rank; ++a)
    for (size_t b = 0; b <= rank; ++b) {
      Layout layout(rank, "_");
      if (a < rank)
        layout[a] = "a";
      if (b < rank)
        layout[b] = a == b ? "(a, b)" : "b";
      layouts.push_back(layout);
      if (a == b && a < rank) {
        layout[a] = "(b, a)";
        layouts.push_back(layout);
      }
    }
  return layouts;
}

std::string typeText(const std::vector<int64_t> &shape, const Layout &layout) {
  std::string text = "f32[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]) + "@" + layout[d];
  return text + "]";
}

class EveryLayout : protected ExactPrograms, public ::testing::Test {
protected:
  void check(const std::string &main) {
    std::string text = "mesh m(a=2, b=4)\nfn main(" + main;
    SCOPED_TRACE(text);
    Random random(++checked);
    auto [sample, module] = partition(text, random);
    ASSERT_TRUE(module);
    checkStages(*module, sample, /*isCompiled=*/true);
  }

  uint64_t checked = 0;
};

class EveryContraction : public EveryLayout, public ::testing::WithParamInterface<size_t> {};

TEST_P(EveryContraction, IsThatOfOneDevice) {
  std::vector<Layout> layouts = listLayouts(2);
  Layout result = layouts[GetParam()];
  for (const Layout &left : layouts)
    for (const Layout &right : layouts)
      for (bool isEven : {true, false}) {
        int64_t m = isEven ? 16 : 7, k = isEven ? 8 : 10, n = isEven ? 24 : 5;
        check("x: " + typeText({m, k}, left) + ", y: " + typeText({k, n}, right) + ") -> " + typeText({m, n}, result) +
              " { return x @ y; }\n");
        if (HasFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Results, EveryContraction, ::testing::Range(size_t(0), listLayouts(2).size()));

class EveryReshard : public EveryLayout, public ::testing::WithParamInterface<size_t> {};

TEST_P(EveryReshard, MovesEachElement) {
  std::vector<Layout> layouts = listLayouts(GetParam());
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      for (std::vector<int64_t> shape : {std::vector<int64_t>{8, 16, 8}, {7, 5, 9}}) {
        shape.resize(GetParam());
        check("x: " + typeText(shape, from) + ") -> " + typeText(shape, to) + " { return x; }\n");
        if (HasFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryReshard, ::testing::Values(1, 2, 3));

} // namespace
