//===- RowOrder.h - which rows make a batch ---------------------*- C++ -*-===//
//
// Pure arithmetic, the same on all processes: epoch after epoch of the rows of a file, in their order or shuffled, cut
// into batches. A shuffled order is a keyed permutation (a Feistel network over the smallest even power of two that
// holds the rows; what falls beyond them is permuted again), so no list of rows is kept, however many there are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"

#include <cstdint>
#include <optional>

namespace spmd {

class RowOrder {
public:
  /// `batch` is at most `rows`.
  RowOrder(int64_t rows, int64_t batch, std::optional<uint64_t> seed, LastBatch last);

  /// Of the first epoch; with LastBatch::wrap, an epoch may end within a batch.
  int64_t batchesPerEpoch() const;
  /// How many rows a batch has, counted over all epochs.
  int64_t sizeOf(int64_t number) const;
  /// The row of the file at a place of a batch.
  int64_t rowOf(int64_t number, int64_t place) const;
  int64_t rowCount() const { return rows; }
  bool isShuffled() const { return seed.has_value(); }

private:
  int64_t permute(int64_t place, int64_t epoch) const;

  int64_t rows, batch;
  std::optional<uint64_t> seed;
  LastBatch last;
  int halfBits = 1;
};

} // namespace spmd
