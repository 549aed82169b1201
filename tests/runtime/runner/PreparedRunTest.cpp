#include "RunInMemory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using spmd::test::RunInMemory;
using testing::HasSubstr;

namespace {

TEST(PreparedRun, OptionsAndEnvironmentMakeAMember) {
  EXPECT_FALSE(RunInMemory().run.isMember());
  RunInMemory address, id, found;
  address.run.options.job.coordinator_address = "localhost:1";
  id.run.options.job.process_id = 0;
  found.run.environment.processId = 2;
  EXPECT_TRUE(address.run.isMember());
  EXPECT_TRUE(id.run.isMember());
  EXPECT_TRUE(found.run.isMember());
  EXPECT_EQ(found.run.getGivenProcess(), 2);
  found.run.options.job.process_id = 1; // Explicit options win.
  EXPECT_EQ(found.run.getGivenProcess(), 1);
}

TEST(PreparedRun, AReportOfOneProcessNeedsALauncher) {
  RunInMemory plain, several, report, profile, restarts;
  several.run.options.job.num_processes = 2;
  report.run.options.reportFile = "r.json";
  profile.run.options.profileFile = "p.json";
  restarts.run.options.restart.count = 1;
  EXPECT_FALSE(plain.run.startsProcesses());
  for (RunInMemory *run : {&several, &report, &profile, &restarts}) {
    EXPECT_TRUE(run->run.startsProcesses());
    run->run.environment.processId = 0; // A process of a job starts no others.
    EXPECT_FALSE(run->run.startsProcesses());
  }
}

TEST(PreparedRun, AProgramThatDoesNotLoadLeavesItsMessages) {
  RunInMemory broken;
  broken.request.load = [](std::ostream &messages) {
    messages << "t.spmd:1:1: error: no\n";
    return nullptr;
  };
  EXPECT_EQ(broken.run.load(), "t.spmd:1:1: error: no\n");
  EXPECT_EQ(broken.run.artifact, nullptr);
}

TEST(PreparedRun, TheTimeOfCompilingIsThatOfTheLauncherIfItIsKnown) {
  RunInMemory own, child;
  auto load = [](std::ostream &) { return std::make_shared<const Artifact>(); };
  own.request.load = child.request.load = load;
  child.run.options.compileMs = 1234;
  own.run.load();
  child.run.load();
  EXPECT_GT(own.run.options.compileMs, 0);
  EXPECT_EQ(child.run.options.compileMs, 1234);
}

} // namespace
