//===- FuzzMain.cpp - spmd-fuzz: many random programs ---------------------===//
//
// spmd-fuzz --seed 1 --count 50000: programs of the seeds 1 to 50000 through every station; each failure is cut to its
// shortest prefix and printed with its seed. Exit status 1 if there was one.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Differential.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace spmdc;

/// Runs the check in a process of its own, so that a crash is a failure like any other.
static std::string runApart(const std::function<std::string()> &check) {
  int ends[2];
  if (pipe(ends) != 0)
    return "cannot make a pipe";
  std::fflush(stdout);
  pid_t child = fork();
  if (child < 0)
    return "cannot start a process";
  if (child == 0) {
    close(ends[0]);
    std::string failure = check();
    for (size_t done = 0; done < failure.size();) {
      ssize_t written = write(ends[1], failure.data() + done, failure.size() - done);
      if (written <= 0)
        break;
      done += static_cast<size_t>(written);
    }
    _exit(failure.empty() ? 0 : 1);
  }
  close(ends[1]);
  std::string failure;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    failure.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    failure += "the compiler was ended by signal " + std::to_string(WTERMSIG(status));
  return failure;
}

int main(int argc, char **argv) {
  CLI::App app("Random programs through every station of the compiler");
  uint64_t seed = 1, count = 1000;
  int maxOps = 10, maxFailures = 5;
  std::string mode = "both", last = "plan";
  bool compiled = false, isShortened = true;
  app.add_option("--seed", seed, "The first seed")->capture_default_str();
  app.add_option("--count", count, "How many seeds")->capture_default_str();
  app.add_option("--max-ops", maxOps, "Operations in a program")->capture_default_str();
  app.add_option("--max-failures", maxFailures, "Stop after so many")->capture_default_str();
  app.add_option("--mode", mode, "Which values are sharded")
      ->check(CLI::IsMember({"both", "annotations", "everything"}))
      ->capture_default_str();
  app.add_option("--last-stage", last, "The last station to evaluate")
      ->check(CLI::IsMember({"propagated", "partitioned", "kernels", "plan"}))
      ->capture_default_str();
  app.add_flag("--compiled", compiled, "Also compile and execute, on all devices in this process");
  app.add_flag("!--no-shorten", isShortened, "Print failing programs as they are");
  CLI11_PARSE(app, argc, argv);

  DifferentialOptions options;
  options.lastStage = *parseStage(last);
  options.compiled = compiled;
  int failures = 0;
  for (uint64_t i = 0; i < count && failures < maxFailures; ++i) {
    GeneratorOptions generator;
    generator.seed = seed + i;
    generator.maxOps = maxOps;
    bool isEverything = mode == "everything" || (mode == "both" && generator.seed % 2 == 0);
    generator.mode = isEverything ? ShardingMode::Everything : ShardingMode::Annotations;
    std::string failure = runApart([&] { return checkSeed(generator, options); });
    if (failure.empty())
      continue;
    ++failures;
    int fullLength = generator.maxOps;
    for (generator.maxOps = 1; isShortened && generator.maxOps < fullLength; ++generator.maxOps)
      if (std::string shorter = runApart([&] { return checkSeed(generator, options); }); !shorter.empty()) {
        failure = shorter;
        break;
      }
    if (failure.rfind("seed ", 0) != 0)
      failure = "seed " + std::to_string(generator.seed) + ", " + std::to_string(generator.maxOps) +
                " operations: " + failure + "\n" + describeSeed(generator);
    std::printf("FAILED %s\n\n", failure.c_str());
    std::fflush(stdout);
  }
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
