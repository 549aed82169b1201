// Trees of arrays, derivatives, loops and branches of callables.
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Transforms : public MeshTest {
protected:
  Transforms() : MeshTest({4, 2}, {"a", "b"}) {}
};

struct Line {
  Array slope, offset;
  auto tree_members() { return std::tie(slope, offset); }
};

//===-- Trees -------------------------------------------------------------===//

TEST_F(Transforms, trees_go_in_and_come_out) {
  using Parameters = std::map<std::string, std::vector<Array>>;
  auto f = jit([](const Parameters &p, const std::array<Array, 2> &x) {
    Parameters next = tree_map([](const Array &leaf) { return leaf + 1; }, p);
    return std::tuple(next, std::pair(x[1], x[0]), Line{x[0] * 2, x[1] * 3});
  });
  Array one = counted({2}, P("b")), two = counted({3}, P("a"));
  auto [next, pair, line] = f(Parameters{{"w", {one, two}}, {"none", {}}}, std::array{one, two});
  EXPECT_THAT(next.at("w")[1].to_host<float>(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(next.at("none").empty());
  EXPECT_THAT(pair.first.to_host<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(line.slope.to_host<float>(), ElementsAre(0, 2));
  // Another tree structure gives another program.
  f(Parameters{{"w", {one}}}, std::array{one, two});
  f(Parameters{{"v", {one}}}, std::array{one, two});
  EXPECT_EQ(f.cache_size(), 3u);
}

TEST_F(Transforms, trees_of_no_arrays) {
  auto f = jit([](const std::vector<Array> &arrays) { return arrays; });
  EXPECT_TRUE(f(std::vector<Array>()).empty());
}

//===-- Derivatives -------------------------------------------------------===//

TEST_F(Transforms, a_derivative_is_a_tree_as_its_argument) {
  Array x = counted({8}, P("a")), y = 3 * x + 1;
  auto loss = [](const Line &line, Array x, Array y) { return mean(power(line.slope * x + line.offset - y, 2)); };
  auto step = jit([&](const Line &line, Array x, Array y) {
    auto [value, derivative] = value_and_grad(loss)(line, x, y);
    return std::pair(tree_map([](const Array &p, const Array &g) { return p - 0.02 * g; }, line, derivative), value);
  });
  Line line{counted({}, P()), counted({}, P())};
  float first = 0, last = 0;
  for (int i = 0; i < 200; ++i) {
    auto [next, value] = step(line, x, y);
    line = next;
    last = value.item<float>();
    first = i ? first : last;
  }
  EXPECT_GT(first, 100);
  EXPECT_LT(last, 0.1);
  EXPECT_NEAR(line.slope.item<float>(), 3, 0.2);
}

// Outside of jit the transform is a program of its own; captured values are constants.
TEST_F(Transforms, derivatives_by_several_arguments_and_of_derivatives) {
  Array x = counted({4}, P("a")), scale = counted({4}, P("b"));
  auto f = [&](Array x, Array y) { return sum(x * x * y * scale); };
  auto [dx, dy] = grad<0, 1>(f)(x, x + 1);
  EXPECT_THAT(dx.to_host<float>(), ElementsAre(0, 4, 24, 72));
  EXPECT_THAT(dy.to_host<float>(), ElementsAre(0, 1, 8, 27));
  EXPECT_THAT(grad<1>(f)(x, x).to_host<float>(), ElementsAre(0, 1, 8, 27));
  auto cube = [](Array x) { return sum(x * x * x); };
  auto second = grad([&](Array x) { return sum(grad(cube)(x)); });
  EXPECT_THAT(second(x).to_host<float>(), ElementsAre(0, 6, 12, 18));
  EXPECT_THAT(jit(second)(x).to_host<float>(), ElementsAre(0, 6, 12, 18));
  EXPECT_THAT(grad(checkpoint(cube))(x).to_host<float>(), ElementsAre(0, 3, 12, 27));
}

TEST_F(Transforms, what_has_no_derivative) {
  Array x = counted({4}, P("a"));
  EXPECT_THAT(
      messageOf([&] { grad([](Array x) { return x * 2; })(x); }),
      AllOf(HasSubstr("TransformTest.cpp:"), HasSubstr("'value_and_grad' differentiates a scalar of floats, but")));
  EXPECT_THAT(messageOf([&] { grad([](Array x) { return sum(x); })(astype(x, DType::I32)); }), HasSubstr("error: "));
}

//===-- Loops and branches ------------------------------------------------===//

TEST_F(Transforms, a_loop_has_one_body) {
  Array x = counted({4}, P("a")), outside = counted({4}, P());
  int traced = 0;
  auto body = [&](Array i, std::pair<Array, Array> carry) {
    ++traced;
    return std::pair(carry.first + outside, carry.second + i);
  };
  std::pair carry(x, astype(sum(x), DType::I32));
  auto [values, count] = fori_loop(0, 10, body, carry);
  EXPECT_THAT(values.to_host<float>(), ElementsAre(0, 11, 22, 33));
  EXPECT_EQ(count.item<int32_t>(), 6 + 45);
  EXPECT_EQ(traced, 1);
  EXPECT_THAT(
      jit([&](Array x) { return fori_loop(0, 3, [](Array, Array x) { return 2 * x; }, x); })(x).to_host<float>(),
      ElementsAre(0, 8, 16, 24));
}

TEST_F(Transforms, a_loop_that_asks_and_a_branch) {
  Array x = full({4}, 2.0, DType::F32, NamedSharding(mesh, P("a")));
  auto root = [&](Array x) {
    return while_loop([&](Array y) { return max(abs(y * y - x)) > 1e-5; }, [&](Array y) { return 0.5 * (y + x / y); },
                      x);
  };
  EXPECT_NEAR(jit(root)(x).to_host<float>()[3], 1.41421356, 1e-5);
  EXPECT_NEAR(root(x).to_host<float>()[0], 1.41421356, 1e-5);
  auto choose =
      jit([](Array x) { return cond(sum(x) > 5, [](Array x) { return x + 1; }, [](Array x) { return -x; }, x); });
  EXPECT_EQ(choose(x).to_host<float>()[0], 3);
  EXPECT_EQ(choose(x - 1).to_host<float>()[0], -1);
}

TEST_F(Transforms, arms_come_to_one_type_and_carries_keep_theirs) {
  Array x = counted({4}, P("a"));
  auto shorter = [](Array x) { return slice(x, {0}, {3}); };
  auto keep = [](Array x) { return x; };
  EXPECT_THAT(messageOf([&] { cond(sum(x) > 5, shorter, keep, x); }),
              AllOf(HasSubstr("TransformTest.cpp:"), HasSubstr("error: ")));
  EXPECT_THAT(messageOf([&] { cond(x > 5, keep, keep, x); }), HasSubstr("TransformTest.cpp:"));
  EXPECT_THAT(messageOf([&] { fori_loop(0, 3, [](Array, Array x) { return sum(x); }, x); }), HasSubstr("error: "));
}

} // namespace
