// Operations on arrays outside of any trace.
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Eager : public MeshTest {
protected:
  Eager() : MeshTest({4, 2}, {"a", "b"}) {}
};

TEST_F(Eager, operators_on_arrays_and_numbers) {
  Array x = counted({5}, P("a"));
  EXPECT_THAT((x + x).to_host<float>(), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT((2 * x - 1).to_host<float>(), ElementsAre(-1, 1, 3, 5, 7));
  EXPECT_THAT((1 / (x + 1)).to_host<float>(), ElementsAre(1, 0.5f, 1 / 3.0f, 0.25f, 0.2f));
  EXPECT_THAT((-x % 3).to_host<float>(), ElementsAre(0, 2, 1, 0, 2));
  EXPECT_THAT((x > 2 & x != 4).to_host<bool>(), ElementsAre(false, false, false, true, false));
  EXPECT_THAT((!(x <= 1)).to_host<bool>(), ElementsAre(false, false, true, true, true));
  EXPECT_THAT(power(x, 2).to_host<float>(), ElementsAre(0, 1, 4, 9, 16));
  EXPECT_THAT(minimum(x, -1.5).to_host<float>(), Each(-1.5f));
  EXPECT_EQ((x * 2).dtype(), DType::F32);
  EXPECT_EQ((astype(x, DType::I32) * 2).dtype(), DType::I32);
  EXPECT_EQ((astype(x, DType::BF16) * 0.5f).dtype(), DType::BF16);
}

// The sharding of a result follows from the operands, as in a program.
TEST_F(Eager, shardings_come_from_the_operands) {
  Array x = counted({8, 6}, P("a", "b")), y = counted({6, 4}, P("b"));
  EXPECT_EQ((x + 1).sharding(), x.sharding());
  Array product = matmul(x, y);
  EXPECT_EQ(product.sharding(), NamedSharding(mesh, P("a", nullptr)));
  EXPECT_EQ(sum(product, 0).shape(), Shape{4});
  EXPECT_EQ(transpose(x).sharding(), NamedSharding(mesh, P("b", "a")));
  EXPECT_EQ(with_sharding_constraint(x, P("b")).sharding(), NamedSharding(mesh, P("b", nullptr)));
  EXPECT_EQ(zeros({8}, DType::I32, NamedSharding(mesh, P("a"))).sharding(), NamedSharding(mesh, P("a")));
  EXPECT_EQ(ones({2}).sharding().mesh().size(), 1);
}

// Uncommitted arrays move to the mesh of the other operands, as in JAX.
TEST_F(Eager, what_has_no_place_goes_along) {
  Array x = counted({5}, P("a"));
  Array free = arange(5) + ones({5});
  EXPECT_EQ(free.sharding().mesh().size(), 1);
  EXPECT_THAT((x + free).to_host<float>(), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT((free * x).to_host<float>(), ElementsAre(0, 2, 6, 12, 20));
  EXPECT_THAT(jit([&](Array y, Array z) { return y + z + free; })(free, x).to_host<float>(),
              ElementsAre(2, 5, 8, 11, 14));
}

TEST_F(Eager, functions_of_numpy) {
  Array x = counted({2, 3}, P("b"));
  EXPECT_THAT(sum(x, 0).to_host<float>(), ElementsAre(3, 5, 7));
  EXPECT_THAT(mean(x, {0, 1}, true).shape(), ElementsAre(1, 1));
  EXPECT_EQ(max(x).item<float>(), 5);
  EXPECT_THAT(argmax(x, -1).to_host<int32_t>(), ElementsAre(2, 2));
  EXPECT_THAT(cumsum(x, 1).to_host<float>(), ElementsAre(0, 1, 3, 3, 7, 12));
  EXPECT_THAT(cumsum(x).shape(), ElementsAre(6));
  EXPECT_THAT(sort(flip(x, 1)).to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(reshape(x, {3, -1}).shape(), ElementsAre(3, 2));
  EXPECT_THAT(transpose(x, {1, 0}).to_host<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(concatenate({x, x + 6}).shape(), ElementsAre(4, 3));
  EXPECT_THAT(stack({x, x}, -1).shape(), ElementsAre(2, 3, 2));
  EXPECT_THAT(slice(x, {0, 1}, {2, 3}).to_host<float>(), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(slice(x, {0, 0}, {2, 3}, {1, 2}).to_host<float>(), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(take(x, 1, 0).to_host<float>(), ElementsAre(3, 4, 5));
  EXPECT_THAT(take(x, arange(2), 1).shape(), ElementsAre(2, 2));
  EXPECT_THAT(where(x > 2, x, 0).to_host<float>(), ElementsAre(0, 0, 0, 3, 4, 5));
  EXPECT_THAT(sum(softmax(x), -1).to_host<float>(), ElementsAre(testing::FloatEq(1), testing::FloatEq(1)));
  EXPECT_THAT(einsum("ij,kj->ik", {x, x}).to_host<float>(), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(split(x, 3, 1)[2].to_host<float>(), ElementsAre(2, 5));
  EXPECT_THAT(broadcast_to(squeeze(expand_dims(x, 0), 0), {2, 2, 3}).shape(), ElementsAre(2, 2, 3));
  EXPECT_THAT(full({2}, -7, DType::I32).to_host<int32_t>(), ElementsAre(-7, -7));
  EXPECT_THAT(arange(1.0, 2.0, 0.5).to_host<float>(), ElementsAre(1, 1.5f));
  EXPECT_THAT(eye(2).to_host<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(zeros_like(x).sharding(), NamedSharding(mesh, P("b", nullptr)));
  EXPECT_THAT(one_hot(argsort(take(x, 0, 0)), 2).shape(), ElementsAre(3, 2));
}

// All functions of the language can be called, also those that return tuples.
TEST_F(Eager, any_function_of_the_language) {
  Array x = counted({6}, P("a"));
  std::vector<Array> top = call_tuple("top_k", {x, 2});
  EXPECT_THAT(top[0].to_host<float>(), ElementsAre(5, 4));
  EXPECT_THAT(top[1].to_host<int32_t>(), ElementsAre(5, 4));
  EXPECT_THAT(call("pad", {x, std::vector<std::vector<int>>{{1, 0}}}, {{"constant_values", -1}}).to_host<float>(),
              ElementsAre(-1, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(call("key", {7}).shape(), ElementsAre(2));
}

TEST_F(Eager, numbers_keep_their_value) {
  Array zero = counted({1}, P());
  for (float value : {0.1f, -3e-39f, 16777216.0f, 3.4028235e38f, -0.0f})
    EXPECT_EQ((zero + value).item<float>(), value);
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ((zero - infinity).item<float>(), -infinity);
  EXPECT_TRUE(isnan(zero * std::nan("")).item<bool>());
}

TEST_F(Eager, mistakes_are_thrown_by_the_call) {
  Array x = counted({8, 4}, P("a")), y = counted({3}, P());
  EXPECT_THAT(messageOf([&] { x + y; }),
              AllOf(HasSubstr("EagerTest.cpp:"), HasSubstr("shapes do not broadcast in '+': [8, 4] and [3]"),
                    HasSubstr("in x0 + x1 (")));
  EXPECT_THAT(messageOf([&] { call_tuple("top_k", {y, 4}); }), HasSubstr("error: "));
  EXPECT_THAT(messageOf([&] { call("top_k", {y, 2}); }), HasSubstr("the operation has 2 results; call_tuple"));
  EXPECT_THAT(messageOf([&] { call("f(x); fn g", {y}); }), HasSubstr("is not a function's name"));
  EXPECT_THAT(messageOf([&] { x + Array(); }), HasSubstr("an Array without a value is used"));
  Array other = device_put(view(counting(8)), NamedSharding(make_mesh({8}, {"c"}), P("c")));
  EXPECT_THAT(messageOf([&] { other *x; }), HasSubstr("the arrays are on several meshes"));
}

} // namespace
