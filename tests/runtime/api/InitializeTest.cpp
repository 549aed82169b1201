#include "runtime/api/Job.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

JoinOptions resolve(const InitializeOptions &options, const std::map<std::string, std::string> &variables) {
  Environment environment = Environment::parse([&](const char *name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
  return resolveJoinOptions(options, environment, 1);
}

TEST(Initialize, nothing_given_is_one_process_with_one_device) {
  JoinOptions join = resolve({}, {});
  EXPECT_EQ(join.numProcesses, 1);
  EXPECT_EQ(join.processId, 0);
  EXPECT_EQ(join.address, "");
  EXPECT_THAT(join.localDeviceIds, ElementsAre(0));
}

// One error lists all missing options, and the variables that were looked for.
TEST(Initialize, missing_arguments_are_listed_together) {
  EXPECT_EQ(
      messageOf([] { resolve({.coordinator_address = "h:1"}, {}); }),
      "cannot join a job without num_processes and process_id: give them or set SPMD_NUM_PROCESSES and "
      "SPMD_PROCESS_ID in the environment; no cluster's variables give the rest (Slurm: SLURM_JOB_ID is not set; Open "
      "MPI: OMPI_COMM_WORLD_SIZE is not set; MPICH: PMI_SIZE is not set; Kubernetes: KUBERNETES_SERVICE_HOST is "
      "not set; torchrun: WORLD_SIZE is not set; Cloud TPU: TPU_WORKER_ID is not set)");
  EXPECT_THAT(messageOf([] { resolve({.num_processes = 4}, {{"SPMD_PROCESS_ID", "1"}}); }),
              HasSubstr("without coordinator_address: give it or set SPMD_COORDINATOR_ADDRESS in the environment; no "
                        "cluster's variables give the rest (Slurm: "));
  EXPECT_THAT(messageOf([] { resolve({}, {{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}); }),
              HasSubstr("MPICH: found, but its variables do not give coordinator_address; Kubernetes: "));
  EXPECT_THAT(messageOf([] { resolve({.process_id = 1}, {{"SLURM_JOB_ID", "4711"}}); }),
              HasSubstr("(Slurm: SLURM_STEP_NODELIST is not set: processes of a job are started with srun; "));
  EXPECT_THAT(messageOf([] { resolve({.process_id = 1}, {}); }),
              HasSubstr("without coordinator_address and num_processes"));
}

// A process of a cluster that cannot find its number does not start a job of its own.
TEST(Initialize, contradictory_variables_of_a_cluster_are_an_error) {
  std::map<std::string, std::string> variables = {{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}};
  const std::string why =
      "MPICH's variables say that this process is one of several, and are wrong: process 2 of 2 does not "
      "exist; correct or unset them, or give num_processes (SPMD_NUM_PROCESSES), which is 1 for a "
      "process alone, else with coordinator_address and process_id";
  EXPECT_EQ(messageOf([&] { resolve({}, variables); }), why);
  EXPECT_EQ(messageOf([&] { resolve({.num_processes = 2, .process_id = 1}, variables); }),
            "cannot join a job without coordinator_address: give it or set SPMD_COORDINATOR_ADDRESS in the "
            "environment: " +
                why);
  EXPECT_EQ(resolve({.num_processes = 1}, variables).processId, 0);
  EXPECT_EQ(
      resolve({.coordinator_address = "127.0.0.1:5000", .num_processes = 2, .process_id = 1}, variables).processId, 1);
}

TEST(Initialize, what_is_given_wins_over_the_environment_item_by_item) {
  std::map<std::string, std::string> variables = {{"SPMD_COORDINATOR_ADDRESS", "127.0.0.1:5000"},
                                                  {"SPMD_NUM_PROCESSES", "4"},
                                                  {"SPMD_PROCESS_ID", "2"},
                                                  {"SPMD_DEVICES_PER_PROCESS", "2"},
                                                  {"SPMD_INITIALIZATION_TIMEOUT", "7"},
                                                  {"SPMD_TOKEN", "0123456789abcdef0123456789abcdef"}};
  JoinOptions join = resolve({.process_id = 3}, variables);
  EXPECT_EQ(join.address, "127.0.0.1:5000");
  EXPECT_EQ(join.numProcesses, 4);
  EXPECT_EQ(join.processId, 3);
  EXPECT_THAT(join.localDeviceIds, ElementsAre(0, 1));
  EXPECT_EQ(join.initializationTimeout.count(), 7000);
  EXPECT_EQ(resolve({.initialization_timeout = std::chrono::seconds(2)}, variables).initializationTimeout.count(),
            2000);
}

TEST(Initialize, the_platform_is_cpu_or_cuda) {
  EXPECT_EQ(resolve({}, {}).backend, "cpu");
  EXPECT_EQ(resolve({}, {{"SPMD_PLATFORM", "cuda"}}).backend, "cuda");
  EXPECT_EQ(resolve({.platform = "cpu"}, {{"SPMD_PLATFORM", "cuda"}}).backend, "cpu");
  EXPECT_EQ(messageOf([] { resolve({.platform = "tpu"}, {}); }), "platform is 'tpu'; give cpu or cuda (SPMD_PLATFORM)");
  EXPECT_TRUE(resolve({}, {{"SPMD_SHARE_GPUS", "1"}}).sharesGpus);
  EXPECT_FALSE(resolve({}, {{"SPMD_SHARE_GPUS", "0"}}).sharesGpus);
}

TEST(Initialize, local_device_ids_are_one_or_a_list) {
  EXPECT_THAT(resolve({.local_device_ids = 3}, {}).localDeviceIds, ElementsAre(3));
  EXPECT_THAT(resolve({.local_device_ids = {1, 0}}, {}).localDeviceIds, ElementsAre(1, 0));
  EXPECT_THAT(messageOf([] { resolve({.local_device_ids = {1, 1}}, {}); }),
              HasSubstr("local_device_ids is {1, 1}: 1 is given more than once; give different numbers from 0 on"));
  EXPECT_EQ(messageOf([] { resolve({.local_device_ids = {0, 2, 7, 1}, .devices_per_process = 2}, {}); }),
            "local_device_ids is {0, 2, 7, 1}: 2 and 7 do not exist, because devices_per_process is "
            "2; give different numbers from 0 to 1");
  EXPECT_THAT(messageOf([] { resolve({.local_device_ids = {-1, 3, 3, 3}}, {}); }),
              HasSubstr("{-1, 3, 3, 3}: -1 is negative and 3 is given more than once; give"));
  EXPECT_THAT(messageOf([] { resolve({.local_device_ids = std::vector<int32_t>()}, {}); }),
              HasSubstr("the list is empty"));
  EXPECT_THAT(messageOf([] { resolve({.devices_per_process = 0}, {}); }), HasSubstr("devices_per_process is 0"));
}

TEST(Initialize, a_second_call_says_where_the_first_was_and_changes_nothing) {
  LocalJob job(3);
  EXPECT_THAT(messageOf([] { initialize({.num_processes = 1, .devices_per_process = 5}); }),
              testing::AllOf(HasSubstr("is the second call: the first was at"), HasSubstr("ApiTestSupport.h:")));
  EXPECT_EQ(device_count(), 3);
}

TEST(Initialize, a_call_after_devices_were_touched_says_where) {
  initialize({.num_processes = 1});
  shutdown();
  // A job does not start again by itself after shutdown().
  EXPECT_THAT(messageOf([] { devices(); }), HasSubstr("after shutdown(); call initialize() again"));
}

// Every call that uses devices names the caller's line, and no file of the library.
TEST(Initialize, the_callers_place_is_named_by_every_call_that_touches_devices) {
  Mesh mesh;
  DeviceInfo device;
  {
    LocalJob job(1);
    mesh = make_mesh({1}, {"i"});
    device = devices()[0];
  }
  NamedSharding sharding(mesh, P("i"));
  std::vector<float> values = {1};
  ArrayView value = view(values);
  auto fill = [](const Index &, void *) {};
  auto give = [](const Index &) { return std::vector<float>{1}; };
  std::vector<std::function<void()>> calls = {
      [&] { device_put(value, sharding); },
      [&] { device_put(value, device); },
      [&] { make_array_from_process_local_data(sharding, value); },
      [&] { make_array_from_single_device_arrays({1}, sharding, {}); },
      [&] { make_array_from_callback({1}, DType::F32, sharding, fill); },
      [&] { make_array_from_callback<float>({1}, sharding, give); },
      [&] { save_checkpoint("/nowhere", 0, {}); },
      [&] { restore_checkpoint("/nowhere", {}); },
      [&] { from_dlpack(nullptr); },
      [&] { sync_processes("here"); },
      [&] { BatchLoader({"/nowhere/x.npy"}, sharding, {}); },
      [&] { make_mesh({1}, {"i"}); },
      [&] { load("/nowhere/x.spmdx"); },
      [&] { devices(); },
      [&] { local_device_count(); },
  };
  int line = __LINE__ - static_cast<int>(calls.size()) - 1;
  for (const auto &call : calls) {
    std::string message = messageOf(call), place = "InitializeTest.cpp:" + std::to_string(line++);
    if (message.find("/nowhere") == std::string::npos) // It reads the file first.
      EXPECT_THAT(message, HasSubstr("devices are used at ")) << place;
    if (message.find("/nowhere") == std::string::npos)
      EXPECT_THAT(message, HasSubstr(place));
  }
}

// Without a callback of the user, too, a waiting program says what it waits for.
TEST(Initialize, waiting_is_told_every_five_seconds) {
  InitializeOptions options{.coordinator_address = "127.0.0.1:1",
                            .num_processes = 2,
                            .process_id = 1,
                            .initialization_timeout = std::chrono::milliseconds(5500)};
  testing::internal::CaptureStderr();
  EXPECT_THAT(messageOf([&] { initialize(options); }), HasSubstr("no coordinator was found at 127.0.0.1:1"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "spmd: process 1: waiting for the coordinator at 127.0.0.1:1: Connection refused (5 s of 5.5 s)\n");
  std::vector<std::string> told;
  options.notice = [&](const std::string &text, bool isWarning) { told.push_back(text + (isWarning ? "!" : "")); };
  testing::internal::CaptureStderr();
  messageOf([&] { initialize(options); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(told, ElementsAre("waiting for the coordinator at 127.0.0.1:1: Connection refused (5 s of 5.5 s)"));
}

TEST(Initialize, misspelt_variables_are_named_once) {
  ::setenv("SPMD_NUM_PROCESES", "1", 1);
  testing::internal::CaptureStderr();
  initialize({.num_processes = 1});
  shutdown();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "spmd: warning: environment variable SPMD_NUM_PROCESES is not known; did you mean SPMD_NUM_PROCESSES?\n");
  // Processes of our launcher do not warn; the launcher does.
  ::setenv("SPMD_LAUNCHER_FD", "1000", 1);
  testing::internal::CaptureStderr();
  initialize({.num_processes = 1});
  shutdown();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ::unsetenv("SPMD_LAUNCHER_FD");
  ::unsetenv("SPMD_NUM_PROCESES");
}

TEST(Initialize, one_process_knows_its_devices) {
  LocalJob job(4);
  EXPECT_EQ(process_index(), 0);
  EXPECT_EQ(process_count(), 1);
  EXPECT_EQ(local_device_count(), 4);
  std::vector<DeviceInfo> all = devices();
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].id, static_cast<int64_t>(i));
    EXPECT_EQ(all[i].process_index, 0);
  }
  EXPECT_EQ(all[3].str(), "CpuDevice(id=3)");
  EXPECT_EQ(local_devices(), all);
  EXPECT_NO_THROW(sync_processes("here", std::chrono::seconds(1)));
}

} // namespace
