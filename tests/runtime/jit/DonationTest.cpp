// Donated arguments.
#include "runtime/api/Runtime.h"
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Donation : public MeshTest {
protected:
  Donation() : MeshTest({4}, {"a"}) {}

  /// The addresses of an array's shards.
  static std::vector<void *> memoryOf(const Array &array) {
    std::vector<void *> places;
    for (const Shard &shard : array.addressable_shards()) {
      DLManagedTensor *tensor = to_dlpack(shard);
      places.push_back(tensor->dl_tensor.data);
      tensor->deleter(tensor);
    }
    return places;
  }
};

TEST_F(Donation, a_result_takes_the_memory_of_a_donated_argument) {
  auto step = jit([](Array x, Array y) { return x * 2 + y; }, {.donate_argnums = {0}});
  Array x = counted({8}, P("a")), y = counted({8}, P("a"));
  std::vector<void *> memory = memoryOf(x);
  Array next = step(x, y);
  EXPECT_TRUE(x.is_deleted());
  EXPECT_FALSE(y.is_deleted());
  EXPECT_EQ(memoryOf(next), memory);
  EXPECT_THAT(next.to_host<float>(), ElementsAre(0, 3, 6, 9, 12, 15, 18, 21));
  // Even while earlier calls still run.
  for (int i = 0; i < 5; ++i)
    next = step(next, y);
  EXPECT_EQ(memoryOf(next), memory);
  EXPECT_EQ(next.to_host<float>()[1], 3 * 32 + 31);
}

TEST_F(Donation, of_trees_and_of_a_sources_parameters) {
  auto swap = jit([](const std::pair<Array, Array> &pair) { return std::pair(pair.second, pair.first + 1); },
                  {.donate_argnums = {0}});
  std::pair pair(counted({4}, P("a")), counted({4}, P("a")) + 10);
  std::pair next = swap(pair);
  EXPECT_TRUE(pair.first.is_deleted() && pair.second.is_deleted());
  EXPECT_THAT(next.first.to_host<float>(), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(next.second.to_host<float>(), ElementsAre(1, 2, 3, 4));

  Function step = jit("mesh m(a=4)\nfn main(p: f32[8@a], x: f32[8@a]) { let p = p - x; return (p, sum(p)); }",
                      {.donate_argnums = {0}});
  Array p = counted({8}, P("a")), x = counted({8}, P("a"));
  std::vector<void *> memory = memoryOf(p);
  std::vector<Array> results = step(p, x);
  EXPECT_EQ(memoryOf(results[0]), memory);
  EXPECT_THAT(results[0].to_host<float>(), Each(0.0f));
  EXPECT_TRUE(p.is_deleted());
}

// Memory that other arrays share is not reused.
TEST_F(Donation, shared_memory_is_not_written) {
  auto step = jit([](Array x) { return x + 1; }, {.donate_argnums = {0}});
  Array x = counted({4}, P("a"));
  std::vector<Shard> shards = x.addressable_shards();
  Array next = step(x);
  EXPECT_THAT(next.to_host<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(shards[3].data.item<float>(), 3);

  Array other = counted({4}, P("a"));
  DLManagedTensor *tensor = to_dlpack(other.addressable_shards()[2]);
  step(other).block_until_ready();
  EXPECT_EQ(*static_cast<float *>(tensor->dl_tensor.data), 2);
  tensor->deleter(tensor);
}

// However an array was made, also where its last shard is padded.
TEST_F(Donation, of_arrays_that_were_made_in_any_way) {
  auto step = jit([](Array x) { return x + 1; }, {.donate_argnums = {0}});
  NamedSharding sharding(mesh, P("a"));
  auto expectReuse = [&](Array x) {
    std::vector<void *> memory = memoryOf(x);
    Array next = step(x);
    EXPECT_EQ(memoryOf(next), memory);
    EXPECT_THAT(next.to_host<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  };
  expectReuse(counted({7}, P("a")));
  expectReuse(make_array_from_callback({7}, DType::F32, sharding, [](const Index &index, void *target) {
    for (int64_t i = index[0].start; i < index[0].stop; ++i)
      static_cast<float *>(target)[i - index[0].start] = static_cast<float>(i);
  }));
  expectReuse(device_put(counted({7}, P()), sharding));
  std::vector<Array> parts;
  for (int64_t d = 0; d < 4; ++d) {
    std::vector<float> values = {static_cast<float>(2 * d)};
    if (d < 3)
      values.push_back(static_cast<float>(2 * d + 1));
    parts.push_back(device_put(view(values), local_devices()[static_cast<size_t>(d)]));
  }
  Array joined = make_array_from_single_device_arrays({7}, sharding, parts);
  parts.clear();
  expectReuse(std::move(joined));
}

// If no result has the type and sharding of the argument, its memory is freed.
TEST_F(Donation, where_no_result_fits_memory_is_given_back) {
  auto total = jit([](Array x) { return sum(x); }, {.donate_argnums = {0}});
  const DeviceRef &device = currentJob(std::source_location::current())->getLocalDevices()[0];
  Array x = counted({4 << 16}, P("a"));
  int64_t before = device->bytesInUse();
  total(x).block_until_ready();
  Array small = total(counted({4 << 16}, P("a")));
  small.block_until_ready();
  EXPECT_LE(device->bytesInUse(), before - (4 << 16) + 4096);
  EXPECT_TRUE(x.is_deleted());
}

// A training step with donated parameters needs their memory once.
TEST_F(Donation, the_peak_is_lower_by_what_is_donated) {
  const DeviceRef &device = currentJob(std::source_location::current())->getLocalDevices()[0];
  constexpr int64_t kElements = int64_t(4) << 20;
  auto peakOf = [&](std::vector<int> donated) {
    auto step = jit([](Array x) { return x * 0.5; }, {.donate_argnums = std::move(donated)});
    Array x = counted({kElements}, P("a"));
    for (int i = 0; i < 4; ++i)
      x = step(x);
    x.block_until_ready();
    return device->peakBytesInUse();
  };
  int64_t donated = peakOf({0}), kept = peakOf({});
  EXPECT_GE(kept - donated, kElements / 4 * 4 - 4096);
}

TEST_F(Donation, misuse) {
  auto step = jit([](Array x, Array y) { return x + y; }, {.donate_argnums = {0}});
  Array x = counted({4}, P("a"));
  EXPECT_THAT(messageOf([&] { step(x, x); }), HasSubstr("argument 0 of 'main' is donated and is the same array as "
                                                        "argument 1"));
  EXPECT_FALSE(x.is_deleted());
  step(x, x + 1);
  EXPECT_THAT(messageOf([&] { x.to_host<float>(); }),
              AllOf(HasSubstr("f32[4] @ P(a) is used after it was donated to 'main', which was jitted at "),
                    HasSubstr("DonationTest.cpp:"), HasSubstr(", as argument 0: its memory"),
                    HasSubstr("use them, or do not donate the argument")));
  EXPECT_THAT(messageOf([&] { step(x, x); }), HasSubstr("is used after it was donated"));
  EXPECT_THAT(messageOf([&] { x + 1; }), HasSubstr("is used after it was donated"));
  EXPECT_THAT(x.shape(), ElementsAre(4));
  auto wrong = jit([](Array x) { return x; }, {.donate_argnums = {1}});
  EXPECT_THAT(messageOf([&] { wrong(counted({4}, P())); }),
              HasSubstr("donate_argnums has 1, and the call has 1 arguments"));
  Function source =
      jit("fn main(x: f32) { return x; }", {.mesh = Mesh({}, {}, {local_devices()[0]}), .donate_argnums = {-1}});
  EXPECT_THAT(messageOf([&] { source(device_put(view(counting(1), {}), local_devices()[0])); }),
              HasSubstr("donate_argnums has -1, and 'main' takes 1 arguments"));
}

// The array is named, also in a tree and in a struct of the language.
TEST_F(Donation, the_leaf_is_named) {
  using Tree = std::map<std::string, std::vector<Array>>;
  auto step = jit([](Tree p, std::pair<Array, Tree> m) { return tree_map([](Array x) { return x * 2; }, p); },
                  {.donate_argnums = {0, 1}});
  auto make = [&](float first) { return counted({4}, P("a")) + first; };
  Array shared = make(3);
  Tree p = {{"b", {make(0)}}, {"w", {make(1), shared}}};
  std::pair<Array, Tree> m = {make(2), {{"w", {make(4), shared}}}};
  EXPECT_THAT(messageOf([&] { step(p, m); }),
              HasSubstr("argument 0['w'][1] of 'main' is donated and is the same array as argument 1[1]['w'][1]"));
  m.second["w"][1] = make(5);
  step(p, m);
  EXPECT_THAT(messageOf([&] { m.second["w"][0].to_host<float>(); }),
              HasSubstr(", as argument 1[1]['w'][0]: its memory"));
  Function source = jit("mesh m(a=4)\nstruct M { w1: f32[4@a], w2: f32[4@a] }\n"
                        "fn main(p: f32[4@a], m: M) { return (p + m.w1, m.w2 * 2.0); }",
                        {.donate_argnums = {1, 2}});
  EXPECT_THAT(messageOf([&] { source(p["b"][0], p["b"][0], p["b"][0]); }), HasSubstr("is used after it was donated"));
  Array x = make(1), y = make(2);
  EXPECT_THAT(
      messageOf([&] { source(x, y, y); }),
      HasSubstr("parameter 'm.w1' of 'main' is donated and is the same array as parameter 'm.w2', which needs"));
  source(x, y, make(3));
  EXPECT_THAT(messageOf([&] { y.item<float>(); }), HasSubstr(", as parameter 'm.w1': its memory"));
}

} // namespace
