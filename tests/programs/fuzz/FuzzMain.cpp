//===- FuzzMain.cpp - spmd-fuzz: many random programs ---------------------===//
//
// Programs of the seeds N, N+1, ... go through every stage of the compiler; each failure is reduced and printed with
// the commands that repeat it. Exit status 1 if there was one.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Error.h"
#include "tests/programs/support/Differential.h"
#include "tests/programs/support/ExportCase.h"
#include "tests/programs/support/OwnProcess.h"
#include "tests/programs/support/Reduce.h"
#include "tests/programs/support/SaveCase.h"
#include "tools/common/CommandLine.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace spmdc;

namespace {

constexpr const char *kDescription =
    R"(Generates random programs in the language, compiles and runs them, and compares every stage of the
compiler with the results of the global evaluator:

  text -> array -> propagated -> partitioned -> kernels -> plan -> machine code -> processes

A seed is one program: its mesh, its text, its data. A failing program is reduced to a small one that
fails in the same way, and printed with the commands that repeat it. Exit status 1 if one failed.

Programs are checked as text (shardings are propagated, as in a user's program), and with everything
sharded: a random sharding on every value of its IR, and operations that the language has no name for.
)";

constexpr const char *kExamples = R"(
Examples:
  spmd-fuzz --count 2000                     seeds 1 to 2000, evaluated at every stage
  spmd-fuzz --compiled --count 50000         also to machine code, run on threads of this process
  spmd-fuzz --processes --count 5000         also in jobs of 1 to 8 processes, which must give the same bits
  spmd-fuzz --gpus --count 500               the same for GPUs, which are emulated
  spmd-fuzz --seed 4711 --count 1 --print    prints the program of a seed
  spmd-fuzz --seed 4711 --count 1 --compiled --save bug
                                             if it fails: bug/seed-4711 has program and data for spmdc run
  spmd-fuzz --mode text --export p.jsonl     for tests/programs/fuzz/check_with_jax.py)";

struct FuzzOptions {
  uint64_t seed = 1, count = 1000;
  int maxOperations = 10, maxFailures = 5;
  int64_t maxDevices = 16;
  std::string mode = "both", last = "plan", save, exportFile, exportAllFile, costModelFile;
  CostModel costModel;
  bool compiled = false, processes = false, gpus = false, isReduced = true, prints = false;
  int optimization = -1; ///< -1: depends on the seed.
  int timeoutSeconds = 60, jobs = 1;
};

/// The number of programs that share a process, so that the costs of starting it and of loading code are paid once; if
/// the process fails, each program runs again in one of its own.
constexpr uint64_t kBatch = 16;

struct Tally {
  uint64_t programs = 0;
  int64_t failures = 0;
};

class Fuzzer {
public:
  explicit Fuzzer(const FuzzOptions &options)
      : options(options), exported(options.exportFile), exportedAll(options.exportAllFile),
        jobs(findBinaries() / "program-worker"),
        gpuJobs(findBinaries() / "program-worker", findBinaries().parent_path() / "tests/libcuda") {}

  Tally run(uint64_t first, uint64_t count) {
    Tally tally;
    while (tally.programs < count && failures < options.maxFailures) {
      uint64_t batch = std::min(kBatch, count - tally.programs);
      runBatch(first + tally.programs, batch);
      tally.programs += batch;
      if (isatty(STDERR_FILENO) && options.jobs == 1)
        std::fprintf(stderr, "\r%llu of %llu", static_cast<unsigned long long>(tally.programs),
                     static_cast<unsigned long long>(count));
    }
    if (isatty(STDERR_FILENO) && options.jobs == 1)
      std::fprintf(stderr, "\r\033[K");
    tally.failures = failures;
    return tally;
  }

private:
  static std::filesystem::path findBinaries() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }
  bool isExporting() const { return exported.is_open() || exportedAll.is_open(); }

  Mode modeOf(uint64_t seed) const {
    bool isEverything = options.mode == "everything" || (options.mode == "both" && seed % 3 == 0);
    return isEverything ? Mode::Everything : Mode::Text;
  }

  CheckOptions checkOptions(uint64_t seed) {
    CheckOptions check;
    check.lastStage = *parseStage(options.last);
    check.compiled = options.compiled;
    check.costModel = options.costModel;
    // Half at -O0, whose code takes LLVM a third of the time; most others at the levels that users choose.
    constexpr unsigned levels[] = {0, 2, 0, 1, 0, 2, 0, 3};
    check.optimizationLevel =
        options.optimization >= 0 ? static_cast<unsigned>(options.optimization) : levels[seed % std::size(levels)];
    check.processes = options.processes ? &jobs : nullptr;
    check.gpuProcesses = options.gpus ? &gpuJobs : nullptr;
    return check;
  }

  GeneratorOptions generatorOptions(uint64_t seed) const {
    GeneratorOptions generator;
    generator.seed = seed;
    generator.maxOperations = options.maxOperations;
    generator.maxDevices = options.maxDevices;
    return generator;
  }

  /// Runs seeds from `first` on, all in one process if they pass there, and otherwise each in its own.
  void runBatch(uint64_t first, uint64_t count) {
    std::string together;
    if (!options.prints && !options.processes && !options.gpus && !isExporting()) {
      auto check = [&]() -> std::string {
        for (uint64_t seed = first; seed < first + count; ++seed) {
          mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
          loadDialects(context);
          std::string failure =
              checkCase(generateCase(context, generatorOptions(seed), modeOf(seed)), checkOptions(seed));
          if (!failure.empty())
            return "seed " + std::to_string(seed) + ": " + failure;
        }
        return {};
      };
      together = runInOwnProcess(check, options.timeoutSeconds);
      if (together.empty())
        return;
    }
    int before = failures;
    for (uint64_t seed = first; seed < first + count && failures < options.maxFailures; ++seed)
      runSeed(seed);
    if (together.empty() || failures > before || together.rfind("hang", 0) == 0)
      return;
    ++failures;
    std::printf("FAILED the seeds %llu to %llu in one process, though each passes in its own: %s\n",
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + count - 1),
                together.c_str());
  }

  void runSeed(uint64_t seed) {
    GeneratorOptions generator = generatorOptions(seed);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    Case test = generateCase(context, generator, modeOf(seed));
    if (options.prints)
      std::printf("// seed %llu\n%s\n", static_cast<unsigned long long>(seed), test.program.str().c_str());
    if (isExporting()) {
      if (exported.is_open())
        exported << exportCase(test, ExportFor::Jax);
      if (exportedAll.is_open())
        exportedAll << exportCase(test, ExportFor::Running);
      return;
    }
    CaseCheck check = [&](const Case &candidate) {
      if (options.processes)
        jobs.prepare(candidate.program.mesh.deviceCount());
      if (options.gpus)
        gpuJobs.prepare(candidate.program.mesh.deviceCount());
      std::string failure =
          runInOwnProcess([&] { return checkCase(candidate, checkOptions(seed)); }, options.timeoutSeconds);
      // A check that ended early may have left its jobs in the middle of a program.
      if (!failure.empty()) {
        jobs.reset();
        gpuJobs.reset();
      }
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
                tries ? (", reduced in " + std::to_string(tries) + " tries").c_str() : "", test.program.str().c_str());
    if (test.mode == Mode::Everything)
      std::printf("// every value of it is sharded at random: its IR is above, and in the files of --save\n");
    std::string again = "spmd-fuzz --seed " + number + " --count 1 --mode " +
                        (modeOf(seed) == Mode::Everything ? "everything" : "text") + " --max-ops " +
                        std::to_string(options.maxOperations) + " --max-devices " + std::to_string(options.maxDevices) +
                        (options.processes  ? " --processes"
                         : options.compiled ? " --compiled"
                                            : "") +
                        (options.gpus ? " --gpus" : "");
    if (!options.costModelFile.empty())
      again += " --cost-model " + options.costModelFile;
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
    std::printf("repeat:      %s\n\n", again.c_str());
    std::fflush(stdout);
  }

  FuzzOptions options;
  std::ofstream exported, exportedAll;
  ProcessJobs jobs, gpuJobs;
  int failures = 0;
};

/// Runs a part of the seeds in each of several processes; returns the sum of their results.
Tally runInJobs(const FuzzOptions &options) {
  std::vector<std::pair<pid_t, int>> children;
  std::fflush(stdout);
  for (int job = 0; job < options.jobs; ++job) {
    uint64_t begin = options.count * job / options.jobs, end = options.count * (job + 1) / options.jobs;
    int ends[2];
    if (pipe(ends) != 0)
      throw spmd::Error("cannot create a pipe");
    pid_t child = fork();
    if (child < 0)
      throw spmd::Error("cannot start a process");
    if (child == 0) {
      close(ends[0]);
      Tally tally = Fuzzer(options).run(options.seed + begin, end - begin);
      std::fflush(stdout);
      _exit(write(ends[1], &tally, sizeof tally) == sizeof tally ? 0 : 1);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  Tally all;
  for (auto [child, end] : children) {
    Tally tally;
    if (read(end, &tally, sizeof tally) != sizeof tally)
      throw spmd::Error("process " + std::to_string(child) + " ended before its programs did");
    close(end);
    waitpid(child, nullptr, 0);
    all.programs += tally.programs;
    all.failures += tally.failures;
  }
  return all;
}

CostModel readCostModel(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {}), error;
  if (!in)
    throw spmd::Error("cannot read '" + file + "'");
  std::optional<CostModel> model = CostModel::parse(text, file, error);
  if (!model)
    throw spmd::Error(error);
  return *model;
}

int run(const FuzzOptions &options) {
  auto began = std::chrono::steady_clock::now();
  Tally tally = options.jobs > 1 ? runInJobs(options) : Fuzzer(options).run(options.seed, options.count);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  std::printf("%llu programs of the seeds %llu to %llu in %.0f s: %lld failures\n",
              static_cast<unsigned long long>(tally.programs), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.seed + (options.jobs > 1 ? options.count : tally.programs) - 1),
              elapsed.count(), static_cast<long long>(tally.failures));
  return tally.failures ? 1 : 0;
}

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
  number(app.add_option("--count", options.count, "The number of seeds"), programs);
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
  app.add_option("--export-all", options.exportAllFile,
                 "The same without Python, for all programs (tools/gpu-check runs them)")
      ->type_name("FILE")
      ->group(programs);
  app.add_option("--last-stage", options.last, "The last stage to evaluate: propagated, partitioned, kernels, plan")
      ->check(CLI::IsMember({"propagated", "partitioned", "kernels", "plan"}))
      ->type_name("STAGE")
      ->capture_default_str()
      ->group(checks);
  app.add_flag("--compiled", options.compiled, "Also compile, and run on all devices in this process")->group(checks);
  app.add_flag("--processes", options.processes, "Also compile, and run in jobs of 1 to 8 processes, on 1 to 3 hosts")
      ->group(checks);
  app.add_flag("--gpus", options.gpus, "Also compile for GPUs, and run in such jobs on emulated ones")->group(checks);
  app.add_option("-O", options.optimization,
                 "Level of compiled programs, 0 to 3; by default each second at 0, the others at 1, 2, 2, 3")
      ->check(CLI::Range(0, 3))
      ->type_name("N")
      ->group(checks);
  app.add_option("--cost-model", options.costModelFile, "The cost model of the partitioner (docs/explain.md)")
      ->type_name("FILE")
      ->group(checks);
  app.add_option("--jobs,-j", options.jobs, "Processes that share the programs")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str()
      ->group(checks);
  number(app.add_option("--timeout", options.timeoutSeconds, "Seconds that one program may take"), checks);
  number(app.add_option("--max-failures", options.maxFailures, "Stop after so many"), failures);
  app.add_option("--save", options.save, "Write failing programs and their data into this folder")
      ->type_name("DIR")
      ->group(failures);
  app.add_flag("!--no-reduce", options.isReduced, "Print failing programs as they are")->group(failures);
  try {
    spmdc::parseCommandLine(app, argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (!options.costModelFile.empty())
      options.costModel = readCostModel(options.costModelFile);
    return run(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "spmd-fuzz: error: %s\n", error.what());
    return 1;
  }
}
