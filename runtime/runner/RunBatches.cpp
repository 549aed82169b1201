//===- RunBatches.cpp - inputs that are fed in batches --------------------===//

#include "runtime/runner/RunBatches.h"

namespace spmd {

RunBatches::RunBatches(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh, const CheckedRun &checked,
                       const RunOptions &options) {
  if (checked.batchInputs.empty())
    return;
  std::vector<BatchReader::File> files;
  for (const auto &[i, file] : checked.batchInputs) {
    const ValueInfo &param = plan.params[i];
    parameters.push_back(i);
    files.push_back({file, NamedSharding(mesh, specOf(param.sharding)), param});
  }
  reader = std::make_unique<BatchReader>(job, std::move(files), plan.params[parameters.front()].shape[0],
                                         options.shuffle, options.lastBatch);
}

void RunBatches::feed(int64_t step, std::vector<Array> &inputs) {
  if (!reader)
    return;
  std::vector<Array> batch = reader->take(step - 1);
  for (size_t i = 0; i < batch.size(); ++i)
    inputs[parameters[i]] = std::move(batch[i]);
}

void RunBatches::compare() {
  if (reader)
    reader->compare();
}

} // namespace spmd
