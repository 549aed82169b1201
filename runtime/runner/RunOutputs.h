//===- RunOutputs.h - the results of `run` ----------------------*- C++ -*-===//
//
// `--output NAME=FILE`: .npy for an array, .npz or .safetensors for a struct (or an array, under its name); `--print`
// and `--print-shards`. Whole values are gathered to process 0, which alone writes and prints them.
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

/// Before anything is computed, on the process that writes: whether there are folders that can be written to. Throws
/// Error.
void checkOutputFolders(const Plan &plan, const std::vector<std::string> &specs);

/// The results that `--output` or (`all`) printing asks for.
std::vector<size_t> wantedResults(const Plan &plan, const std::vector<std::string> &specs, bool all);

/// Gathers what is asked for and lets process 0 write files and print. Every process calls it.
void writeResults(const std::shared_ptr<Job> &job, const Plan &plan, const std::vector<Array> &results,
                  const std::vector<std::string> &specs, bool print, std::ostream &out);

/// To standard output, at once. Throws Error where it cannot be written.
void writeText(std::ostream &out, const std::string &text);

/// What each device holds, process after process.
void printShards(const std::shared_ptr<Job> &job, const std::vector<Array> &results, std::ostream &out);

} // namespace spmd
