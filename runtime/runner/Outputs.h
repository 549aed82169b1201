//===- Outputs.h - the results of `run` -------------------------*- C++ -*-===//
//
// `--output NAME=FILE`: .npy for an array, .npz or .safetensors for a struct (or an array, under its name); `--print`
// and `--print-shards`. Full values are gathered on process 0, which alone writes and prints them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <ostream>
#include <string>
#include <vector>

namespace spmd {

/// Checks names and forms; throws usage errors.
void checkOutputs(const Plan &plan, const std::vector<std::string> &specs);

/// Checks, on the process that writes, that the folders of the outputs can be written to. Called before anything is
/// computed. Throws Error.
void checkOutputFolders(const Plan &plan, const std::vector<std::string> &specs);

/// Returns the indices of the results that `--output` or (`all`) printing needs.
std::vector<size_t> wantedResults(const Plan &plan, const std::vector<std::string> &specs, bool all);

/// Gathers the wanted results; process 0 writes files and prints. Every process calls it.
void writeResults(const std::shared_ptr<Job> &job, const Plan &plan, const std::vector<Array> &results,
                  const std::vector<std::string> &specs, bool print, std::ostream &out);

/// Writes to standard output and flushes. Throws Error if that fails.
void writeText(std::ostream &out, const std::string &text);

/// Prints what each device holds, process after process.
void printShards(const std::shared_ptr<Job> &job, const Plan &plan, const std::vector<Array> &results,
                 std::ostream &out);

} // namespace spmd
