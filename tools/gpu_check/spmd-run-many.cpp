//===- spmd-run-many.cpp - runs many artifacts in one process -------------===//
//
// spmd-run-many < JOBS: a JSON array of {"program": FILE, "inputs": ["NAME=SPEC"], "outputs": ["NAME=FILE"]}. Programs
// for the same number of devices run one after the other on the devices of one job, all of them in this process.
// Prints `begin I` before program I of the array, and `ok I` or `error I MESSAGE` after it. Ends at the first error,
// because some errors leave a GPU unusable.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/FunctionImpl.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/runner/Inputs.h"
#include "runtime/runner/Outputs.h"
#include "runtime/support/Env.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <map>

using namespace spmd;

namespace {

struct Work {
  size_t number = 0;
  std::shared_ptr<const Artifact> artifact;
  std::vector<std::string> inputs, outputs;
};

void join(const std::string &backend, int devices) {
  InitializeOptions options;
  options.num_processes = 1;
  options.devices_per_process = devices;
  options.platform = backend;
  initializeRuntime(resolveJoinOptions(options, Environment::read(/*isAlone=*/true), devices),
                    std::source_location::current());
}

void run(const Work &work) {
  std::shared_ptr<Job> job = currentJob(std::source_location::current());
  const Plan &plan = work.artifact->plan;
  Mesh mesh = meshForProgram(plan.mesh, std::nullopt, std::source_location::current());
  std::vector<Array> inputs = makeInputs(job, plan, mesh, work.inputs, [](const std::string &) {});
  Program program(job, work.artifact, mesh);
  std::vector<Array> results = program.call(inputs);
  for (const Array &result : results)
    result.block_until_ready();
  job->finishLaunches();
  writeResults(job, plan, results, work.outputs, /*print=*/false, std::cerr);
}

} // namespace

int main() {
  std::map<std::pair<std::string, int64_t>, std::vector<Work>> groups;
  size_t number = 0;
  try {
    const nlohmann::json entries = nlohmann::json::parse(std::cin);
    for (; number < entries.size(); ++number) {
      const nlohmann::json &entry = entries[number];
      Work work{number, std::make_shared<const Artifact>(readArtifact(entry["program"])),
                entry["inputs"].get<std::vector<std::string>>(), entry["outputs"].get<std::vector<std::string>>()};
      const Plan &plan = work.artifact->plan;
      groups[{plan.target.backend, plan.mesh.deviceCount()}].push_back(std::move(work));
    }
    for (const auto &[kind, works] : groups) {
      join(kind.first, static_cast<int>(kind.second));
      for (const Work &work : works) {
        number = work.number;
        std::cout << "begin " << number << std::endl;
        run(work);
        std::cout << "ok " << number << std::endl;
      }
      shutdown();
    }
  } catch (const std::exception &error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::cout << "error " << number << " " << text << std::endl;
    return 1;
  }
  return 0;
}
