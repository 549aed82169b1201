#include "runtime/support/Env.h"

#include "runtime/support/Error.h"

#include <gmock/gmock.h>
#include <map>

using namespace spmd;
using testing::HasSubstr;

namespace {

Environment parse(std::map<std::string, std::string> variables) {
  return Environment::parse([&](const char *name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

std::string errorOf(std::map<std::string, std::string> variables) {
  try {
    parse(std::move(variables));
  } catch (const Error &error) {
    EXPECT_EQ(error.getKind(), Error::Kind::Usage);
    return error.what();
  }
  return "no error";
}

TEST(Env, ReadsEveryVariable) {
  Environment env = parse({{"SPMD_COORDINATOR_ADDRESS", "[::1]:77"},
                           {"SPMD_COORDINATOR_BIND_ADDRESS", "0.0.0.0"},
                           {"SPMD_NUM_PROCESSES", "4"},
                           {"SPMD_PROCESS_ID", "3"},
                           {"SPMD_LOCAL_DEVICE_IDS", "0,2,5"},
                           {"SPMD_DEVICES_PER_PROCESS", "2"},
                           {"SPMD_INITIALIZATION_TIMEOUT", "1.5"},
                           {"SPMD_HEARTBEAT_TIMEOUT", "20"},
                           {"SPMD_COLLECTIVE_TIMEOUT", "0"},
                           {"SPMD_JOB_ID", "17"},
                           {"SPMD_HOST_ID", "rack1"},
                           {"SPMD_TOKEN", "secret"},
                           {"SPMD_TOKEN_FILE", "/t"},
                           {"SPMD_TLS_CERT", "/c.pem"},
                           {"SPMD_TLS_KEY", "/k.pem"},
                           {"SPMD_TLS_CA", "/a.pem"},
                           {"SPMD_COORDINATOR_FD", "5"},
                           {"SPMD_LAUNCHER_FD", "6"},
                           {"SPMD_RESTART_COUNT", "2"},
                           {"SPMD_RESUME", "newest"},
                           {"SPMD_STATUS_TOKEN", "st"},
                           {"SPMD_CACHE_DIR", "/c"},
                           {"SPMD_CACHE_LIMIT", "2GiB"},
                           {"SPMD_NO_CACHE", "1"},
                           {"XDG_CONFIG_HOME", "/x"},
                           {"NO_COLOR", "1"},
                           {"SPMD_PLATFORM", "cuda"},
                           {"SPMD_SHARE_GPUS", "1"},
                           {"NCCL_HOSTID", "a"},
                           {"CUDA_PATH", "/p"},
                           {"CUDA_HOME", "/cuda"}});
  EXPECT_EQ(env.platform, "cuda");
  EXPECT_TRUE(env.sharesGpus);
  EXPECT_TRUE(env.hasNcclHostId);
  EXPECT_EQ(env.coordinatorAddress, "[::1]:77");
  EXPECT_EQ(env.coordinatorBindAddress, "0.0.0.0");
  EXPECT_EQ(env.numProcesses, 4);
  EXPECT_EQ(env.processId, 3);
  EXPECT_EQ(env.localDeviceIds, (std::vector<int32_t>{0, 2, 5}));
  EXPECT_EQ(env.devicesPerProcess, 2);
  EXPECT_EQ(env.initializationTimeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(env.heartbeatTimeout, std::chrono::milliseconds(20000));
  EXPECT_EQ(env.collectiveTimeout, std::chrono::milliseconds(0));
  EXPECT_EQ(env.jobId, "17");
  EXPECT_EQ(env.hostId, "rack1");
  EXPECT_EQ(env.token, "secret");
  EXPECT_EQ(env.tokenFile, "/t");
  EXPECT_EQ(env.tlsCert, "/c.pem");
  EXPECT_EQ(env.tlsKey, "/k.pem");
  EXPECT_EQ(env.tlsCa, "/a.pem");
  EXPECT_EQ(env.coordinatorFd, 5);
  EXPECT_EQ(env.launcherFd, 6);
  EXPECT_EQ(env.restartCount, 2);
  EXPECT_TRUE(env.resumes);
  EXPECT_EQ(env.statusToken, "st");
  EXPECT_EQ(env.cacheDirectory, "/c");
  EXPECT_TRUE(env.isCacheDirectoryNamed);
  EXPECT_EQ(env.cacheLimit, int64_t(2) << 30);
  EXPECT_TRUE(env.noCache);
  EXPECT_EQ(env.configDirectory, "/x/spmd");
  EXPECT_TRUE(env.noColor);
  EXPECT_EQ(env.cudaToolkit, "/cuda");
}

TEST(Env, EmptyCountsAsUnset) {
  Environment env = parse({{"SPMD_NUM_PROCESSES", ""}, {"SPMD_TOKEN", ""}, {"HOME", "/home/u"}});
  EXPECT_FALSE(env.numProcesses);
  EXPECT_FALSE(env.token);
  EXPECT_EQ(env.configDirectory, "/home/u/.config/spmd");
  EXPECT_EQ(env.cacheDirectory, "/home/u/.cache/spmd");
  EXPECT_FALSE(env.isCacheDirectoryNamed);
}

TEST(Env, NamesVariableAndValueWhereOneIsWrong) {
  EXPECT_THAT(errorOf({{"SPMD_NUM_PROCESSES", "four"}}), HasSubstr("SPMD_NUM_PROCESSES is `four`"));
  EXPECT_THAT(errorOf({{"SPMD_NUM_PROCESSES", "0"}}), HasSubstr("at least 1"));
  EXPECT_THAT(errorOf({{"SPMD_PROCESS_ID", "-1"}}), HasSubstr("at least 0"));
  EXPECT_THAT(errorOf({{"SPMD_PROCESS_ID", "1x"}}), HasSubstr("`1x`"));
  EXPECT_THAT(errorOf({{"SPMD_LOCAL_DEVICE_IDS", "0,,1"}}), HasSubstr("such as 0,1"));
  EXPECT_THAT(errorOf({{"SPMD_HEARTBEAT_TIMEOUT", "0"}}), HasSubstr("positive number of seconds"));
  EXPECT_THAT(errorOf({{"SPMD_COLLECTIVE_TIMEOUT", "inf"}}), HasSubstr("0 for never"));
  EXPECT_THAT(errorOf({{"SPMD_CACHE_LIMIT", "much"}}), HasSubstr("`much`, which is not a number of bytes such as"));
  EXPECT_THAT(errorOf({{"SPMD_CACHE_LIMIT", "9000000TiB"}}), HasSubstr("`9000000TiB`, which is too large"));
  EXPECT_THAT(errorOf({{"SPMD_INITIALIZATION_TIMEOUT", "nan"}}), HasSubstr("positive number"));
}

// Warns about each name that is near to a known one; a program's own variables are ignored.
TEST(Env, MisspeltVariablesAreNamed) {
  auto meant = [](const std::string &name) {
    std::vector<std::string> found = Environment::findMisspelt({name});
    std::string begin = "environment variable " + name + " is not known; did you mean ";
    if (found.size() != 1 || !found[0].starts_with(begin))
      return found.empty() ? std::string() : found[0];
    return found[0].substr(begin.size());
  };
  EXPECT_EQ(meant("SPMD_COORDINATOR_ADRESS"), "SPMD_COORDINATOR_ADDRESS?");
  EXPECT_EQ(meant("SPMD_COORDINATOR_ADDR"), "SPMD_COORDINATOR_ADDRESS?");
  EXPECT_EQ(meant("SPMD_NUM_PROCESS"), "SPMD_NUM_PROCESSES?");
  EXPECT_EQ(meant("SPMD_PROCES_ID"), "SPMD_PROCESS_ID?");
  EXPECT_EQ(meant("SPMD_PROCESS_IDX"), "SPMD_PROCESS_ID?");
  EXPECT_EQ(meant("SPMD_TOKENFILE"), "SPMD_TOKEN_FILE?");
  EXPECT_EQ(meant("SPMD_TOKNE"), "SPMD_TOKEN?");
  EXPECT_EQ(meant("SPMD_CACHEDIR"), "SPMD_CACHE_DIR?");
  EXPECT_EQ(meant("SPMD_TLS_CERTIFICATE"), "");
  EXPECT_EQ(meant("SPMD_TEST_SEED"), "");
  EXPECT_EQ(meant("SPMD_LOG_LEVEL"), "");
  EXPECT_EQ(meant("SPMD_"), "");
  EXPECT_EQ(meant("PROCESS_IDX"), "");
  for (const char *known : {"SPMD_COORDINATOR_ADDRESS", "SPMD_TLS_CA", "SPMD_NO_CACHE", "SPMD_RESTART_COUNT"})
    EXPECT_EQ(meant(known), "");
}

TEST(Env, AnythingButZeroMeansNoCache) {
  EXPECT_FALSE(parse({}).noCache);
  EXPECT_FALSE(parse({{"SPMD_NO_CACHE", "0"}}).noCache);
  EXPECT_TRUE(parse({{"SPMD_NO_CACHE", "yes"}}).noCache);
}

TEST(Env, RelativeXdgFoldersAreIgnored) {
  EXPECT_EQ(parse({{"XDG_CONFIG_HOME", "relative"}, {"HOME", "/h"}}).configDirectory, "/h/.config/spmd");
}

TEST(Env, ChangesReplaceAddAndRemove) {
  ::setenv("SPMD_ENV_TEST_OLD", "1", 1);
  ::setenv("SPMD_ENV_TEST_GONE", "1", 1);
  std::vector<std::string> result =
      environmentWith({{"SPMD_ENV_TEST_OLD", "2"}, {"SPMD_ENV_TEST_GONE", std::nullopt}, {"SPMD_ENV_TEST_NEW", "a=b"}});
  EXPECT_THAT(result, testing::Contains("SPMD_ENV_TEST_OLD=2"));
  EXPECT_THAT(result, testing::Contains("SPMD_ENV_TEST_NEW=a=b"));
  EXPECT_THAT(result, testing::Not(testing::Contains("SPMD_ENV_TEST_OLD=1")));
  EXPECT_THAT(result, testing::Not(testing::Contains(HasSubstr("SPMD_ENV_TEST_GONE"))));
}

} // namespace
