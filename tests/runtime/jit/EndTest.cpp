// Calls that are still running at the end of a process.
#include "compiler/Compiler.h"
#include "runtime/api/FunctionImpl.h"
#include "runtime/api/Runtime.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace spmd;
using testing::HasSubstr;
using testing_api::messageOf;

namespace {

const std::vector<float> kOnes(8, 1);

/// A program that prints, with a callback for its prints.
std::unique_ptr<Program> printing(const std::shared_ptr<Job> &job, PrintFunction print) {
  spmdc::CompileOptions options;
  spmdc::Compiler compiler("print.spmd", "mesh m(i=8)\nfn main(x: f32[8@i]) { print(\"sum\", sum(x)); }",
                           std::move(options));
  auto artifact = std::make_shared<const Artifact>(std::move(*compiler.compile()));
  ProgramOptions programOptions;
  programOptions.print = std::move(print);
  return std::make_unique<Program>(job, artifact, make_mesh({8}, {"i"}), std::move(programOptions));
}

TEST(JitEnd, a_call_without_results_is_waited_for_by_shutdown) {
  initialize({.num_processes = 1, .devices_per_process = 8});
  std::atomic<bool> isPrinted{false};
  auto program = printing(currentJob(std::source_location::current()), [&](const auto &, const auto &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    isPrinted = true;
  });
  EXPECT_TRUE(program->call({device_put(view(kOnes), NamedSharding(make_mesh({8}, {"i"}), P("i")))}).empty());
  shutdown();
  EXPECT_TRUE(isPrinted);
}

TEST(JitEnd, the_error_of_a_call_that_nobody_waits_for_is_that_of_shutdown) {
  initialize({.num_processes = 1, .devices_per_process = 8});
  auto program = printing(currentJob(std::source_location::current()),
                          [](const auto &, const auto &) { throw Error("the paper is out"); });
  program->call({device_put(view(kOnes), NamedSharding(make_mesh({8}, {"i"}), P("i")))});
  EXPECT_THAT(messageOf([] { shutdown(); }), HasSubstr("the paper is out"));
}

} // namespace
