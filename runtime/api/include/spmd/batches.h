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

/// How to use the last rows of an epoch if they are fewer than a batch. The same on all processes.
enum class LastBatch : uint8_t {
  drop, ///< Skip them in this epoch.
  keep, ///< Return a batch of fewer rows.
  wrap, ///< Fill the batch with the first rows of the next epoch.
};

struct BatchOptions {
  int64_t batch_size = 0;               ///< Rows of a batch, over all devices.
  std::optional<uint64_t> shuffle = {}; ///< A seed: each epoch has another order, the same on all processes.
  LastBatch last_batch = LastBatch::drop;
};

/// Batches of the rows of .npy files, epoch after epoch without an end: row i of a batch is the same row of every file.
/// Files are mapped, and each process reads the part of a batch that its devices hold; the loader reads the next batch
/// while the program uses the current one. Every process makes the same calls. Only one thread may use a loader at a
/// time.
class BatchLoader {
public:
  /// `sharding` is that of a batch; its first dimension is the rows.
  BatchLoader(const std::vector<std::string> &files, const NamedSharding &sharding, BatchOptions options,
              std::source_location where = std::source_location::current());

  int64_t batches_per_epoch() const;
  /// Returns the next batch: one array for each file.
  std::vector<Array> next();
  /// Makes batch `batch`, counted over all epochs from 0, the next one: to continue from a checkpoint.
  void seek(int64_t batch);

private:
  struct Impl;
  std::shared_ptr<Impl> impl;
};

} // namespace spmd
