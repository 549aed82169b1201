//===- InputChecksums.cpp - checksums of inputs ---------------------------===//

#include "runtime/runner/InputChecksums.h"

#include "runtime/api/Runtime.h"

#include <algorithm>
#include <sstream>

namespace spmd {
namespace {

/// The report of one process about one array.
struct ChecksumReport {
  uint32_t crc32 = 0, contribution = 0;
  uint64_t size = 0;
  bool isSame(const ChecksumReport &other) const { return crc32 == other.crc32 && size == other.size; }
};

} // namespace

Array InputChecksums::read(const ValueInfo &parameter, const NamedSharding &sharding, ArraySource source) {
  std::optional<Crc32Parts> parts;
  MeshShape mesh = meshShapeOf(sharding.mesh());
  Sharding layout = shardingOf(sharding.spec(), parameter.shape.size());
  auto holds = [&](int64_t position) {
    return job->getDevice(sharding.mesh().device_ids()[static_cast<size_t>(position)]).process_index ==
           job->getProcess();
  };
  if (source.getChecksum()) {
    parts.emplace(source.getChecksum()->size);
    if (holds(0))
      source.addRest(*parts);
  }
  // Each part counts once: for the first device that holds it.
  auto isFirst = [&](const std::vector<ShardRange> &ranges) {
    int64_t position = 0;
    while (ownedRanges(mesh, parameter.shape, layout, position) != ranges)
      ++position;
    return holds(position);
  };
  Array array = fillArray(
      job, parameter.dtype, parameter.shape, sharding,
      [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
        source.read(parameter.dtype, ranges, padded, target, parts && isFirst(ranges) ? &*parts : nullptr);
      },
      parameter.name);
  if (parts)
    arrays.push_back(Checked{std::move(source), parts->getContribution()});
  else
    arrays.emplace_back();
  return array;
}

void InputChecksums::compare() {
  if (arrays.empty())
    return;
  std::string own;
  for (const std::optional<Checked> &array : arrays) {
    SourceChecksum checksum = array ? *array->source.getChecksum() : SourceChecksum();
    own += std::to_string(checksum.crc32) + " " + std::to_string(checksum.size) + " " +
           std::to_string(array ? array->contribution : 0) + "\n";
  }
  std::vector<std::vector<ChecksumReport>> reports; // By process and array.
  for (const std::string &answer : job->exchangeAll({"input-checksums", "the comparison of inputs"}, own)) {
    std::vector<ChecksumReport> &those = reports.emplace_back(arrays.size());
    std::istringstream text(answer);
    for (ChecksumReport &report : those)
      text >> report.crc32 >> report.size >> report.contribution;
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i])
      continue;
    const ArraySource &source = arrays[i]->source;
    ChecksumReport all{source.getChecksum()->crc32, 0, source.getChecksum()->size};
    bool isOneFile = true;
    for (const std::vector<ChecksumReport> &those : reports) {
      isOneFile &= all.isSame(those[i]);
      all.contribution ^= those[i].contribution;
    }
    // Each process may read a file of its own, of which no other process reads the rest.
    if (!isOneFile) {
      source.verify();
      continue;
    }
    try {
      source.compareChecksum(Crc32Parts::finish(all.contribution, all.size));
    } catch (const Error &error) { // All processes find the same error.
      throw SharedError(error.what(), SharedError::nobody);
    }
  }
}

} // namespace spmd
