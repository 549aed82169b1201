//===- ReplicatedInputs.h - is what several processes read the same? -*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

/// One parameter's values, and where they were read from; empty: they were not read.
struct ReadInput {
  const Array *array = nullptr;
  std::string origin; ///< `w=FILE.npy`, for messages.
};

/// Compares what files have given with what other processes of the mesh have read for the same place: by a hash of each
/// part that devices of several processes hold. One round through the job's store, in which each process waits for
/// those it shares parts with; no more than that where nothing is shared. `batchRows`: the rows of the files that are
/// fed in batches, or -1. Throws spmd::Error naming the input and the two processes.
void checkReplicatedInputs(Job &job, const Mesh &mesh, const std::vector<ReadInput> &inputs, int64_t batchRows);

/// What is fed in batches, of one file.
struct BatchLayout {
  std::string name; ///< For messages.
  NamedSharding sharding;
  std::vector<int64_t> shape; ///< Of a batch.
};

/// Running hashes of the parts of batches that devices of several processes hold. Every byte of these counts, and none
/// is read for this alone: a file may be too large to be read at the start. The processes compare them after the first
/// batch, after twice as many each time, and after every 1024. Batches of which no part is shared cost nothing.
class BatchDigests {
public:
  using Place = std::pair<size_t, size_t>; ///< The file, and the first position of the mesh that holds the part.
  using Digests = std::map<Place, std::string>;

  BatchDigests(Job &job, const std::vector<BatchLayout> &layouts);

  /// Of one batch, in the order of the layouts. Thread-safe.
  Digests of(const std::vector<Array> &batch) const;
  /// Of the next batch that is used; all processes do this, and compare when it is time.
  void add(const Digests &digests);
  /// Compares now. Throws SharedError naming the file and the processes.
  void compare();

private:
  Job &job;
  std::vector<std::string> names;
  std::vector<bool> areShared;
  std::vector<int32_t> processes; ///< That compare; none where nothing is shared, or this process has no part in it.
  Digests running;
  uint64_t count = 0;
  bool isCompared = true;
};

} // namespace spmd
