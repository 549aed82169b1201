#include "runtime/device/LocalDevices.h"

#include "runtime/support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using testing::HasSubstr;

namespace {

TEST(LocalDevices, ACpuDeviceIsItsOwnHost) {
  LocalDevices made = createLocalDevices("cpu", {.ids = {4, 5}, .ordinals = {0, 1}, .hostDeviceCount = 2});
  ASSERT_EQ(made.devices.size(), 2u);
  EXPECT_EQ(made.devices[0]->str(), "cpu:4");
  EXPECT_EQ(made.devices[1]->str(), "cpu:5");
  EXPECT_EQ(made.hosts, made.devices);
}

TEST(LocalDevices, NamesArePlatforms) {
  EXPECT_TRUE(isPlatform("cpu"));
  EXPECT_TRUE(isPlatform("cuda"));
  EXPECT_FALSE(isPlatform("gpu"));
  EXPECT_FALSE(isPlatform(""));
  EXPECT_EQ(platformNames(), "cpu or cuda");
}

TEST(LocalDevices, AnUnknownPlatformIsAnError) {
  try {
    createLocalDevices("tpu", {.ids = {0}, .ordinals = {0}});
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("'tpu'; give cpu or cuda"));
  }
}

} // namespace
