//===- ReplicatedInputs.h - is what several processes read the same? -*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <string>
#include <vector>

namespace spmd {

/// One parameter's values, and where they were read from; empty: they were not read.
struct ReadInput {
  const Array *array = nullptr;
  std::string origin; ///< `w=FILE.npy`, for messages.
};

/// Compares what files have given with what other processes of the mesh have read for the same place: by a hash of each
/// part that devices of several processes hold, the whole of up to 64 MiB, of larger ones 64 MiB in blocks spread
/// evenly. One round through the job's store, in which each process waits for those it shares parts with; no more than
/// that where nothing is shared. `batchRows`: the rows of the files that are fed in batches, or -1. Throws spmd::Error
/// naming the input and the two processes.
void checkReplicatedInputs(Job &job, const Mesh &mesh, const std::vector<ReadInput> &inputs, int64_t batchRows);

} // namespace spmd
