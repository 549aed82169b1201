//===- ReplicatedInputs.h - compares inputs between processes ---*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

/// The values of one parameter, and their origin; an empty origin: they were not read from a file.
struct ReadInput {
  const Array *array = nullptr;
  std::string origin; ///< `w=FILE.npy`, for messages.
};

/// Compares the values that this process has read from files with those that other processes of the mesh have read for
/// the same place: by a hash of each part that devices of several processes hold. Takes one round through the job's
/// store, in which each process waits for those it shares parts with, and no more than that if it shares none.
/// `batchRows` is the number of rows of the files that are fed in batches, or -1. Throws spmd::Error that names the
/// input and the two processes.
void checkReplicatedInputs(Job &job, const Mesh &mesh, const std::vector<ReadInput> &inputs, int64_t batchRows);

/// The batches of one file.
struct BatchLayout {
  std::string name; ///< For messages.
  NamedSharding sharding;
  std::vector<int64_t> shape; ///< The shape of a batch.
};

/// Running hashes of the parts of batches that devices of several processes hold. Every byte of these parts is hashed,
/// and none is read for the hash alone: a file may be too large to be read at the start. The processes compare the
/// hashes after the first batch, after twice as many each time, and after every 1024. Batches without shared parts cost
/// nothing.
class BatchDigests {
public:
  using Place = std::pair<size_t, size_t>; ///< The file, and the first position of the mesh that holds the part.
  using Digests = std::map<Place, std::string>;

  BatchDigests(Job &job, const std::vector<BatchLayout> &layouts);

  /// Returns the hashes of one batch, in the order of the layouts. Thread-safe.
  Digests of(const std::vector<Array> &batch) const;
  /// Adds the hashes of the next batch that is used. All processes call it, and compare when it is time.
  void add(const Digests &digests);
  /// Compares now. Throws SharedError that names the file and the processes.
  void compare();

private:
  Job &job;
  std::vector<std::string> names;
  std::vector<bool> areShared;
  /// The processes that compare; empty if no part is shared, or this process shares none.
  std::vector<int32_t> processes;
  Digests running;
  uint64_t count = 0;
  bool isCompared = true;
};

} // namespace spmd
