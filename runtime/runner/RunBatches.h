//===- RunBatches.h - the inputs of a run that change at each step -*- C++ -*-===//
#pragma once

#include "runtime/api/BatchReader.h"
#include "runtime/runner/RunChecks.h"

#include <memory>

namespace spmd {

/// The parameters that are fed in batches (`--input NAME=batches:FILE`); of none, nothing is done.
class RunBatches {
public:
  /// Opens the files. When the job is joined: what is wrong with a file is told to all. Throws as BatchReader does.
  RunBatches(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh, const CheckedRun &checked,
             const RunOptions &options);

  /// Of each file; -1: there is none.
  int64_t rowCount() const { return reader ? reader->getOrder().rowCount() : -1; }
  /// Puts the batch of a step (from 1) in the parameters' places.
  void feed(int64_t step, std::vector<Array> &inputs);
  /// With what other processes have read; before what was made of it is kept.
  void compare();

private:
  std::vector<size_t> parameters; ///< In the order of the reader's files.
  std::unique_ptr<BatchReader> reader;
};

} // namespace spmd
