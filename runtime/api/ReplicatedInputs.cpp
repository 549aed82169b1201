//===- ReplicatedInputs.cpp - compares inputs between processes -----------===//

#include "runtime/api/ReplicatedInputs.h"

#include "runtime/api/Disagreement.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/coordinator/Describe.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/CountText.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <sstream>

namespace spmd {
namespace {

std::string digestOf(const void *values, size_t size) {
  return toHex(sha256({std::string_view(static_cast<const char *>(values), size)}));
}

/// A part that devices of several processes hold. The others are compared with the first of these processes, and
/// `position` is that of its device.
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

/// Calls visit(shared, digest) for each part of this process that devices of other processes hold as well.
template <typename Visit> void visitShared(const Job &job, const ArrayImpl &array, const Visit &visit) {
  std::set<const void *> seen;
  for (PartsRef parts = array.getParts(); const LocalPart &part : *parts) {
    if (!seen.insert(part.buffer->data()).second)
      continue;
    auto bytes = static_cast<size_t>(elementCount(array.localShape) * byteSize(array.dtype));
    std::optional<Shared> shared = findShared(job, array, part.ranges);
    if (!shared)
      continue;
    if (part.device->getBackend() == "cpu") {
      visit(*shared, digestOf(part.buffer->data(), bytes));
      continue;
    }
    std::vector<char> copy(bytes);
    part.device->copyToHost(copy.data(), *part.buffer, static_cast<int64_t>(bytes));
    visit(*shared, digestOf(copy.data(), bytes));
  }
}

/// The value that one process has read for one place of an input.
struct Reading {
  std::string value; ///< A digest, or a number.
  size_t input = 0;
};

/// The readings of this process: by the process that they are compared with, and the place as text without blanks.
using Readings = std::map<int32_t, std::map<std::string, Reading>>;

Readings readingsOf(const Job &job, const std::vector<ReadInput> &inputs) {
  Readings result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].origin.empty())
      continue;
    visitShared(job, *inputs[i].array->get_impl(), [&](const Shared &shared, std::string digest) {
      result[shared.process][std::to_string(i) + "@" + std::to_string(shared.position)] = {std::move(digest), i};
    });
  }
  return result;
}

std::string keyOf(int32_t process) { return "api/inputs/" + std::to_string(process); }

std::string processText(int32_t process) { return "process " + std::to_string(process); }

std::vector<int32_t> processesOf(const Job &job, const Mesh &mesh) {
  std::set<int32_t> processes;
  for (int64_t id : mesh.device_ids())
    processes.insert(job.getDevice(id).process_index);
  return {processes.begin(), processes.end()};
}

} // namespace

void checkReplicatedInputs(Job &job, const Mesh &mesh, const std::vector<ReadInput> &inputs, int64_t batchRows) {
  int32_t self = job.getProcess();
  std::vector<int32_t> processes = processesOf(job, mesh);
  if (processes.size() < 2 || !std::binary_search(processes.begin(), processes.end(), self))
    return;
  Readings readings = readingsOf(job, inputs);
  const std::string rowsPlace = "rows";
  if (batchRows >= 0)
    readings[processes.front()][rowsPlace] = {std::to_string(batchRows), inputs.size()};
  if (auto own = readings.find(self); own != readings.end()) {
    std::string text;
    for (const auto &[place, reading] : own->second)
      text += place + " " + reading.value + "\n";
    job.getClient().set(keyOf(self), text);
    readings.erase(own);
  }
  for (const auto &[process, ours] : readings) {
    std::istringstream text(
        job.getClient().wait(keyOf(process), {process, job.getTimeout(), "the comparison of inputs"}));
    for (std::string place, value; text >> place >> value;) {
      auto found = ours.find(place);
      if (found == ours.end() || found->second.value == value)
        continue;
      if (place == rowsPlace)
        throw Error("the files that are fed in batches have " + countText(batchRows, "row") + " on " +
                    processText(self) + " and " + value + " on " + processText(process) +
                    "; give all processes the same files");
      const ReadInput &input = inputs[found->second.input];
      throw Error("--input " + input.origin + ": devices of " + processText(process) + " and " + processText(self) +
                  " hold the same part of '" + input.array->name() +
                  "', and what the two have read differs; give all processes the same file");
    }
  }
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

BatchDigests::BatchDigests(Job &job, const std::vector<BatchLayout> &layouts) : job(job) {
  std::set<int32_t> all;
  for (const BatchLayout &layout : layouts) {
    names.push_back(layout.name);
    const Mesh &mesh = layout.sharding.mesh();
    std::map<std::vector<int64_t>, int32_t> holders; // By the part's start: a process that holds it.
    bool isShared = false;
    for (int64_t position = 0; position < mesh.size(); ++position) {
      std::vector<ShardRange> ranges = ownedRanges(meshShapeOf(mesh), layout.shape,
                                                   shardingOf(layout.sharding.spec(), layout.shape.size()), position);
      int32_t process = job.getDevice(mesh.device_ids()[static_cast<size_t>(position)]).process_index;
      isShared |=
          elementCount(sizesOf(ranges)) > 0 && holders.emplace(startsOf(ranges), process).first->second != process;
    }
    areShared.push_back(isShared);
    for (int32_t process : processesOf(job, mesh))
      if (isShared)
        all.insert(process);
  }
  if (all.count(job.getProcess()))
    processes.assign(all.begin(), all.end());
}

BatchDigests::Digests BatchDigests::of(const std::vector<Array> &batch) const {
  Digests digests;
  for (size_t i = 0; i < batch.size(); ++i)
    if (areShared[i])
      visitShared(job, *batch[i].get_impl(),
                  [&](const Shared &shared, std::string digest) { digests[{i, shared.position}] = std::move(digest); });
  return digests;
}

void BatchDigests::add(const Digests &digests) {
  for (const auto &[place, digest] : digests)
    running[place] = toHex(sha256({running[place], digest}));
  isCompared = false;
  constexpr uint64_t longest = 1024;
  if (++count % longest == 0 || std::has_single_bit(count))
    compare();
}

void BatchDigests::compare() {
  if (processes.empty() || isCompared)
    return;
  isCompared = true;
  std::string own;
  for (const auto &[place, digest] : running)
    own += std::to_string(place.first) + " " + std::to_string(place.second) + " " + digest + "\n";
  std::vector<std::string> texts = job.exchange({"batch-digests", "the comparison of batches"}, processes, own);
  std::map<Place, std::map<int32_t, std::string>> answers;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::istringstream text(texts[i]);
    Place place;
    for (std::string digest; text >> place.first >> place.second >> digest;)
      answers[place][processes[i]] = digest;
  }
  for (const auto &[place, digests] : answers)
    if (auto found = findDisagreement(digests))
      throw SharedError(coordinator::describeProcesses(found->others) + (found->others.size() == 1 ? " has" : " have") +
                            " read different batches of '" + names[place.first] + "' than " +
                            coordinator::describeProcesses(found->most) + ", whose devices hold the same part of it, " +
                            "among the first " + std::to_string(count) + "; give all processes the same file",
                        found->others.front());
}

} // namespace spmd
