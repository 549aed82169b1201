//===- CheckpointDirectory.cpp - the checkpoints of a job -----------------===//

#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spmd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::string stepName(int64_t step) {
  std::string number = std::to_string(step);
  return std::string(kPrefix) + std::string(number.size() < 10 ? 10 - number.size() : 0, '0') + number;
}

/// Returns the step of a name that consists of `prefix`, stepName() and `suffix`.
std::optional<int64_t> stepOf(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size())
    return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  int64_t step = -1;
  if (!name.starts_with(kPrefix) ||
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step).ec != std::errc() || step < 0 ||
      name != stepName(step))
    return std::nullopt;
  return step;
}

std::string partialPath(const std::string &directory, int64_t step) {
  return directory + "/." + stepName(step) + ".partial";
}

std::string oldPath(const std::string &directory, int64_t step) { return directory + "/." + stepName(step) + ".old"; }

Error failed(const std::string &action, const std::string &path, int reason) {
  return Error("cannot " + action + " '" + path + "': " + writeProblem(reason));
}

void syncFolder(const std::string &path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0)
    throw failed("write", path, errno);
}

/// Moves checkpoints to a new folder; the destructor moves them back unless keep() was called.
class Moved {
public:
  explicit Moved(const std::string &directory) : directory(directory), target(supersededPath(directory)) {}
  ~Moved() {
    if (kept)
      return;
    for (int64_t step : steps)
      rename(checkpointPath(target, step).c_str(), checkpointPath(directory, step).c_str());
    rmdir(target.c_str());
  }
  Moved(const Moved &) = delete;
  Moved &operator=(const Moved &) = delete;

  void move(int64_t step) {
    if (steps.empty() && mkdir(target.c_str(), 0777) != 0)
      throw failed("create", target, errno);
    std::string path = checkpointPath(directory, step);
    if (rename(path.c_str(), checkpointPath(target, step).c_str()) != 0)
      throw failed("move", path, errno);
    steps.push_back(step);
  }

  void sync() const {
    if (!steps.empty())
      syncFolder(target);
  }
  void keep() { kept = true; }

private:
  std::string directory, target;
  std::vector<int64_t> steps;
  bool kept = false;
};

} // namespace

std::string checkpointPath(const std::string &directory, int64_t step) { return directory + "/" + stepName(step); }

std::string supersededPath(const std::string &directory) {
  std::error_code error;
  for (int64_t number = 1;; ++number)
    if (std::string path = directory + "/superseded-" + std::to_string(number); !fs::exists(path, error))
      return path;
}

std::vector<int64_t> findCheckpoints(const std::string &directory) {
  std::vector<int64_t> steps;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory)
    return steps;
  if (error)
    throw Error("cannot read '" + directory + "': " + error.message());
  for (const fs::directory_entry &entry : entries) {
    std::optional<int64_t> step = stepOf(entry.path().filename().string(), "", "");
    if (step && entry.is_directory(error))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Manifest readManifest(const std::string &directory, int64_t step) {
  std::string path = checkpointPath(directory, step) + "/" + kManifestName;
  Manifest manifest = decodeManifest(MappedFile(path).bytes(), path);
  if (manifest.step != step)
    throw Error("'" + path + "' is not a valid manifest of a checkpoint: it is of step " +
                std::to_string(manifest.step));
  return manifest;
}

CheckpointDirectory::CheckpointDirectory(const std::string &directory, const std::string &owner)
    : directory(directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    throw failed("create", directory, error.value());
  std::string path = directory + "/.lock";
  lock = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock)
    throw failed("write checkpoints to", directory, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      throw failed("lock", path, errno);
    char holder[256] = {};
    ssize_t count = pread(lock.get(), holder, sizeof holder - 1, 0);
    throw Error("another job writes its checkpoints to '" + directory + "' (" +
                std::string(holder, count > 0 ? static_cast<size_t>(count) : 0) + "); give another directory");
  }
  if (ftruncate(lock.get(), 0) != 0 ||
      pwrite(lock.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size()))
    throw failed("write", path, errno);
  endUnfinished();
}

void CheckpointDirectory::endUnfinished() {
  std::error_code error;
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory, error))
    if (std::string name = entry.path().filename(); name.starts_with("." + std::string(kPrefix)))
      names.push_back(std::move(name));
  for (const std::string &name : names) {
    std::string path = directory + "/" + name + "/" + kManifestName;
    std::optional<int64_t> step = stepOf(name, ".", ".partial");
    if (!step || !fs::exists(path, error))
      continue;
    // The manifest is written last, so the checkpoint is complete, and its job may already have moved superseded ones.
    std::optional<Manifest> manifest;
    try {
      manifest = decodeManifest(MappedFile(path).bytes(), path);
    } catch (const Error &) {
    }
    if (manifest && manifest->step == *step)
      finish(*step, manifest->previous, /*replaces=*/false);
  }
  for (const std::string &name : names)
    fs::remove_all(directory + "/" + name, error);
}

void CheckpointDirectory::continueFrom(int64_t step) {
  // After a commit, all checkpoints of the folder belong to this job's line.
  if (!hasCommitted)
    newest = step;
}

std::string CheckpointDirectory::begin(int64_t step) {
  std::string path = partialPath(directory, step);
  std::error_code error;
  fs::remove_all(path, error);
  fs::create_directory(path, error);
  if (error)
    throw failed("create", path, error.value());
  return path;
}

void CheckpointDirectory::commit(Manifest manifest) {
  std::string partial = partialPath(directory, manifest.step);
  for (const CheckpointFile &file : manifest.files) {
    std::error_code error;
    uint64_t bytes = fs::file_size(partial + "/" + file.name, error);
    if (error || bytes != file.bytes)
      throw Error("'" + partial + "/" + file.name + "' is missing although a process has written it; '" + directory +
                  "' must be on a file system that all hosts share");
  }
  manifest.previous.reset();
  for (int64_t step : findCheckpoints(directory))
    if (step <= newest && step < manifest.step)
      manifest.previous = step;
  writeFileAtomically(partial + "/" + kManifestName, encodeManifest(manifest), Readers::Owner);
  syncFolder(partial);
  finish(manifest.step, manifest.previous, /*replaces=*/manifest.step <= newest);
  newest = manifest.step;
  hasCommitted = true;
}

void CheckpointDirectory::finish(int64_t step, std::optional<int64_t> previous, bool replaces) {
  std::string partial = partialPath(directory, step), complete = checkpointPath(directory, step);
  std::string old = oldPath(directory, step);
  std::error_code error;
  fs::remove_all(old, error);
  // If the job ends before the checkpoint has its name, endUnfinished() of the next job does the rest. The highest step
  // is moved last: until then it is the newest.
  Moved moved(directory);
  bool isThere = false;
  for (int64_t other : findCheckpoints(directory))
    if (replaces && other == step)
      isThere = true;
    else if (!previous || other > *previous)
      moved.move(other);
  moved.sync();
  if (isThere && rename(complete.c_str(), old.c_str()) != 0)
    throw failed("replace", complete, errno);
  if (rename(partial.c_str(), complete.c_str()) != 0) {
    int reason = errno;
    if (isThere)
      rename(old.c_str(), complete.c_str());
    throw failed("create", complete, reason);
  }
  moved.keep();
  syncFolder(directory);
  fs::remove_all(old, error);
}

void CheckpointDirectory::abandon(int64_t step) noexcept {
  std::error_code error;
  fs::remove_all(partialPath(directory, step), error);
}

void CheckpointDirectory::keepNewest(int64_t count) {
  if (count <= 0)
    return;
  std::vector<int64_t> steps = findCheckpoints(directory);
  for (size_t i = 0; i + static_cast<size_t>(count) < steps.size(); ++i) {
    // One rename hides the folder, so that no reader finds half of it.
    std::string complete = checkpointPath(directory, steps[i]), old = oldPath(directory, steps[i]);
    std::error_code error;
    if (rename(complete.c_str(), old.c_str()) == 0)
      fs::remove_all(old, error);
  }
}

} // namespace spmd
