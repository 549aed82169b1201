#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns all shardings of an array of two dimensions over (i, j).
std::vector<P> allSpecs() {
  std::vector<P> specs = {P(), P("i"), P("j"), P(nullptr, "i"), P(nullptr, "j"), P("i", "j"), P("j", "i")};
  for (DimSpec both : {axes("i", "j"), axes("j", "i")}) {
    specs.push_back(P(both));
    specs.push_back(P(nullptr, both));
  }
  return specs;
}

class Arrays : public testing::Test {
protected:
  LocalJob job{8};
  Mesh mesh = make_mesh({4, 2}, {"i", "j"});
};

// The tutorial's example array: each device holds the block that the tutorial prints for it.
TEST_F(Arrays, shards_of_the_toy) {
  std::vector<int32_t> values(32);
  std::iota(values.begin(), values.end(), 0);
  Array array = device_put(view(values, {4, 8}), NamedSharding(mesh, P("i", "j")));
  std::vector<Shard> shards = array.addressable_shards();
  ASSERT_EQ(shards.size(), 8u);
  for (int64_t d = 0; d < 8; ++d) {
    EXPECT_EQ(shards[d].device.id, d);
    EXPECT_EQ(shards[d].data.shape(), (std::vector<int64_t>{1, 4}));
    EXPECT_THAT(shards[d].data.to_host<int32_t>(), ElementsAre(4 * d, 4 * d + 1, 4 * d + 2, 4 * d + 3));
    EXPECT_EQ(shards[d].index, (Index{{d / 2, d / 2 + 1}, {d % 2 * 4, d % 2 * 4 + 4}}));
    EXPECT_EQ(shards[d].replica_id, 0);
  }
  EXPECT_EQ(shards[2].data.str(), "[[ 8  9 10 11]]");
  EXPECT_TRUE(array.is_fully_addressable());
  EXPECT_FALSE(array.is_fully_replicated());
}

// No axis divides 7 x 5: shards are short or empty. The value comes back exactly, from every sharding and after every
// reshard.
TEST_F(Arrays, uneven_values_survive_every_sharding_and_every_reshard) {
  std::vector<float> values = counting(35);
  for (const P &from : allSpecs()) {
    Array array = device_put(view(values, {7, 5}), NamedSharding(mesh, from));
    EXPECT_EQ(array.to_host<float>(), values) << from.str();
    int64_t elements = 0;
    for (const Shard &shard : array.addressable_shards())
      if (shard.replica_id == 0)
        elements += shard.data.size();
    EXPECT_EQ(elements, 35) << from.str();
    for (const P &to : allSpecs()) {
      Array moved = device_put(array, NamedSharding(mesh, to));
      EXPECT_EQ(moved.sharding().spec(), to);
      EXPECT_EQ(moved.to_host<float>(), values) << from.str() << " to " << to.str();
    }
  }
}

TEST_F(Arrays, arrays_without_elements_go_every_way_too) {
  std::vector<float> none;
  for (const P &from : allSpecs()) {
    Array array = device_put(view(none, {0, 5}), NamedSharding(mesh, from));
    EXPECT_EQ(array.str(), "[]");
    for (const P &to : allSpecs())
      EXPECT_EQ(device_put(array, NamedSharding(mesh, to)).to_host<float>(), none) << from.str() << " to " << to.str();
  }
}

TEST_F(Arrays, another_mesh_of_the_same_devices) {
  std::vector<float> values = counting(24);
  Array array = device_put(view(values, {4, 6}), NamedSharding(mesh, P("i", "j")));
  std::vector<DeviceInfo> all = devices();
  Mesh other({2, 3}, {"x", "y"}, {all[6], all[5], all[4], all[3], all[2], all[1]});
  Array moved = device_put(array, NamedSharding(other, P("y", "x")));
  EXPECT_EQ(moved.to_host<float>(), values);
  EXPECT_EQ(moved.addressable_shards()[0].device.id, 6);
}

TEST_F(Arrays, replicas_are_counted) {
  std::vector<float> values = counting(8);
  Array array = device_put(view(values), NamedSharding(mesh, P("i")));
  std::vector<int64_t> replicas;
  for (const Shard &shard : array.addressable_shards())
    replicas.push_back(shard.replica_id);
  EXPECT_THAT(replicas, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_TRUE(process_allgather(array).is_fully_replicated());
}

TEST_F(Arrays, callback_is_asked_once_for_each_part) {
  int calls = 0;
  Array array = make_array_from_callback<float>({5, 4}, NamedSharding(mesh, P("i")), [&](const Index &index) {
    ++calls;
    std::vector<float> part;
    for (int64_t r = index[0].start; r < index[0].stop; ++r)
      for (int64_t c = index[1].start; c < index[1].stop; ++c)
        part.push_back(static_cast<float>(r * 4 + c));
    return part;
  });
  EXPECT_EQ(calls, 3) << "5 rows over 4 are 2, 2, 1 and none; two replicas of each";
  EXPECT_EQ(array.to_host<float>(), counting(20));
  EXPECT_THAT(messageOf([&] {
                make_array_from_callback<float>({8}, NamedSharding(mesh, P("i")),
                                                [](const Index &) { return std::vector<float>(3); });
              }),
              HasSubstr("returned 3 elements for an index of 2"));
}

TEST_F(Arrays, process_local_data_of_the_only_process_is_everything) {
  std::vector<float> values = counting(32);
  Array array = make_array_from_process_local_data(NamedSharding(mesh, P("i", "j")), view(values, {8, 4}));
  EXPECT_EQ(array.shape(), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(array.to_host<float>(), values);
  // Without a global shape the local blocks must have equal sizes; with it they need not.
  std::vector<float> uneven = counting(7);
  EXPECT_THAT(messageOf([&] { make_array_from_process_local_data(NamedSharding(mesh, P("i")), view(uneven)); }),
              HasSubstr("7 elements does not divide among 4 shards of this process; give the global shape"));
  EXPECT_EQ(make_array_from_process_local_data(NamedSharding(mesh, P("i")), view(uneven), {{7}}).to_host<float>(),
            uneven);
  EXPECT_THAT(messageOf([&] { make_array_from_process_local_data(NamedSharding(mesh, P("i")), view(uneven), {{9}}); }),
              HasSubstr("gives local data of shape [7] and its devices hold [9] of [9] @ P(i)"));
}

TEST_F(Arrays, single_device_arrays_are_joined) {
  std::vector<Array> parts;
  for (const DeviceInfo &device : local_devices()) {
    std::vector<int32_t> value = {static_cast<int32_t>(device.id)};
    parts.push_back(device_put(view(value, {1, 1}), device));
  }
  NamedSharding sharding(mesh, P("i", "j"));
  Array array = make_array_from_single_device_arrays({4, 2}, sharding, parts);
  EXPECT_THAT(array.to_host<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(messageOf([&] { make_array_from_single_device_arrays({4, 4}, sharding, parts); }),
              HasSubstr("the array on CpuDevice(id=0) is i32[1, 1] where i32[1, 2] belongs, elements [0:1, 0:2]"));
  parts.pop_back();
  EXPECT_THAT(messageOf([&] { make_array_from_single_device_arrays({4, 2}, sharding, parts); }),
              HasSubstr("is given 7 arrays and the mesh has 8 devices of this process"));
}

TEST_F(Arrays, every_dtype_goes_in_and_out) {
  NamedSharding sharding(mesh, P("i"));
  auto check = [&](auto values) {
    using T = typename decltype(values)::value_type;
    EXPECT_EQ(device_put(view(values), sharding).template to_host<T>(), values);
  };
  check(std::vector<double>{1, -2.5, 1e300});
  check(std::vector<bfloat16>{{0x3f80}, {0x4000}, {0xc000}});
  check(std::vector<float16>{{0x3c00}, {0x4000}, {0xc000}});
  check(std::vector<int64_t>{1, -2, int64_t(1) << 60});
  check(std::vector<int8_t>{1, -2, 127});
  check(std::vector<uint32_t>{1, 2, ~0u});
  check(std::vector<uint8_t>{1, 2, 255});
  bool flags[] = {true, false, true};
  Array array = device_put(view(std::span<const bool>(flags), {3}), sharding);
  EXPECT_THAT(array.to_host<bool>(), ElementsAre(true, false, true));
}

TEST_F(Arrays, errors_name_the_array_and_the_remedy) {
  std::vector<float> values = counting(8);
  Array array = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_EQ(messageOf([&] { array.to_host<double>(); }),
            "the value of f32[8] @ P(i) is asked for as f64; fetch it as f32");
  EXPECT_THAT(messageOf([&] { array.item<float>(); }), HasSubstr("item() of f32[8] @ P(i) is not possible"));
  EXPECT_THAT(messageOf([&] { view(values, {3, 3}); }), HasSubstr("a view has 8 elements where its shape has 9"));
  EXPECT_THAT(messageOf([&] { device_put(view(values), NamedSharding(mesh, P("i", "j"))); }),
              HasSubstr("a specification of 2 dimensions does not fit an array of 1"));
  EXPECT_THAT(messageOf([] { Array().shape(); }), HasSubstr("an Array without a value"));
}

// Sizes that no memory holds, or whose product overflows, and values without an address: from every function that takes
// a shape or host values.
TEST_F(Arrays, impossible_shapes_and_views_are_refused) {
  NamedSharding all(mesh, P());
  std::vector<float> values = counting(8);
  std::vector<std::vector<int64_t>> shapes = {
      {int64_t(1) << 40, int64_t(1) << 40}, {(int64_t(1) << 62) + 1, 4}, {int64_t(1) << 55}};
  for (const std::vector<int64_t> &shape : shapes) {
    ArrayView huge{DType::F32, shape, values.data()};
    auto callback = [](const Index &, void *) { FAIL(); };
    for (const std::string &message :
         {messageOf([&] { make_array_from_callback(shape, DType::F32, all, callback); }),
          messageOf([&] { device_put(huge, all); }), messageOf([&] { make_array_from_process_local_data(all, huge); })})
      EXPECT_THAT(message, testing::AllOf(HasSubstr("f32[" + std::to_string(shape[0])),
                                          HasSubstr("that is more than any memory holds")));
  }
  EXPECT_EQ(messageOf([&] { make_array_from_callback({2, -1}, DType::I8, all, [](const Index &, void *) {}); }),
            "an array has the type i8[2, -1]; sizes are not negative");
  EXPECT_EQ(messageOf([&] { view(values, {int64_t(1) << 40, int64_t(1) << 40}); }),
            "a view has the shape [1099511627776, 1099511627776]; that is more than any memory holds");
  EXPECT_EQ(messageOf([&] { device_put(ArrayView{DType::F32, {3}, nullptr}, all); }),
            "device_put is given a view of type f32[3] whose data is null; give the address of its first element");
  EXPECT_EQ(device_put(ArrayView{DType::F32, {0, 3}, nullptr}, all).size(), 0);
}

TEST_F(Arrays, scalars) {
  float value = 2.5f;
  Array array = device_put(view(std::span<const float>(&value, 1), {}), NamedSharding(mesh, P()));
  EXPECT_EQ(array.item<float>(), 2.5f);
  EXPECT_EQ(array.str(), "2.5");
}

TEST_F(Arrays, drawing) {
  std::vector<float> values = counting(64);
  Array array = device_put(view(values, {8, 8}), NamedSharding(mesh, P("i")));
  EXPECT_THAT(visualize_array_sharding(array),
              HasSubstr("│        CPU 0,1        │\n├───────────────────────┤\n│        CPU 2,3 "));
}

} // namespace
