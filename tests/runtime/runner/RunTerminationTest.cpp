#include "runtime/runner/RunTermination.h"

#include "RunInMemory.h"
#include "runtime/support/File.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

using namespace spmd;
using spmd::test::RunInMemory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

TEST(StopRequest, IsMadeOnceAndOnlyWhileTheLoopObeys) {
  StopRequest request;
  EXPECT_FALSE(request.make()); // Before the loop, the process ends at once.
  EXPECT_FALSE(request.wasMade());
  request.heed(true);
  EXPECT_TRUE(request.make());
  EXPECT_TRUE(request.wasMade());
  EXPECT_FALSE(request.make()); // A second signal means "at once".
}

TEST(StopRequest, IsRefusedAfterTheLoop) {
  StopRequest request;
  request.heed(true);
  request.heed(false);
  EXPECT_FALSE(request.make());
}

TEST(Signals, AMemberOfAClusterHandlesAll) {
  EXPECT_THAT(signalsToWatch(/*isMember=*/true, /*isLaunched=*/false, false, false),
              ElementsAre(SIGINT, SIGHUP, SIGTERM));
}

TEST(Signals, ALaunchedProcessHandlesThemIfItHasToWrite) {
  EXPECT_THAT(signalsToWatch(true, /*isLaunched=*/true, /*writesAtEnd=*/false, false), IsEmpty());
  EXPECT_THAT(signalsToWatch(true, true, /*writesAtEnd=*/true, false), ElementsAre(SIGINT, SIGHUP, SIGTERM));
  EXPECT_THAT(signalsToWatch(true, true, false, /*savesCheckpoints=*/true), ElementsAre(SIGTERM));
}

TEST(Signals, AProcessAloneHandlesSigtermForItsCheckpoints) {
  EXPECT_THAT(signalsToWatch(/*isMember=*/false, false, true, false), IsEmpty());
  EXPECT_THAT(signalsToWatch(false, false, false, /*savesCheckpoints=*/true), ElementsAre(SIGTERM));
}

/// A run that has not joined.
struct Ending : RunInMemory {
  RunReporter reporter{run};
  JobSession session{run, reporter};
  RunTermination termination{run, session, reporter};
};

TEST(RunTermination, AUsageErrorBeforeTheJoinIsOneOfTheCommandLine) {
  Ending wrong, failed;
  EXPECT_EQ(wrong.termination.endByError(Error("--steps -1 is negative", Error::Kind::Usage)), 2);
  EXPECT_EQ(wrong.err.str(), "spmdc: error: --steps -1 is negative\n");
  EXPECT_EQ(failed.termination.endByError(Error("no memory")), 1);
}

TEST(RunTermination, AnInterruptionDuringTheJoinHasTheStatusOfItsSignal) {
  Ending ending;
  Verdict verdict{1, "node1", 4711, Verdict::Cause::Interrupted, SIGTERM, "", {}};
  EXPECT_EQ(ending.termination.endByError(VerdictError(verdict), &verdict), 128 + SIGTERM);
  EXPECT_THAT(ending.err.str(), HasSubstr("spmdc: warning: "));
}

TEST(RunTerminationDeathTest, AnUnheededVerdictEndsTheProcessAfterItsReport) {
  test::TemporaryFolder folder;
  Ending ending;
  ending.run.options.reportFile = folder / "r.json";
  Verdict verdict{1, "node1", 4711, Verdict::Cause::Killed, SIGKILL, "", {}};
  EXPECT_EXIT(ending.termination.endingUnheeded()(Topology(), verdict), testing::ExitedWithCode(1), "");
  EXPECT_TRUE(std::filesystem::exists(folder / "r.json"));
}

// The program reports the verdict itself.
TEST(RunTermination, AVerdictThatTheProgramReportsEndsNothingElse) {
  Ending ending;
  ending.termination.endByError(Error("no memory"));
  std::string before = ending.err.str();
  ending.termination.endingUnheeded()(Topology(), {1, "node1", 4711, Verdict::Cause::Killed, SIGKILL, "", {}});
  EXPECT_EQ(ending.err.str(), before);
}

} // namespace
