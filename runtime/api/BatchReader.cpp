//===- BatchReader.cpp - batches of rows, read ahead ----------------------===//

#include "runtime/api/BatchReader.h"

#include "runtime/api/Runtime.h"
#include "runtime/io/Npy.h"
#include "runtime/support/CountText.h"

#include <algorithm>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

/// Returns the text for the shape of one row.
std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 1; i < shape.size(); ++i)
    text += (i == 1 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string rowsText(int64_t rows) { return countText(rows, "row"); }

} // namespace

BatchReader::BatchReader(std::shared_ptr<Job> ownJob, std::vector<File> files, int64_t batch,
                         std::optional<uint64_t> seed, LastBatch last)
    : job(std::move(ownJob)) {
  int64_t rows = -1;
  for (File &file : files) {
    ArraySource source = openNpy(file.path);
    const ArrayLayout &layout = source.getLayout();
    if (layout.shape.empty() || layout.shape[0] == 0)
      throw usage("'" + file.path + "' has no rows for a batch");
    if (rows >= 0 && layout.shape[0] != rows)
      throw usage("'" + opened[0].file.path + "' has " + rowsText(rows) + " and '" + file.path + "' has " +
                  rowsText(layout.shape[0]) + ": the rows of a batch belong together");
    rows = layout.shape[0];
    // The shape of the file if its rows are as the parameter wants them.
    ValueInfo whole;
    if (file.parameter)
      whole = *file.parameter;
    else if (!layout.dtype)
      throw usage("'" + file.path + "' holds " + layout.dtypeText + ", which is not a type of the language");
    else
      whole = {file.path, *layout.dtype, layout.shape, {}, {}, layout.format};
    if (whole.shape.empty())
      throw usage("parameter '" + whole.name + "' is a scalar: it has no dimension of rows to be fed in batches");
    bool sameRows =
        std::equal(whole.shape.begin() + 1, whole.shape.end(), layout.shape.begin() + 1, layout.shape.end());
    if (whole.dtype != DType::Key && !sameRows)
      throw usage("'" + file.path + "' has rows of shape " + shapeText(layout.shape) + " and parameter '" + whole.name +
                  "' takes rows of shape " + shapeText(whole.shape));
    source.check(whole, /*byRows=*/true);
    std::vector<int64_t> rowShape(whole.shape.begin() + 1, whole.shape.end());
    opened.push_back({std::move(file), std::move(source), whole.dtype, std::move(rowShape)});
  }
  if (batch < 1)
    throw usage("a batch of " + rowsText(batch) + " is asked for; give a batch size of at least 1");
  if (rows < batch)
    throw usage("'" + opened[0].file.path + "' has " + rowsText(rows) + ", fewer than a batch of " +
                std::to_string(batch));
  order.emplace(rows, batch, seed, last);
  std::vector<BatchLayout> layouts;
  for (const Opened &one : opened) {
    std::vector<int64_t> shape = {batch};
    shape.insert(shape.end(), one.rowShape.begin(), one.rowShape.end());
    layouts.push_back({one.file.parameter ? one.file.parameter->name : one.file.path, one.file.sharding, shape});
  }
  digests.emplace(*job, layouts);
}

std::vector<Array> BatchReader::take(int64_t number) {
  Batch batch;
  if (ahead.valid()) {
    std::future<Batch> done = std::move(ahead);
    batch = done.get();
  }
  if (aheadNumber != number)
    batch = read(number);
  aheadNumber = number + 1;
  auto task = std::make_shared<std::packaged_task<Batch()>>([this, next = aheadNumber] { return read(next); });
  ahead = task->get_future();
  thread = BackgroundThread("spmd-batches", [task] { (*task)(); });
  digests->add(batch.digests);
  return std::move(batch.arrays);
}

BatchReader::Batch BatchReader::read(int64_t number) const {
  std::vector<Array> batch;
  for (const Opened &one : opened) {
    std::vector<int64_t> shape = {order->sizeOf(number)};
    shape.insert(shape.end(), one.rowShape.begin(), one.rowShape.end());
    auto fill = [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
      int64_t rowBytes = byteSize(one.dtype);
      for (size_t d = 1; d < padded.size(); ++d)
        rowBytes *= padded[d];
      std::vector<ShardRange> wanted = ranges;
      std::vector<int64_t> room = padded;
      // Consecutive rows of the file are read at once.
      for (int64_t begin = 0; begin < ranges[0].size;) {
        int64_t first = order->rowOf(number, ranges[0].start + begin), count = 1;
        while (begin + count < ranges[0].size && order->rowOf(number, ranges[0].start + begin + count) == first + count)
          ++count;
        wanted[0] = {first, count};
        room[0] = count;
        one.source.read(one.dtype, wanted, room, static_cast<char *>(target) + begin * rowBytes);
        begin += count;
      }
    };
    std::string name = one.file.parameter ? one.file.parameter->name : "";
    batch.push_back(fillArray(job, one.dtype, std::move(shape), one.file.sharding, fill, name));
  }
  BatchDigests::Digests read = digests->of(batch);
  return {std::move(batch), std::move(read)};
}

//===----------------------------------------------------------------------===//
// The public loader
//===----------------------------------------------------------------------===//

struct BatchLoader::Impl {
  std::unique_ptr<BatchReader> reader;
  int64_t next = 0;
};

BatchLoader::BatchLoader(const std::vector<std::string> &files, const NamedSharding &sharding, BatchOptions options,
                         std::source_location where)
    : impl(std::make_shared<Impl>()) {
  if (files.empty())
    throw usage("a BatchLoader needs files; give .npy files");
  std::vector<BatchReader::File> all;
  for (const std::string &file : files)
    all.push_back({file, sharding});
  impl->reader = std::make_unique<BatchReader>(currentJob(where), std::move(all), options.batch_size, options.shuffle,
                                               options.last_batch);
}

int64_t BatchLoader::batches_per_epoch() const { return impl->reader->getOrder().batchesPerEpoch(); }
void BatchLoader::seek(int64_t batch) {
  if (batch < 0)
    throw usage("batch " + std::to_string(batch) + " is asked for; batches are counted from 0");
  impl->next = batch;
}
std::vector<Array> BatchLoader::next() {
  std::vector<Array> batch = impl->reader->take(impl->next);
  ++impl->next;
  return batch;
}

} // namespace spmd
