//===- RunBatches.h - inputs that are fed in batches ------------*- C++ -*-===//
#pragma once

#include "runtime/api/BatchReader.h"
#include "runtime/runner/OptionChecks.h"

#include <memory>

namespace spmd {

/// The parameters that are fed in batches (`--input NAME=batches:FILE`). Without such parameters it does nothing.
class RunBatches {
public:
  /// Opens the files. Called when the job is joined, so that all processes learn of an error in a file. Throws as
  /// BatchReader does.
  RunBatches(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh, const CheckedRun &checked,
             const RunOptions &options);

  /// Returns the number of rows of each file; -1: there is no file.
  int64_t rowCount() const { return reader ? reader->getOrder().rowCount() : -1; }
  /// Sets the parameters to the batch of a step (from 1).
  void feed(int64_t step, std::vector<Array> &inputs);
  /// Compares the batches with those of other processes; called before results computed from them are saved.
  void compare();

private:
  std::vector<size_t> parameters; ///< In the order of the reader's files.
  std::unique_ptr<BatchReader> reader;
};

} // namespace spmd
