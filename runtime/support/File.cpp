//===- File.cpp - mapped files and atomic writes --------------------------===//

#include "runtime/support/File.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "runtime/support/SystemRandom.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace spmd {

MappedFile::MappedFile(const std::string &path) : path(path) {
  auto fail = [&](const std::string &reason) { return Error("cannot read '" + path + "': " + reason); };
  // A pipe without a writer is refused below, instead of waited for.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    throw fail(systemErrorText(errno));
  struct stat status{};
  std::string problem;
  if (fstat(descriptor, &status) != 0)
    problem = systemErrorText(errno);
  else if (!S_ISREG(status.st_mode))
    problem = S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file";
  else if (status.st_size > 0) {
    void *mapped = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED)
      problem = systemErrorText(errno);
    else {
      data = static_cast<const char *>(mapped);
      size = static_cast<size_t>(status.st_size);
    }
  }
  close(descriptor);
  if (!problem.empty())
    throw fail(problem);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : path(std::move(other.path)), data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<char *>(data), size);
}

std::string readWhole(const std::string &path, size_t maxBytes) {
  auto fail = [&] { return Error("cannot read '" + path + "': " + systemErrorText(errno)); };
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    throw fail();
  std::string text;
  std::vector<char> chunk(size_t(1) << 16);
  while (text.size() <= maxBytes) {
    ssize_t count = ::read(file.get(), chunk.data(), std::min(chunk.size(), maxBytes - text.size() + 1));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw fail();
    if (count == 0)
      break;
    text.append(chunk.data(), static_cast<size_t>(count));
  }
  return text;
}

/// Follows symbolic links, also to files that do not exist yet.
static std::filesystem::path followLinks(std::filesystem::path path) {
  constexpr int mostLinks = 40; // The system's limit.
  std::error_code ignored;
  for (int i = 0; i < mostLinks && std::filesystem::is_symlink(path, ignored); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, ignored);
  return path;
}

/// Creates a file in the folder of `target`, without a name if possible, else with the name that is returned in
/// `temporary`. Returns a negative descriptor on failure, with errno.
static int openInFolder(const std::string &target, std::string &temporary) {
  std::string folder = std::filesystem::path(target).parent_path().string();
  int descriptor = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) { // Not every file system supports files without a name.
    temporary = target + ".XXXXXX";
    descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  }
  if (descriptor < 0)
    temporary.clear();
  return descriptor;
}

/// Returns the system's message for a folder in which `target` cannot be created. The folder is named by its absolute
/// path, also if `target` has no folder.
static std::string folderProblem(const std::string &target, int reason) {
  std::error_code ignored; // The current folder of a process may have been removed, and has no name then.
  std::filesystem::path folder = std::filesystem::absolute(target, ignored).parent_path();
  return "folder '" + (ignored || folder.empty() ? "." : folder.string()) + "': " + writeProblem(reason);
}

std::string writeObstacle(const std::string &path) {
  std::error_code unknown;
  std::string target = followLinks(path).string(), temporary;
  if (std::filesystem::is_directory(target, unknown))
    return "it is a folder; choose the name of a file in it";
  if (unknown == std::errc::filename_too_long)
    return writeProblem(ENAMETOOLONG);
  if (std::filesystem::is_other(target, unknown)) // Opening a pipe or a device may wait, or have an effect.
    return ::access(target.c_str(), W_OK) == 0 ? "" : writeProblem(errno);
  int descriptor = openInFolder(target, temporary);
  if (descriptor < 0)
    return folderProblem(target, errno);
  close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
  return "";
}

AtomicFile::AtomicFile(const std::string &path, Readers readers) : path(path) {
  struct stat old{};
  bool exists = stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (exists && !S_ISREG(old.st_mode)) {
    descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      fail("write");
    return;
  }
  target = followLinks(path).string();
  descriptor = openInFolder(target, temporary);
  if (int reason = errno; descriptor < 0)
    throw Error("cannot create '" + path + "': " + folderProblem(target, reason));
  mode_t mask = umask(0);
  umask(mask);
  mode_t fresh = readers == Readers::Owner ? 0600 : 0666;
  fchmod(descriptor, exists ? old.st_mode & 0777 : fresh & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void AtomicFile::fail(const char *action) const {
  throw Error(std::string("cannot ") + action + " '" + path + "': " + writeProblem(errno));
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

/// A link cannot replace another file, so a file without a name gets a temporary name first.
void AtomicFile::giveName() {
  std::string self = "/proc/self/fd/" + std::to_string(descriptor), name;
  int failed = 0;
  do {
    uint32_t number = 0;
    fillWithSystemRandom(&number, sizeof number);
    name = target + "." + std::to_string(number);
    failed = linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  } while (failed != 0 && errno == EEXIST);
  if (failed != 0)
    fail("create");
  temporary = name;
}

void AtomicFile::commit(Durability durability) {
  bool isFile = !target.empty();
  if (isFile && durability == Durability::Synced && fsync(descriptor) != 0)
    fail("write");
  if (isFile && temporary.empty())
    giveName();
  int closed = close(std::exchange(descriptor, -1));
  if (closed != 0)
    fail("write");
  if (isFile && rename(temporary.c_str(), target.c_str()) != 0)
    fail("create");
  temporary.clear();
}

void renameDurably(const std::string &temporary, const std::string &path) {
  int descriptor = open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  bool ok = descriptor >= 0 && fsync(descriptor) == 0 && rename(temporary.c_str(), path.c_str()) == 0;
  int reason = errno;
  if (descriptor >= 0)
    close(descriptor);
  if (!ok)
    throw Error("cannot write '" + path + "': " + writeProblem(reason));
}

std::string writeProblem(int reason) {
  std::string text = systemErrorText(reason);
  switch (reason) {
  case ENOSPC:
  case EDQUOT:
    return text + "; free some, or choose another place";
  case EACCES:
  case EPERM:
  case EROFS:
    return text + "; choose another place, or make it writable";
  case ENOENT:
    return text + "; make its folder first";
  case EISDIR:
    return text + "; choose the name of a file in a folder";
  case ENOTDIR:
    return text + "; choose another place, or move the file that has the name of the folder";
  case ENAMETOOLONG:
    return text + "; choose a shorter one";
  case EFBIG:
    return text + "; raise the limit (ulimit -f)";
  default:
    return text;
  }
}

void writeFileAtomically(const std::string &path, std::string_view bytes, Readers readers) {
  AtomicFile file(path, readers);
  file.write(bytes);
  file.commit();
}

} // namespace spmd
