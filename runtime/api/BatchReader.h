//===- BatchReader.h - batches of rows, read ahead --------------*- C++ -*-===//
//
// Reads batches from mapped .npy files: each process reads the rows, and the parts of rows, that its devices hold. A
// thread reads the next batch while the program uses the current one.
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
    /// The type that a batch must have; nullopt: any dtype and shape.
    std::optional<ValueInfo> parameter = {};
  };

  /// Opens the files. Throws if they do not fit together, or do not fit the batch or a parameter.
  BatchReader(std::shared_ptr<Job> job, std::vector<File> files, int64_t batch, std::optional<uint64_t> seed,
              LastBatch last);

  const RowOrder &getOrder() const { return *order; }
  /// Returns batch `number`, one array for each file; starts to read `number + 1`. Throws the error of reading.
  std::vector<Array> take(int64_t number);
  /// Compares the batches that were taken since the last comparison with those of other processes, as BatchDigests does
  /// from time to time. All processes call it.
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
  BackgroundThread thread; ///< Reads the next batch.
};

} // namespace spmd
