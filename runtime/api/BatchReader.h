//===- BatchReader.h - batches of rows, one ahead ---------------*- C++ -*-===//
//
// Reads batches from mapped .npy files: each process the rows (and of them the parts) that its devices hold. The next
// batch is read by a thread of its own while the program works on the one before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/api/ReplicatedInputs.h"
#include "runtime/api/RowOrder.h"
#include "runtime/io/ArraySource.h"
#include "runtime/support/BackgroundThread.h"

#include <future>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

class BatchReader {
public:
  struct File {
    std::string path;
    NamedSharding sharding;
    /// What a batch must be; nullopt: any dtype and shape.
    std::optional<ValueInfo> parameter = {};
  };

  /// Opens the files. Throws where they do not fit: together, with the batch, or with a parameter.
  BatchReader(std::shared_ptr<Job> job, std::vector<File> files, int64_t batch, std::optional<uint64_t> seed,
              LastBatch last);

  const RowOrder &getOrder() const { return *order; }
  /// Batch `number`, of each file; `number + 1` is begun. Throws what went wrong while reading.
  std::vector<Array> take(int64_t number);
  /// Compares what was taken so far with what other processes have, as BatchDigests do now and then; on all processes.
  void compare() { digests->compare(); }

private:
  struct Batch {
    std::vector<Array> arrays;
    BatchDigests::Digests digests;
  };
  Batch read(int64_t number) const;

  struct Opened {
    File file;
    ArraySource source;
    DType dtype;
    std::vector<int64_t> rowShape;
  };
  std::shared_ptr<Job> job;
  std::vector<Opened> opened;
  std::optional<RowOrder> order;
  std::optional<BatchDigests> digests;
  std::future<Batch> ahead;
  int64_t aheadNumber = -1;
  BackgroundThread thread; ///< Reads what is ahead.
};

} // namespace spmd
