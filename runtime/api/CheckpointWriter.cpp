//===- CheckpointWriter.cpp - writing the arrays of a job -----------------===//

#include "runtime/api/Checkpoint.h"
#include "runtime/checkpoint/ShardFile.h"
#include "runtime/io/BoxCopy.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

namespace spmd {
namespace {

using Json = nlohmann::json;

/// Disks may be slow; if a process fails, the job's verdict ends the wait.
constexpr std::chrono::hours kNoLimit{24 * 365};

std::string fileName(int32_t process) {
  std::string number = std::to_string(process);
  return "process-" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number + ".safetensors";
}

/// Plans which process writes which shard, the same on all processes. If several devices hold a shard, the writers of
/// the shards take turns, so that process 0 does not write all replicated arrays. `files` of the result has the files
/// of all processes, in order; process 0 removes those of processes that write nothing.
Manifest planCheckpoint(const Job &job, int64_t step, const std::vector<CheckpointWriter::Array> &arrays) {
  Manifest manifest;
  manifest.step = step;
  for (int32_t process = 0; process < job.getProcessCount(); ++process)
    manifest.files.push_back({fileName(process), 0, 0});
  size_t turn = 0;
  for (const CheckpointWriter::Array &array : arrays) {
    const ArrayImpl &impl = *array.impl;
    CheckpointArray entry{array.name, impl.dtype, impl.shape, {}};
    MeshShape mesh = meshShapeOf(impl.sharding.mesh());
    Sharding sharding = shardingOf(impl.sharding.spec(), impl.shape.size());
    // The processes of the devices that hold a shard, by the shard's start.
    std::map<std::vector<int64_t>, std::vector<size_t>> holders;
    std::vector<CheckpointShard> pieces;
    for (int64_t position = 0; position < impl.sharding.mesh().size(); ++position) {
      std::vector<ShardRange> ranges = ownedRanges(mesh, impl.shape, sharding, position);
      if (elementCount(sizesOf(ranges)) == 0)
        continue;
      int64_t device = impl.sharding.mesh().device_ids()[static_cast<size_t>(position)];
      auto &list = holders[startsOf(ranges)];
      if (list.empty())
        pieces.push_back({0, startsOf(ranges), sizesOf(ranges)});
      list.push_back(static_cast<size_t>(job.getDevice(device).process_index));
    }
    for (CheckpointShard &piece : pieces) {
      const std::vector<size_t> &list = holders[piece.start];
      piece.file = list[turn++ % list.size()];
      entry.pieces.push_back(std::move(piece));
    }
    manifest.arrays.push_back(std::move(entry));
  }
  return manifest;
}

/// Removes the files that no process writes to.
void dropUnusedFiles(Manifest &manifest) {
  std::vector<bool> isUsed(manifest.files.size());
  for (const CheckpointArray &array : manifest.arrays)
    for (const CheckpointShard &piece : array.pieces)
      isUsed[piece.file] = true;
  std::vector<size_t> place(manifest.files.size());
  std::vector<CheckpointFile> files;
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (isUsed[i]) {
      place[i] = files.size();
      files.push_back(manifest.files[i]);
    }
  manifest.files = std::move(files);
  for (CheckpointArray &array : manifest.arrays)
    for (CheckpointShard &piece : array.pieces)
      piece.file = place[piece.file];
}

/// Returns the values that must be the same on all processes.
std::string describe(const Manifest &manifest, const std::string &directory) {
  std::string text = "step " + std::to_string(manifest.step) + " in '" + directory + "' with";
  for (const CheckpointArray &array : manifest.arrays)
    text += " " + array.name;
  return text;
}

} // namespace

CheckpointWriter::CheckpointWriter(Job &job, const std::string &directory)
    : job(job), directory(directory),
      prefix("api/checkpoint-writer/" + std::to_string(job.nextSequence("checkpoint-writer")) + "/") {
  std::string problem;
  if (job.getProcess() == 0) {
    const ProcessInfo &self = job.getClient().topology().processes[0];
    try {
      own.emplace(directory, "its process 0 has pid " + std::to_string(self.pid) + " on " + self.host);
    } catch (const Error &error) {
      problem = error.what();
    }
  }
  problem = job.exchangeAll({"checkpoint-writer", callText()}, problem)[0];
  if (!problem.empty())
    throw SharedError(problem, 0);
  thread = BackgroundThread("spmd-checkpoint", [this] { threadMain(); });
}

/// Returns the text for messages about waits.
std::string CheckpointWriter::callText() const { return "a save to '" + directory + "'"; }

std::string CheckpointWriter::awaitKey(const std::string &key, int32_t process) const {
  return job.getClient().wait(key, {process, kNoLimit, callText(), /*inBackground=*/true});
}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

CheckpointSave CheckpointWriter::save(int64_t step, std::vector<Array> arrays, SaveOptions options) {
  auto state = std::make_shared<SaveState>();
  Request request{step, std::move(arrays), std::nullopt, std::move(options), state};
  auto &restored = job.getRestoredSteps();
  if (auto found = restored.find(directory); found != restored.end())
    request.restored = found->second;
  std::lock_guard lock(mutex);
  queue.push_back(std::move(request));
  changed.notify_all();
  return CheckpointSave(std::move(state));
}

void CheckpointWriter::threadMain() {
  for (uint64_t number = 0;; ++number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || !queue.empty(); });
    if (queue.empty())
      return;
    Request request = std::move(queue.front());
    queue.erase(queue.begin());
    lock.unlock();
    int32_t culprit = job.getProcess();
    std::optional<Error> problem;
    try {
      write(request, number);
    } catch (const SharedError &error) {
      problem = error;
      culprit = error.getCulprit();
    } catch (const Error &error) {
      problem = error;
    } catch (const std::exception &error) {
      problem = Error(error.what());
    }
    request.arrays.clear(); // Released before waiting callers continue, so that they can use the memory.
    if (problem) {
      job.markFailed();
      request.state->fail(*problem, culprit);
    } else {
      request.state->succeed();
    }
  }
}

void CheckpointWriter::write(Request &request, uint64_t number) {
  for (const Array &array : request.arrays)
    array.impl->wait();
  Manifest manifest = planCheckpoint(job, request.step, request.arrays);
  std::string keys = prefix + std::to_string(number) + "/";
  if (job.getProcess() == 0) {
    lead(request, std::move(manifest), keys);
    // All processes have answered for this save, so all have read the end of the last one.
    if (number > 0)
      job.getClient().removePrefix(prefix + std::to_string(number - 1) + "/");
  } else {
    follow(request, manifest, keys);
  }
  if (request.options.when_saved)
    request.options.when_saved();
}

CheckpointFile CheckpointWriter::writeOwnFile(const Request &request, const Manifest &manifest,
                                              const std::string &folder) {
  auto process = static_cast<size_t>(job.getProcess());
  std::vector<NamedArray> pieces;
  std::vector<std::vector<char>> copies;
  for (size_t i = 0; i < manifest.arrays.size(); ++i)
    for (const CheckpointShard &piece : manifest.arrays[i].pieces) {
      if (piece.file != process)
        continue;
      const ArrayImpl &impl = *request.arrays[i].impl;
      PartsRef parts = impl.getParts();
      auto part = std::find_if(parts->begin(), parts->end(), [&](const LocalPart &candidate) {
        return startsOf(candidate.ranges) == piece.start && sizesOf(candidate.ranges) == piece.size;
      });
      const void *data = nullptr;
      if (part->device->getBackend() == "cpu" && piece.size == impl.localShape) {
        data = part->buffer->data();
      } else {
        copies.emplace_back(static_cast<size_t>(elementCount(piece.size) * byteSize(impl.dtype)));
        impl.copyPart(*part, copies.back().data());
        data = copies.back().data();
      }
      pieces.push_back({shardKey(manifest.arrays[i], piece), impl.dtype, piece.size, data});
    }
  if (pieces.empty())
    return {};
  return writeShardFile(folder, manifest.files[process].name, request.step, pieces);
}

void CheckpointWriter::follow(const Request &request, const Manifest &manifest, const std::string &keys) {
  Client &client = job.getClient();
  Json begin = Json::parse(awaitKey(keys + "begin", 0)), answer = Json::object();
  try {
    if (begin["what"] != describe(manifest, directory))
      throw Error("it saves " + describe(manifest, directory) + " where process 0 saves " +
                  begin["what"].get<std::string>());
    if (begin.contains("folder")) {
      CheckpointFile file = writeOwnFile(request, manifest, begin["folder"]);
      answer = {{"bytes", file.bytes}, {"header_checksum", file.headerChecksum}};
    }
  } catch (const Error &error) {
    answer = {{"error", error.what()}};
  }
  client.set(keys + std::to_string(job.getProcess()), answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  Json end = Json::parse(awaitKey(keys + "end", 0));
  if (end.contains("problem"))
    throw SharedError(end["problem"], end["culprit"]);
}

void CheckpointWriter::lead(const Request &request, Manifest manifest, const std::string &keys) {
  Client &client = job.getClient();
  std::string problem;
  int32_t culprit = 0;
  Json begin = {{"what", describe(manifest, directory)}};
  auto attempt = [&](int32_t process, auto action) {
    try {
      action();
    } catch (const Error &error) {
      if (error.getKind() == Error::Kind::Verdict)
        throw;
      if (!problem.empty())
        return;
      culprit = process;
      problem = "the checkpoint of step " + std::to_string(request.step) + " cannot be saved: process " +
                std::to_string(process) + ": " + error.what();
    }
  };
  attempt(0, [&] { begin["folder"] = own->begin(request.step); });
  client.set(keys + "begin", begin.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (problem.empty())
    attempt(0, [&] { manifest.files[0] = writeOwnFile(request, manifest, begin["folder"]); });
  for (int32_t process = 1; process < job.getProcessCount(); ++process) {
    Json answer = Json::parse(awaitKey(keys + std::to_string(process), process));
    attempt(process, [&] {
      if (answer.contains("error"))
        throw Error(answer["error"].get<std::string>());
    });
    CheckpointFile &file = manifest.files[static_cast<size_t>(process)];
    file.bytes = answer.value("bytes", uint64_t(0));
    file.headerChecksum = answer.value("header_checksum", uint32_t(0));
  }
  dropUnusedFiles(manifest);
  if (problem.empty())
    attempt(0, [&] {
      if (request.restored)
        own->continueFrom(*request.restored);
      own->commit(std::move(manifest));
      own->keepNewest(request.options.keep);
    });
  if (!problem.empty())
    own->abandon(request.step);
  Json end = Json::object();
  if (!problem.empty())
    end = {{"problem", problem}, {"culprit", culprit}};
  client.set(keys + "end", end.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!problem.empty())
    throw SharedError(problem, culprit);
}

std::string folderKey(const std::string &directory) {
  std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

CheckpointWriter &checkpointWriter(Job &job, const std::string &directory) {
  std::string path = folderKey(directory);
  std::shared_ptr<CheckpointWriter> &writer = job.getCheckpointWriters()[path];
  if (!writer)
    writer = std::make_shared<CheckpointWriter>(job, path);
  return *writer;
}

} // namespace spmd
