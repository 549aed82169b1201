//===- spmd-run.cpp - runs an artifact without a compiler -----------------===//
//
// spmd-run FILE.spmdx [options]: `spmdc run` for machines without an installation; it needs only this executable.
//
//===----------------------------------------------------------------------===//

#include "runtime/runner/ArtifactChoice.h"
#include "tools/common/CommandLine.h"
#include "tools/common/RunCommandLine.h"
#include "tools/common/StandardStreams.h"

#include <CLI/CLI.hpp>

#include <iostream>

int main(int argc, char **argv) {
  spmdc::prepareWriting();
  CLI::App app("Runs a program that `spmdc compile` wrote, on this machine or as one process of a cluster.",
               "spmd-run");
  app.set_version_flag("--version", "spmd-run " SPMDC_VERSION " (backends: cpu, cuda)");
  std::string path;
  app.add_option("FILE", path, "The artifact (.spmdx)")->required()->type_name("");
  spmd::RunOptions options;
  spmdc::addRunOptions(app, options);
  try {
    spmdc::parseCommandLine(app, argc, argv);
  } catch (const CLI::Error &error) {
    return spmdc::usageStatus(app, error, spmdc::logFormatOf(argc, argv));
  }

  spmd::RunRequest request{.command = "spmd-run",
                           .load = [&](std::ostream &) { return spmd::loadArtifact(path, options, "spmd-run"); },
                           .columns = {},
                           .childCommand =
                               [](const spmd::RunOptions &run, const std::string &artifact) {
                                 std::vector<std::string> command = {spmdc::ownExecutable(), artifact};
                                 for (std::string &argument : spmdc::runArguments(run))
                                   command.push_back(std::move(argument));
                                 return command;
                               },
                           .out = std::cout,
                           .err = std::cerr};
  return spmd::runProgram(options, request);
}
