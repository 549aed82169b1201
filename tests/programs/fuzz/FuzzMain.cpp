//===- FuzzMain.cpp - spmd-fuzz: many random programs ---------------------===//
//
// spmd-fuzz --seed 1 --count 50000: programs of the seeds 1 to 50000 through every station; each failure is cut to its
// shortest prefix and printed with its seed. Exit status 1 if there was one.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Differential.h"

#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace spmdc;

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
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
    llvm::PrettyStackTraceFormat crashed("seed %llu, mode %s", static_cast<unsigned long long>(generator.seed),
                                         isEverything ? "everything" : "annotations");
    std::string failure = checkSeed(generator, options);
    if (failure.empty())
      continue;
    ++failures;
    if (isShortened)
      failure = reduceSeed(generator, options);
    std::printf("FAILED %s\n\n", failure.c_str());
    std::fflush(stdout);
  }
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
