#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <random>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class Checkpoint : public testing::Test {
protected:
  std::string directory() const { return folder / "run"; }

  TemporaryFolder folder;
};

/// Returns a partition specification of up to `rank` dimensions that uses some of the axes, in any order.
P randomSpec(std::mt19937 &random, size_t rank, std::vector<std::string> axes) {
  std::shuffle(axes.begin(), axes.end(), random);
  std::vector<DimSpec> dims(rank, DimSpec(nullptr));
  std::vector<std::vector<std::string>> names(rank);
  for (const std::string &axis : axes)
    if (rank > 0 && random() % 3 != 0)
      names[random() % rank].push_back(axis);
  for (size_t d = 0; d < rank; ++d)
    if (!names[d].empty())
      dims[d] = DimSpec(names[d]);
  return P::of(dims);
}

// The values are the same for any shardings at saving and at restoring, and on another mesh.
TEST_F(Checkpoint, restores_under_any_sharding) {
  LocalJob job(8);
  Mesh before = make_mesh({2, 2, 2}, {"a", "b", "c"}), after = make_mesh({4, 2}, {"i", "j"});
  std::mt19937 random(20260);
  std::vector<std::vector<int64_t>> shapes = {{}, {1}, {13}, {16, 5}, {3, 1, 7}, {0, 4}, {300, 900}};
  std::vector<std::pair<std::string, Array>> saved;
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < shapes.size(); ++i) {
    int64_t count = 1;
    for (int64_t size : shapes[i])
      count *= size;
    values.push_back(counting(count));
    NamedSharding sharding(before, randomSpec(random, shapes[i].size(), {"a", "b", "c"}));
    saved.push_back({"array " + std::to_string(i), device_put(view(values[i], shapes[i]), sharding)});
  }
  save_checkpoint(directory(), 3, saved).wait();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<std::string, NamedSharding>> wanted;
    for (size_t i = shapes.size(); i-- > 0;)
      wanted.push_back({saved[i].first, NamedSharding(after, randomSpec(random, shapes[i].size(), {"i", "j"}))});
    RestoredCheckpoint restored = restore_checkpoint(directory(), wanted);
    ASSERT_EQ(restored.step, 3);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Array &array = restored.arrays[shapes.size() - 1 - i];
      EXPECT_EQ(array.shape(), shapes[i]);
      EXPECT_EQ(array.sharding(), wanted[shapes.size() - 1 - i].second);
      EXPECT_EQ(array.to_host<float>(), values[i]) << array.sharding().str();
    }
  }
}

TEST_F(Checkpoint, keeps_every_dtype) {
  LocalJob job(2);
  NamedSharding rows(make_mesh({2}, {"i"}), P("i"));
  auto put = [&]<typename T>(const char *name, std::vector<T> values) {
    return std::pair<std::string, Array>(name, device_put(ArrayView{dtype_of<T>::value, {3}, values.data()}, rows));
  };
  std::vector<std::pair<std::string, Array>> saved = {put("f64", std::vector<double>{0.1, -0.0, 1e300}),
                                                      put("bf16", std::vector<bfloat16>{{0x3f80}, {0x7fc0}, {0x8000}}),
                                                      put("f16", std::vector<float16>{{0x3c00}, {0x7e00}, {0xfc00}}),
                                                      put("i64", std::vector<int64_t>{INT64_MIN, 0, INT64_MAX}),
                                                      put("i8", std::vector<int8_t>{-128, 0, 127}),
                                                      put("i16", std::vector<int16_t>{INT16_MIN, 0, INT16_MAX}),
                                                      put("u64", std::vector<uint64_t>{0, 1, UINT64_MAX}),
                                                      put("u16", std::vector<uint16_t>{0, 1, UINT16_MAX}),
                                                      put("u32", std::vector<uint32_t>{0, 1, UINT32_MAX}),
                                                      put("u8", std::vector<uint8_t>{0, 1, 255})};
  save_checkpoint(directory(), 0, saved).wait();
  std::vector<std::pair<std::string, NamedSharding>> wanted;
  for (const auto &[name, array] : saved)
    wanted.push_back({name, NamedSharding(array.sharding().mesh(), P())});
  RestoredCheckpoint restored = restore_checkpoint(directory(), wanted);
  for (size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(restored.arrays[i].dtype(), saved[i].second.dtype());
    EXPECT_EQ(restored.arrays[i].str(), saved[i].second.str()) << saved[i].first;
  }
  EXPECT_EQ(checkpoint_contents(directory(), 0).size(), saved.size());
  EXPECT_EQ(checkpoint_contents(directory(), 0)[1].name, "bf16");
}

TEST_F(Checkpoint, saves_in_order_and_keeps_the_newest) {
  LocalJob job(1);
  NamedSharding sharding(make_mesh({1}, {"i"}), P());
  std::atomic<int> count = 0;
  CheckpointSave last;
  for (int step = 1; step <= 5; ++step) {
    std::vector<int32_t> value = {step};
    last = save_checkpoint(directory(), step, {{"n", device_put(view(value), sharding)}},
                           {.keep = 2, .when_saved = [&count, step] { EXPECT_EQ(++count, step); }});
  }
  last.wait();
  EXPECT_TRUE(last.is_done());
  EXPECT_EQ(count, 5);
  EXPECT_THAT(checkpoint_steps(directory()), ElementsAre(4, 5));
  EXPECT_EQ(restore_checkpoint(directory(), {{"n", sharding}}, 4).arrays[0].item<int32_t>(), 4);
}

// The next checkpoint continues the restored one, no matter whether the folder was written to before.
TEST_F(Checkpoint, keeps_what_it_went_on_from) {
  std::vector<int32_t> value = {7};
  auto save = [&](const std::string &path, int64_t step, int64_t keep) {
    NamedSharding sharding(make_mesh({1}, {"i"}), P());
    save_checkpoint(path, step, {{"n", device_put(view(value), sharding)}}, {.keep = keep}).wait();
  };
  auto restore = [&](const std::string &path, std::optional<int64_t> step) {
    return restore_checkpoint(path, {{"n", NamedSharding(make_mesh({1}, {"i"}), P())}}, step).step;
  };
  {
    LocalJob job(1);
    for (int64_t step : {10, 20, 30})
      save(directory(), step, 0);
  }
  std::filesystem::remove(directory() + "/step-0000000030/manifest.json");
  {
    LocalJob job(1);
    EXPECT_EQ(restore(directory() + "/", std::nullopt), 20);
    save(directory(), 25, 2);
    EXPECT_THAT(checkpoint_steps(directory()), ElementsAre(20, 25));
    EXPECT_EQ(restore(directory(), 20), 20); // Reading an older step changes nothing.
    save(directory(), 35, 3);
    EXPECT_THAT(checkpoint_steps(directory()), ElementsAre(20, 25, 35));
    EXPECT_TRUE(std::filesystem::exists(directory() + "/superseded-1/step-0000000030"));
  }
  LocalJob job(1);
  save(directory(), 5, 1);
  EXPECT_EQ(restore(directory(), std::nullopt), 5);
  EXPECT_EQ(restore(directory() + "/superseded-2", std::nullopt), 35);
}

// A process that ends without shutdown(), or without waiting, leaves a complete checkpoint.
TEST_F(Checkpoint, shutdown_waits_for_what_is_being_written) {
  {
    LocalJob job(2);
    NamedSharding rows(make_mesh({2}, {"i"}), P("i"));
    save_checkpoint(directory(), 1, {{"x", device_put(view(counting(1 << 22)), rows)}});
  }
  EXPECT_THAT(checkpoint_steps(directory()), ElementsAre(1));
}

TEST_F(Checkpoint, says_what_is_wrong) {
  LocalJob job(1);
  NamedSharding sharding(make_mesh({1}, {"i"}), P());
  Array x = device_put(view(counting(4)), sharding);
  EXPECT_THAT(messageOf([&] { save_checkpoint(directory(), -1, {{"x", x}}); }),
              HasSubstr("save_checkpoint is given step -1; steps are not negative"));
  EXPECT_THAT(messageOf([&] { save_checkpoint(directory(), 1, {{"x", x}, {"x", x}}); }),
              HasSubstr("two arrays named 'x'"));
  EXPECT_THAT(messageOf([&] { save_checkpoint(directory(), 1, {{"", x}}); }), HasSubstr("an array without a name"));
  EXPECT_THAT(messageOf([&] { save_checkpoint("/dev/null/x", 1, {{"x", x}}); }),
              HasSubstr("cannot create '/dev/null/x'"));
  EXPECT_THAT(messageOf([] { CheckpointSave().wait(); }), HasSubstr("use the result of save_checkpoint"));
  EXPECT_THAT(checkpoint_steps(directory()), IsEmpty());
  EXPECT_THAT(messageOf([&] { restore_checkpoint(directory(), {{"x", sharding}}); }),
              HasSubstr("has no checkpoint that can be restored"));
  save_checkpoint(directory(), 1, {{"x", x}}).wait();
  EXPECT_THAT(messageOf([&] { restore_checkpoint(directory(), {{"y", sharding}}); }),
              HasSubstr("has no array 'y'; it has x"));
  EXPECT_THAT(messageOf([&] { restore_checkpoint(directory(), {{"x", sharding}}, 2); }),
              HasSubstr("has no checkpoint of step 2; it has 1"));
  NamedSharding twice(sharding.mesh(), P(nullptr, "i"));
  EXPECT_THAT(messageOf([&] { restore_checkpoint(directory(), {{"x", twice}}); }),
              HasSubstr("a specification of 2 dimensions does not fit an array of 1"));
}

} // namespace
