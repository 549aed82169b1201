//===- FuzzMain.cpp - spmd-fuzz: many random programs ---------------------===//
//
// Programs of the seeds N, N+1, ... through every station of the compiler; each failure is made smaller and printed
// with the commands that repeat it. Exit status 1 if there was one.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Error.h"
#include "tests/programs/support/Apart.h"
#include "tests/programs/support/Differential.h"
#include "tests/programs/support/ExportCase.h"
#include "tests/programs/support/Reduce.h"
#include "tests/programs/support/SaveCase.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace spmdc;

namespace {

constexpr const char *kDescription =
    R"(Makes random programs in the language, compiles and runs them, and compares every station of the
compiler with what the program means (the global evaluator):

  text -> array -> propagated -> partitioned -> kernels -> plan -> machine code -> processes

A seed is one program: its mesh, its text, its data. A failing program is cut down to a small one that
fails in the same way, and printed with the commands that repeat it. Exit status 1 if one failed.

Programs are checked as text (shardings are propagated, as for a person's program), and with everything
sharded: a random sharding on every value of its IR, and operations that the language has no name for.
)";

constexpr const char *kExamples = R"(
Examples:
  spmd-fuzz --count 2000                     seeds 1 to 2000, evaluated at every station
  spmd-fuzz --compiled --count 50000         also to machine code, run on threads of this process
  spmd-fuzz --processes --count 5000         also in jobs of 1 to 8 processes: the same bits on each
  spmd-fuzz --seed 4711 --count 1 --print    what the program of a seed looks like
  spmd-fuzz --seed 4711 --count 1 --compiled --save bug
                                             if it fails: bug/seed-4711 holds program and data for spmdc run
  spmd-fuzz --mode text --export p.jsonl     for tests/programs/fuzz/check_with_jax.py)";

struct FuzzOptions {
  uint64_t seed = 1, count = 1000;
  int maxOperations = 10, maxFailures = 5;
  int64_t maxDevices = 16;
  std::string mode = "both", last = "plan", save, exportFile;
  bool compiled = false, processes = false, isReduced = true, prints = false;
  int optimization = -1; ///< -1: by seed.
  int timeoutSeconds = 60;
};

class Fuzzer {
public:
  explicit Fuzzer(const FuzzOptions &options)
      : options(options), exported(options.exportFile),
        jobs(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "program-worker") {}

  int run() {
    auto began = std::chrono::steady_clock::now();
    uint64_t i = 0;
    for (; i < options.count && failures < options.maxFailures; ++i) {
      runSeed(options.seed + i);
      if (isatty(STDERR_FILENO) && i % 100 == 99)
        std::fprintf(stderr, "\r%llu of %llu", static_cast<unsigned long long>(i + 1),
                     static_cast<unsigned long long>(options.count));
    }
    if (isatty(STDERR_FILENO))
      std::fprintf(stderr, "\r\033[K");
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    std::printf("%llu programs of the seeds %llu to %llu in %.0f s: %d failures\n", static_cast<unsigned long long>(i),
                static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(options.seed + i - 1),
                elapsed.count(), failures);
    return failures ? 1 : 0;
  }

private:
  Mode modeOf(uint64_t seed) const {
    bool isEverything = options.mode == "everything" || (options.mode == "both" && seed % 3 == 0);
    return isEverything ? Mode::Everything : Mode::Text;
  }

  CheckOptions checkOptions(uint64_t seed) {
    CheckOptions check;
    check.lastStage = *parseStage(options.last);
    check.compiled = options.compiled;
    check.optimizationLevel =
        options.optimization >= 0 ? static_cast<unsigned>(options.optimization) : static_cast<unsigned>(seed % 4);
    check.processes = options.processes ? &jobs : nullptr;
    return check;
  }

  void runSeed(uint64_t seed) {
    GeneratorOptions generator;
    generator.seed = seed;
    generator.maxOperations = options.maxOperations;
    generator.maxDevices = options.maxDevices;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    Case test = generateCase(context, generator, modeOf(seed));
    if (options.prints)
      std::printf("// seed %llu\n%s\n", static_cast<unsigned long long>(seed), test.program.str().c_str());
    if (exported.is_open()) {
      exported << exportCase(test);
      return;
    }
    CaseCheck check = [&](const Case &candidate) {
      if (options.processes)
        jobs.prepare(candidate.program.mesh.deviceCount());
      std::string failure = runApart([&] { return checkCase(candidate, checkOptions(seed)); }, options.timeoutSeconds);
      // A check that ended before its time may have left its jobs in the middle of a program.
      if (!failure.empty())
        jobs.reset();
      return failure;
    };
    std::string failure = check(test);
    if (failure.empty())
      return;
    ++failures;
    int tries = 0;
    if (options.isReduced) {
      ReducedCase reduced = reduceCase(generator, test, failure, check);
      test = std::move(reduced.test);
      failure = std::move(reduced.failure);
      tries = reduced.tries;
    }
    report(seed, test, failure, tries);
  }

  void report(uint64_t seed, const Case &test, const std::string &failure, int tries) {
    std::string number = std::to_string(seed);
    std::printf("FAILED seed %s: %s\n\n// the program%s\n%s\n", number.c_str(), failure.c_str(),
                tries ? (", made smaller in " + std::to_string(tries) + " tries").c_str() : "",
                test.program.str().c_str());
    if (test.mode == Mode::Everything)
      std::printf("// every value of it is sharded at random: its IR is above, and in the files of --save\n");
    std::string again = "spmd-fuzz --seed " + number + " --count 1 --mode " +
                        (modeOf(seed) == Mode::Everything ? "everything" : "text") + " --max-ops " +
                        std::to_string(options.maxOperations) + " --max-devices " + std::to_string(options.maxDevices) +
                        (options.processes  ? " --processes"
                         : options.compiled ? " --compiled"
                                            : "");
    if (options.optimization >= 0)
      again += " -O" + std::to_string(options.optimization);
    if (options.save.empty()) {
      again += " --save DIR";
    } else {
      try {
        std::string command = saveCase(test, options.save + "/seed-" + number);
        std::printf("run it:      %s\n", command.c_str());
      } catch (const spmd::Error &error) {
        std::printf("not saved: %s\n", error.what());
      }
    }
    std::printf("from anew:   %s\n\n", again.c_str());
    std::fflush(stdout);
  }

  FuzzOptions options;
  std::ofstream exported;
  ProcessJobs jobs;
  int failures = 0;
};

} // namespace

int main(int argc, char **argv) {
  CLI::App app(kDescription, "spmd-fuzz");
  app.footer(kExamples);
  FuzzOptions options;
  app.get_formatter()->column_width(28);
  auto number = [](CLI::Option *option, const char *group) {
    option->type_name("N")->capture_default_str()->group(group);
  };
  const char *programs = "Programs", *checks = "Checks", *failures = "Failures";
  number(app.add_option("--seed", options.seed, "The first seed"), programs);
  number(app.add_option("--count", options.count, "How many seeds"), programs);
  number(app.add_option("--max-ops", options.maxOperations, "Operations in a program"), programs);
  number(app.add_option("--max-devices", options.maxDevices, "Devices in a mesh, 1 to 64")->check(CLI::Range(1, 64)),
         programs);
  app.add_option("--mode", options.mode, "text, everything (sharded), or both: every third seed of the second kind")
      ->check(CLI::IsMember({"both", "text", "everything"}))
      ->type_name("MODE")
      ->capture_default_str()
      ->group(programs);
  app.add_flag("--print", options.prints, "Print each program")->group(programs);
  app.add_option("--export", options.exportFile, "Only write programs and their results to this file")
      ->type_name("FILE")
      ->group(programs);
  app.add_option("--last-stage", options.last, "The last station to evaluate: propagated, partitioned, kernels, plan")
      ->check(CLI::IsMember({"propagated", "partitioned", "kernels", "plan"}))
      ->type_name("STAGE")
      ->capture_default_str()
      ->group(checks);
  app.add_flag("--compiled", options.compiled, "Also compile, and run on all devices in this process")->group(checks);
  app.add_flag("--processes", options.processes, "Also compile, and run in jobs of 1x8, 2x4, 4x2, 8x1, ... processes")
      ->group(checks);
  app.add_option("-O", options.optimization, "Level of compiled programs, 0 to 3; by default the seed modulo 4")
      ->check(CLI::Range(0, 3))
      ->type_name("N")
      ->group(checks);
  number(app.add_option("--timeout", options.timeoutSeconds, "Seconds that one program may take"), checks);
  number(app.add_option("--max-failures", options.maxFailures, "Stop after so many"), failures);
  app.add_option("--save", options.save, "Write failing programs and their data into this folder")
      ->type_name("DIR")
      ->group(failures);
  app.add_flag("!--no-reduce", options.isReduced, "Print failing programs as they are")->group(failures);
  CLI11_PARSE(app, argc, argv);
  try {
    return Fuzzer(options).run();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "spmd-fuzz: error: %s\n", error.what());
    return 1;
  }
}
