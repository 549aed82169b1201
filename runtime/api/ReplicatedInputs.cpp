//===- ReplicatedInputs.cpp - is what several processes read the same? ----===//

#include "runtime/api/ReplicatedInputs.h"

#include "runtime/artifact/Sha256.h"
#include "runtime/io/BoxCopy.h"

#include <map>
#include <set>
#include <sstream>

namespace spmd {
namespace {

/// Of the values, or, of more than so many bytes, of blocks that are spread evenly.
std::string digestOf(const void *values, size_t size) {
  constexpr size_t limit = size_t(64) << 20, block = 4096, count = limit / block;
  std::string_view bytes(static_cast<const char *>(values), size);
  std::vector<std::string_view> parts;
  for (size_t i = 0; size > limit && i < count; ++i)
    parts.push_back(bytes.substr((size - block) * i / (count - 1), block));
  if (parts.empty())
    parts.push_back(bytes);
  return toHex(sha256(parts));
}

/// What devices of several processes hold: the first of these processes and its position tell what others are compared
/// with.
struct Shared {
  int32_t process = -1;
  size_t position = 0;
};

std::optional<Shared> findShared(const Job &job, const ArrayImpl &array, const std::vector<ShardRange> &ranges) {
  MeshShape mesh = meshShapeOf(array.sharding.mesh());
  Sharding layout = shardingOf(array.sharding.spec(), array.shape.size());
  const std::vector<int64_t> &ids = array.sharding.mesh().device_ids();
  Shared first;
  bool isShared = false;
  for (size_t position = 0; position < ids.size(); ++position) {
    int32_t process = job.getDevice(ids[position]).process_index;
    if (process == first.process || ownedRanges(mesh, array.shape, layout, static_cast<int64_t>(position)) != ranges)
      continue;
    isShared |= first.process >= 0;
    if (first.process < 0 || process < first.process)
      first = {process, position};
  }
  return isShared ? std::optional(first) : std::nullopt;
}

/// What one process has read for a place of an input.
struct Reading {
  std::string value; ///< A digest, or a number.
  size_t input = 0;
};

/// Of this process: by the process whose reading counts, and the place as text without blanks.
using Readings = std::map<int32_t, std::map<std::string, Reading>>;

Readings readingsOf(const Job &job, const std::vector<ReadInput> &inputs) {
  Readings result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].origin.empty())
      continue;
    const ArrayImpl &array = *inputs[i].array->get_impl();
    std::set<const void *> seen;
    for (const LocalPart &part : array.parts) {
      if (part.device->getBackend() != "cpu" || !seen.insert(part.buffer->data()).second)
        continue;
      std::optional<Shared> shared = findShared(job, array, part.ranges);
      if (!shared)
        continue;
      auto bytes = static_cast<size_t>(elementCount(array.localShape) * byteSize(array.dtype));
      result[shared->process][std::to_string(i) + "@" + std::to_string(shared->position)] = {
          digestOf(part.buffer->data(), bytes), i};
    }
  }
  return result;
}

std::string keyOf(int32_t process) { return "api/inputs/" + std::to_string(process); }

std::string processText(int32_t process) { return "process " + std::to_string(process); }

} // namespace

void checkReplicatedInputs(Job &job, const Mesh &mesh, const std::vector<ReadInput> &inputs, int64_t batchRows) {
  int32_t self = job.getProcess();
  std::set<int32_t> processes;
  for (int64_t id : mesh.device_ids())
    processes.insert(job.getDevice(id).process_index);
  if (processes.size() < 2 || !processes.count(self))
    return;
  Readings readings = readingsOf(job, inputs);
  const std::string rowsPlace = "rows";
  if (batchRows >= 0)
    readings[*processes.begin()][rowsPlace] = {std::to_string(batchRows), inputs.size()};
  if (auto own = readings.find(self); own != readings.end()) {
    std::string text;
    for (const auto &[place, reading] : own->second)
      text += place + " " + reading.value + "\n";
    job.getClient().set(keyOf(self), text);
    readings.erase(own);
  }
  for (const auto &[process, ours] : readings) {
    std::istringstream text(job.getClient().wait(keyOf(process), job.getTimeout()));
    for (std::string place, value; text >> place >> value;) {
      auto found = ours.find(place);
      if (found == ours.end() || found->second.value == value)
        continue;
      if (place == rowsPlace)
        throw Error("the files that are fed in batches have " + std::to_string(batchRows) + " rows on " +
                    processText(self) + " and " + value + " on " + processText(process) +
                    "; give all processes the same files");
      const ReadInput &input = inputs[found->second.input];
      throw Error("--input " + input.origin + ": devices of " + processText(process) + " and " + processText(self) +
                  " hold the same part of '" + input.array->name() +
                  "', and what the two have read differs; give all processes the same file");
    }
  }
}

} // namespace spmd
