#include "runtime/runner/ClockOffset.h"
#include "runtime/runner/ProfileRecord.h"

#include "runtime/support/Error.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

using namespace spmd;

namespace {

class MemoryStore final : public Store {
public:
  void set(const std::string &key, const std::string &value) override {
    std::lock_guard lock(mutex);
    values[key] = value;
    changed.notify_all();
  }
  std::string wait(const std::string &key, const Awaited &awaited) override {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, awaited.timeout, [&] { return values.count(key) != 0; }))
      throw Error("no process has set " + key);
    return values.at(key);
  }
  void removePrefix(const std::string &prefix) override { removed.push_back(prefix); }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
  std::vector<std::string> removed;
};

int64_t steadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Clocks hours apart: each process measures its own offset, within the uncertainty that it reports.
TEST(ClockOffset, IsFoundWithinItsUncertainty) {
  MemoryStore store;
  const std::vector<int64_t> skew = {0, 7'200'000'000'000, -3'600'000'000'123, 5};
  std::vector<ClockOffset> offsets(skew.size());
  std::vector<std::thread> threads;
  for (int32_t process = 0; process != static_cast<int32_t>(skew.size()); ++process)
    threads.emplace_back([&, process] {
      offsets[static_cast<size_t>(process)] = measureClockOffset(
          store, process, {1, 2, 3}, [&, process] { return steadyNs() + skew[static_cast<size_t>(process)]; },
          std::chrono::seconds(20));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t process = 0; process != skew.size(); ++process) {
    EXPECT_LE(std::abs(offsets[process].nanoseconds + skew[process]), offsets[process].uncertainty) << process;
    EXPECT_LT(offsets[process].uncertainty, 1'000'000'000) << process;
  }
  EXPECT_EQ(offsets[0].nanoseconds, 0);
  EXPECT_EQ(store.removed.size(), 1u);
}

ProfileScene scene() {
  ProfileScene result;
  result.process = 1;
  result.host = "no\"de";
  result.pid = 12;
  result.clock = {1'000'000, 5};
  result.mesh.axes = {{"a", 2}};
  result.devices = {4, 5};
  result.localDevices = {5};
  StepInfo kernel{"k", {"m.spmd", 3, 4}, StepInfo::Collective::None, -1, {}};
  StepInfo start{"all_reduce start", {"m.spmd", 5, 6}, StepInfo::Collective::Start, 1, {{"a"}}};
  StepInfo done{"all_reduce done", {"m.spmd", 5, 6}, StepInfo::Collective::Done, 1, {{"a"}}};
  result.steps = {kernel, start, done};
  return result;
}

TEST(Profile, TimesAreProcessZerosAndArrowsMeet) {
  std::vector<ProfileLog::Run> runs = {{3, {{0, 5, 1000, 3500}, {1, 5, 4000, 4100}, {2, 5, 4200, 9999}}}};
  ProfileScene own = scene(), other = scene();
  other.localDevices = {4};
  other.process = 0;
  std::vector<ProfileLog::Run> theirs = runs;
  for (ProfileEvent &event : theirs[0].events)
    event.device = 4;
  auto document = nlohmann::json::parse(profileDocument(profileHeader(own) + profileLines(own, runs) +
                                                        profileFooter(own, 0) + profileHeader(other) +
                                                        profileLines(other, theirs) + profileFooter(other, 2)));
  std::map<std::string, std::vector<nlohmann::json>> byKind;
  for (const nlohmann::json &event : document["traceEvents"])
    byKind[event["ph"].get<std::string>()].push_back(event);
  const nlohmann::json &step = byKind["X"][1];
  EXPECT_EQ(step["name"], "k");
  EXPECT_EQ(step["pid"], 1);
  EXPECT_EQ(step["tid"], 5);
  EXPECT_DOUBLE_EQ(step["ts"].get<double>(), 1001.0);
  EXPECT_DOUBLE_EQ(step["dur"].get<double>(), 2.5);
  EXPECT_EQ(step["args"]["source"], "m.spmd:3:4");
  EXPECT_EQ(step["args"]["launch"], 3);
  EXPECT_FALSE(step["args"].contains("axes"));
  EXPECT_EQ(byKind["X"][2]["args"]["axes"], nlohmann::json::array({"a"}));
  EXPECT_EQ(byKind["X"][0]["name"], "launch 3");
  EXPECT_DOUBLE_EQ(byKind["X"][0]["dur"].get<double>(), 8.999);
  // Device 4 is the first of the group: the arrow begins there.
  ASSERT_EQ(byKind["s"].size(), 1u);
  ASSERT_EQ(byKind["f"].size(), 1u);
  EXPECT_EQ(byKind["s"][0]["tid"], 4);
  EXPECT_EQ(byKind["f"][0]["tid"], 5);
  EXPECT_EQ(byKind["s"][0]["id"], byKind["f"][0]["id"]);
  EXPECT_EQ(byKind["M"][0]["args"]["name"], "process 1 (no\"de, pid 12)");
}

TEST(Profile, WhatAKilledProcessHasLeftDoesNoHarm) {
  test::TemporaryFolder folder;
  std::string name = folder / "profile";
  int fd = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(fd, 0);
  const char torn[] = "{\"name\":\"whole\"}\n{\"name\":\"torn\",\"args\":{\"a\":1}";
  ASSERT_EQ(write(fd, torn, sizeof torn - 1), static_cast<ssize_t>(sizeof torn - 1));
  appendProfile(name, "{\"name\":\"next\"}\n");
  char text[200] = {};
  ASSERT_GT(pread(fd, text, sizeof text - 1, 0), 0);
  close(fd);
  auto document = nlohmann::json::parse(profileDocument(text));
  ASSERT_EQ(document["traceEvents"].size(), 2u);
  EXPECT_EQ(document["traceEvents"][0]["name"], "whole");
  EXPECT_EQ(document["traceEvents"][1]["name"], "next");
  EXPECT_TRUE(nlohmann::json::parse(profileDocument(""))["traceEvents"].empty());
  EXPECT_THROW(appendProfile("/nonexistent/profile", "x"), Error);
}

TEST(ProfileLog, HoldsSoManyEventsAndCountsTheOthers) {
  ProfileLog log(3);
  log.add(1, {{0, 0, 1, 2}, {1, 0, 2, 3}});
  log.add(2, {{0, 0, 1, 2}, {1, 0, 2, 3}});
  log.add(3, {{0, 0, 1, 2}});
  auto [runs, dropped] = log.take();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].launch, 3u);
  EXPECT_EQ(dropped, 2u);
}

} // namespace
