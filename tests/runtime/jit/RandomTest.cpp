// Random numbers of traced callables and of arrays.
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Random : public MeshTest {
protected:
  Random() : MeshTest({4}, {"a"}) {}
};

// The words are those of jax.random.
TEST_F(Random, keys_are_two_words) {
  EXPECT_THAT(random::key(42).to_host<uint32_t>(), ElementsAre(0, 42));
  EXPECT_THAT(random::fold_in(random::key(42), 7).to_host<uint32_t>(),
              ElementsAre(38864u << 16 | 21807, 20927u << 16 | 29087));
  Array keys = random::split(random::key(42), 3);
  EXPECT_THAT(keys.shape(), ElementsAre(3, 2));
  EXPECT_THAT(take(keys, 1, 0).to_host<uint32_t>(), ElementsAre(983u << 16 | 45869, 44496u << 16 | 33780));
}

TEST_F(Random, numbers_do_not_depend_on_where_they_are_made) {
  NamedSharding cut(mesh, P("a"));
  Array key = random::key(1);
  std::vector<float> alone = random::normal(key, {10}).to_host<float>();
  EXPECT_EQ(random::normal(key, {10}, DType::F32, cut).to_host<float>(), alone);
  auto traced = jit([&](Array key) { return random::normal(key, {10}, DType::F32, cut); }, {.mesh = mesh});
  Array result = traced(key);
  EXPECT_EQ(result.to_host<float>(), alone);
  EXPECT_EQ(result.sharding(), cut);
}

TEST_F(Random, each_distribution) {
  Array key = random::key(3);
  EXPECT_TRUE(all(random::uniform(key, {50}, DType::F32, 2, 3) >= 2).item<bool>());
  EXPECT_EQ(random::bits(key, {5}).dtype(), DType::U32);
  EXPECT_EQ(random::bernoulli(key, 0.5, {7}).dtype(), DType::Bool);
  EXPECT_LT(max(random::randint(key, {50}, -3, 4)).item<int32_t>(), 4);
  EXPECT_EQ(random::categorical(key, zeros({6, 3})).shape(), Shape{6});
}

TEST_F(Random, what_is_no_key) {
  EXPECT_THAT(messageOf([] { random::normal(ones({2}), {3}); }),
              HasSubstr("must be an array of u32 whose last dimension is 2, not f32[2]"));
}

} // namespace
