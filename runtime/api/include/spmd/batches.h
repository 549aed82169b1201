//===- batches.h - batches of rows of files ---------------------*- C++ -*-===//
#pragma once

#include "array.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// What becomes of the rows at the end of an epoch that are fewer than a batch. The same on all processes.
enum class LastBatch : uint8_t {
  drop, ///< They are left out of this epoch.
  keep, ///< They make a batch of fewer rows.
  wrap, ///< The batch is filled up with the next epoch's first rows.
};

struct BatchOptions {
  int64_t batch_size = 0;               ///< Rows of a batch, over all devices.
  std::optional<uint64_t> shuffle = {}; ///< A seed: each epoch has another order, the same on all processes.
  LastBatch last_batch = LastBatch::drop;
};

/// Batches of the rows of .npy files, epoch after epoch without an end: row i of a batch is the same row of every file.
/// Files are mapped, and each process reads what its devices hold of a batch; the next batch is read while the program
/// works on the one before. Every process makes the same calls. For one thread at a time.
class BatchLoader {
public:
  /// `sharding`: of a batch; its first dimension is the rows.
  BatchLoader(const std::vector<std::string> &files, const NamedSharding &sharding, BatchOptions options,
              std::source_location where = std::source_location::current());

  int64_t batches_per_epoch() const;
  /// The next batch: one array for each file.
  std::vector<Array> next();
  /// Batch `batch`, counted over all epochs from 0, comes next: to go on from a checkpoint.
  void seek(int64_t batch);

private:
  struct Impl;
  std::shared_ptr<Impl> impl;
};

} // namespace spmd
