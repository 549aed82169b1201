//===- RowOrder.h - the rows of each batch ----------------------*- C++ -*-===//
//
// Pure arithmetic, the same on all processes: it takes the rows of a file epoch after epoch, in their order or
// shuffled, and splits them into batches. A shuffled order is a keyed permutation (a Feistel network over the smallest
// even power of two that is not less than the number of rows; results beyond the rows are permuted again), so no list
// of rows is kept.
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

  /// Returns the number of batches of the first epoch; with LastBatch::wrap, an epoch may end within a batch.
  int64_t batchesPerEpoch() const;
  /// Returns the number of rows of a batch, counted over all epochs.
  int64_t sizeOf(int64_t number) const;
  /// Returns the row of the file at a place of a batch.
  int64_t rowOf(int64_t number, int64_t place) const;
  int64_t rowCount() const { return rows; }

private:
  int64_t permute(int64_t place, int64_t epoch) const;

  int64_t rows, batch;
  std::optional<uint64_t> seed;
  LastBatch last;
  int halfBits = 1;
};

} // namespace spmd
