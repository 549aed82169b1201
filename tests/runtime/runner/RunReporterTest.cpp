#include "runtime/runner/RunReporter.h"

#include "RunInMemory.h"
#include "runtime/coordinator/ChildReport.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>

#include <sys/socket.h>

using namespace spmd;
using spmd::test::RunInMemory;
using testing::HasSubstr;

namespace {

nlohmann::json readJson(const std::string &path) { return nlohmann::json::parse(MappedFile(path).bytes()); }

/// The launcher's end of its socket.
class LauncherEnd {
public:
  explicit LauncherEnd(Environment &environment) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
    own = UniqueFd(fds[0]);
    child = UniqueFd(fds[1]);
    environment.launcherFd = fds[1];
  }
  /// Returns the next record; nullopt: there is none.
  std::optional<ChildReport> receive() {
    char record[4096];
    ssize_t size = recv(own.get(), record, sizeof record, 0);
    return size < 0 ? std::nullopt : coordinator::decodeChildReport({record, static_cast<size_t>(size)});
  }

private:
  UniqueFd own, child;
};

/// The verdict on process 1, which a signal killed.
Verdict killed() { return {1, "node1", 4711, Verdict::Cause::Killed, SIGKILL, "", {}}; }

class Reporter : public testing::Test {
protected:
  RunInMemory memory;
  test::TemporaryFolder folder;
};

TEST_F(Reporter, WritesTheReportOfItsProcess) {
  memory.run.options.reportFile = folder / "r{process}.json";
  memory.run.options.job.process_id = 3;
  RunReporter reporter(memory.run);
  reporter.setProcess(3, 4);
  Verdict verdict = killed();
  reporter.describeEnd(Topology(), /*failed=*/true, verdict.str(), &verdict);
  EXPECT_TRUE(reporter.isEndDescribed());
  EXPECT_EQ(reporter.writeReport(1), 1);
  nlohmann::json report = readJson(folder / "r3.json");
  EXPECT_EQ(report["status"], "failed");
  EXPECT_EQ(report["root_cause"]["cause"], "killed");
  EXPECT_EQ(report["root_cause"]["process"], 1);
  EXPECT_EQ(report["processes"][0]["process"], 3);
  EXPECT_EQ(report["processes"][0]["state"], "stopped");
}

TEST_F(Reporter, AReportThatCannotBeWrittenFailsTheRun) {
  memory.run.options.reportFile = folder / "missing/r.json";
  RunReporter reporter(memory.run);
  EXPECT_EQ(reporter.writeReport(0), 1);
  EXPECT_EQ(reporter.writeReport(143), 143);
  EXPECT_THAT(memory.err.str(), HasSubstr("error: --report: "));
}

TEST_F(Reporter, WithoutAFileNothingIsWritten) {
  RunReporter reporter(memory.run);
  EXPECT_EQ(reporter.writeReport(0), 0);
  EXPECT_EQ(reporter.writeReport(2), 2);
  EXPECT_EQ(memory.err.str(), "");
}

TEST_F(Reporter, StepsAreThoseOfTheLoop) {
  memory.run.options.reportFile = folder / "r.json";
  memory.run.options.steps = 10;
  RunReporter reporter(memory.run);
  reporter.report.steps = 10;
  reporter.countStep(7);
  reporter.describeEnd(Topology(), /*failed=*/false, std::nullopt, nullptr);
  reporter.writeReport(0);
  EXPECT_EQ(readJson(folder / "r.json")["steps_done"], 7);
}

// A killed process has sent its progress some time before; all processes have reached a checkpoint that is saved.
TEST(RunReport, StepsAreAtLeastThoseOfTheNewestCheckpoint) {
  LaunchResult result;
  result.children = {{0, 11, SIGKILL, 0, false}, {1, 12, 0, 1, true}, {2, 13, 0, 1, true}};
  result.culprit = result.children[0];
  result.reports = {{.stepsDone = 40, .savedStep = 50}, {.stepsDone = 60}, {}};
  RunReport report("run");
  report.describe(result);
  nlohmann::json json = nlohmann::json::parse(report.json(1));
  EXPECT_EQ(json["steps_done"], 50);
  EXPECT_EQ(json["processes"][0]["steps_done"], 50);
  EXPECT_EQ(json["processes"][1]["steps_done"], 60);
  EXPECT_EQ(json["processes"][2]["steps_done"], 50);
}

TEST_F(Reporter, TheLauncherLearnsTheVerdictAndTheSteps) {
  LauncherEnd launcher(memory.run.environment);
  memory.run.options.steps = 10;
  RunReporter reporter(memory.run);
  reporter.countStep(4);
  reporter.showStep();
  reporter.countStep(5);
  reporter.showStep(); // Within the interval of the reports of progress.
  Verdict verdict = killed();
  reporter.describeEnd(Topology(), /*failed=*/true, verdict.str(), &verdict);
  EXPECT_EQ(launcher.receive(), (ChildReport{.stepsDone = 4}));
  EXPECT_EQ(launcher.receive(), (ChildReport{.verdict = verdict, .error = verdict.str(), .stepsDone = 5}));
  EXPECT_EQ(launcher.receive(), std::nullopt);
}

// The launcher has sent the signal, and knows of it.
TEST_F(Reporter, AnInterruptionIsNoVerdictForTheLauncher) {
  LauncherEnd launcher(memory.run.environment);
  RunReporter reporter(memory.run);
  Verdict verdict = killed();
  verdict.cause = Verdict::Cause::Interrupted;
  verdict.detail = SIGTERM;
  reporter.describeEnd(Topology(), /*failed=*/true, std::nullopt, &verdict);
  EXPECT_EQ(launcher.receive(), ChildReport());
}

TEST_F(Reporter, ProcessZeroAloneWritesMessagesOfTheJob) {
  LauncherEnd launcher(memory.run.environment);
  RunReporter reporter(memory.run);
  reporter.setProcess(1, 2);
  reporter.tellOnce({Notice::Level::Info, "saved"}, 20);
  EXPECT_EQ(memory.err.str(), "");
  EXPECT_EQ(launcher.receive(), (ChildReport{.savedStep = 20})); // Each process reports what is durable.
  reporter.setProcess(0, 1);
  reporter.tellOnce({Notice::Level::Warning, "old"}, -1);
  EXPECT_THAT(memory.err.str(), HasSubstr("warning: old\n"));
  EXPECT_EQ(launcher.receive(), std::nullopt);
}

TEST_F(Reporter, ADocumentThatCannotBeWrittenIsLost) {
  memory.run.options.profileFile = folder / "p.json";
  RunReporter reporter(memory.run);
  EXPECT_TRUE(reporter.profile.writeDocument("{\"ph\":\"M\"}\n\n"));
  EXPECT_FALSE(reporter.profile.isLost());
  EXPECT_EQ(readJson(folder / "p.json")["traceEvents"].size(), 1u);
  memory.run.options.profileFile = folder / "missing/p.json";
  EXPECT_FALSE(reporter.profile.writeDocument(""));
  EXPECT_TRUE(reporter.profile.isLost());
  EXPECT_THAT(memory.err.str(), HasSubstr("error: --profile: "));
}

} // namespace
