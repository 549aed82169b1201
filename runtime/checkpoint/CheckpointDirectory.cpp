//===- CheckpointDirectory.cpp - the checkpoints of a job -----------------===//

#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace spmd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::string stepName(int64_t step) {
  std::string number = std::to_string(step);
  return std::string(kPrefix) + std::string(number.size() < 10 ? 10 - number.size() : 0, '0') + number;
}

std::string partialPath(const std::string &directory, int64_t step) {
  return directory + "/." + stepName(step) + ".partial";
}

Error failed(const std::string &action, const std::string &path, int reason) {
  return Error("cannot " + action + " '" + path + "': " + std::strerror(reason));
}

void syncFolder(const std::string &path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0)
    throw failed("write", path, errno);
}

} // namespace

std::string checkpointPath(const std::string &directory, int64_t step) { return directory + "/" + stepName(step); }

std::vector<int64_t> findCheckpoints(const std::string &directory) {
  std::vector<int64_t> steps;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory)
    return steps;
  if (error)
    throw failed("read", directory, error.value());
  for (const fs::directory_entry &entry : entries) {
    std::string name = entry.path().filename();
    int64_t step = -1;
    const char *begin = name.data() + kPrefix.size(), *end = name.data() + name.size();
    if (!name.starts_with(kPrefix) || std::from_chars(begin, end, step).ptr != end || step < 0 ||
        name != stepName(step) || !entry.is_directory(error))
      continue;
    steps.push_back(step);
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
    throw Error("'" + directory + "' is where another job writes its checkpoints (" +
                std::string(holder, count > 0 ? static_cast<size_t>(count) : 0) + "); give another directory");
  }
  if (ftruncate(lock.get(), 0) != 0 ||
      pwrite(lock.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size()))
    throw failed("write", path, errno);
  for (const fs::directory_entry &entry : fs::directory_iterator(directory, error))
    if (entry.path().filename().string().starts_with("." + std::string(kPrefix)))
      fs::remove_all(entry.path(), error);
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

void CheckpointDirectory::commit(const Manifest &manifest) {
  std::string partial = partialPath(directory, manifest.step), complete = checkpointPath(directory, manifest.step);
  for (const CheckpointFile &file : manifest.files) {
    std::error_code error;
    uint64_t bytes = fs::file_size(partial + "/" + file.name, error);
    if (error || bytes != file.bytes)
      throw Error("'" + partial + "/" + file.name + "' is not here although a process has written it; '" + directory +
                  "' must be on a file system that all hosts share");
  }
  writeFileAtomically(partial + "/" + kManifestName, encodeManifest(manifest));
  syncFolder(partial);
  std::error_code error;
  if (fs::exists(complete, error)) {
    // The old one goes out of sight first; until then it is the newest.
    std::string old = directory + "/." + stepName(manifest.step) + ".old";
    fs::remove_all(old, error);
    if (rename(complete.c_str(), old.c_str()) != 0)
      throw failed("replace", complete, errno);
  }
  if (rename(partial.c_str(), complete.c_str()) != 0)
    throw failed("create", complete, errno);
  syncFolder(directory);
  fs::remove_all(directory + "/." + stepName(manifest.step) + ".old", error);
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
    // Out of sight by one rename: no reader meets half of it.
    std::string complete = checkpointPath(directory, steps[i]);
    std::string old = directory + "/." + stepName(steps[i]) + ".old";
    std::error_code error;
    if (rename(complete.c_str(), old.c_str()) == 0)
      fs::remove_all(old, error);
  }
}

} // namespace spmd
