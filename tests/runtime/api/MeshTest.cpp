#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(Mesh, make_mesh_takes_all_devices_in_order) {
  LocalJob job(8);
  Mesh mesh = make_mesh({4, 2}, {"i", "j"});
  EXPECT_THAT(mesh.device_ids(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(mesh.str(), "Mesh('i': 4, 'j': 2)");
}

TEST(Mesh, a_product_that_is_not_the_device_count_names_both) {
  LocalJob job(8);
  EXPECT_EQ(messageOf([] { make_mesh({4, 3}, {"i", "j"}); }),
            "Mesh('i': 4, 'j': 3) has 12 positions and the job has 8 devices; the product of the axis sizes must be "
            "the number of devices");
  EXPECT_THAT(messageOf([] { make_mesh({4, 2}, {"i"}); }), HasSubstr("2 axis sizes and 1 axis names"));
  EXPECT_THAT(messageOf([] { make_mesh({4, 2}, {"i", "i"}); }), HasSubstr("names axis 'i' twice"));
  EXPECT_THAT(messageOf([] { make_mesh({-4, -2}, {"i", "j"}); }), HasSubstr("axis 'i' has size -4"));
  int64_t large = int64_t(1) << 40;
  for (auto make : {+[](int64_t size) { make_mesh({size, size}, {"i", "j"}); },
                    +[](int64_t size) { Mesh({size, size}, {"i", "j"}, devices()); }})
    EXPECT_THAT(messageOf([&] { make(large); }), HasSubstr("has at least 9223372036854775807 positions"));
}

TEST(Mesh, a_mesh_may_use_some_devices_each_once) {
  LocalJob job(4);
  std::vector<DeviceInfo> all = devices();
  EXPECT_THAT(Mesh({2}, {"a"}, {all[3], all[1]}).device_ids(), ElementsAre(3, 1));
  EXPECT_THAT(messageOf([&] { Mesh({2}, {"a"}, {all[1], all[1]}); }), HasSubstr("is given CpuDevice(id=1) twice"));
}

TEST(Sharding, specifications_print_as_the_language_writes_them) {
  EXPECT_EQ(P("i", nullptr).str(), "P(i, _)");
  EXPECT_EQ(P().str(), "P()");
  EXPECT_EQ(P(nullptr, axes("i", "j")).str(), "P(_, (i, j))");
}

TEST(Sharding, wrong_axes_are_named) {
  LocalJob job(4);
  Mesh mesh = make_mesh({2, 2}, {"i", "j"});
  EXPECT_EQ(NamedSharding(mesh, P("i", nullptr)).str(), "NamedSharding(mesh=Mesh('i': 2, 'j': 2), spec=P(i, _))");
  EXPECT_THAT(messageOf([&] { NamedSharding(mesh, P("k")); }), HasSubstr("P(k) uses axis 'k', which Mesh('i': 2"));
  EXPECT_THAT(messageOf([&] { NamedSharding(mesh, P("i", "i")); }), HasSubstr("uses axis 'i' twice"));
  EXPECT_TRUE(NamedSharding(mesh, P(nullptr)).is_fully_replicated());
  EXPECT_FALSE(NamedSharding(mesh, P("i")).is_fully_replicated());
}

} // namespace
