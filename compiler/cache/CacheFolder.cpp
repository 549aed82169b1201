//===- CacheFolder.cpp - a cache of files in a folder ---------------------===//

#include "compiler/cache/CacheFolder.h"

#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace spmdc {
namespace {

constexpr size_t kKeyLength = 64; // SHA-256 in hexadecimal digits.
constexpr std::string_view kSuffix = ".spmdcache";
/// A temporary file older than this is abandoned: no writer takes that long, so it has crashed.
constexpr std::chrono::hours kAbandoned(1);

bool isOwnersAlone(const struct stat &status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Whether a file belongs to the cache. `isComplete`: it has its final name; otherwise it is a temporary file
/// (`KEY.spmdcache.12345`) that a process is writing.
bool isOurs(std::string_view name, bool &isComplete) {
  isComplete = name.size() == kKeyLength + kSuffix.size();
  return name.substr(0, kKeyLength).find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         name.substr(std::min(name.size(), kKeyLength)).starts_with(kSuffix);
}

/// Reads all bytes of an open file. The file is not mapped, because another process may truncate it, which would kill a
/// process that maps it.
std::optional<std::string> readAll(int descriptor, size_t size) {
  std::string bytes(size, '\0');
  for (size_t done = 0; done < size;) {
    ssize_t count = ::read(descriptor, bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return std::nullopt;
    done += static_cast<size_t>(count);
  }
  return bytes;
}

} // namespace

std::string CacheFolder::pathOf(const std::string &key) const { return path + "/" + key + std::string(kSuffix); }

/// Whether the folder exists. Throws spmd::Error if it exists and cannot be used or trusted.
bool CacheFolder::exists() const {
  auto fail = [&](const std::string &why) { return spmd::Error("'" + path + "' " + why); };
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT)
      return false;
    throw fail("cannot be used: " + spmd::writeProblem(errno));
  }
  if (!S_ISDIR(status.st_mode))
    throw fail("is not a folder; name another one");
  if (status.st_uid != geteuid())
    throw fail("belongs to another user, whose code would be run; name a folder of your own");
  if (!isOwnersAlone(status))
    // A folder with the sticky bit, such as /tmp, is shared on purpose: no chmod is proposed.
    throw fail(std::string("can be written by other users, whose code would be run; name a folder of your own") +
               (status.st_mode & S_ISVTX ? "" : ", or `chmod go-w` it"));
  return true;
}

std::optional<std::string> CacheFolder::read(const std::string &key) const {
  if (!exists())
    return std::nullopt;
  spmd::UniqueFd file(open(pathOf(key).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file) {
    if (errno != ENOENT)
      remove(key);
    return std::nullopt;
  }
  struct stat status{};
  bool isGood =
      fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && isOwnersAlone(status) && status.st_size <= maxBytes;
  std::optional<std::string> bytes =
      isGood ? readAll(file.get(), static_cast<size_t>(status.st_size)) : std::optional<std::string>();
  if (bytes)
    futimens(file.get(), nullptr); // Sets the time of last use, by which removeOldest sorts.
  else
    remove(key);
  return bytes;
}

/// Creates the missing folders of the path, with access for the user only.
void CacheFolder::make() const {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      // A parent folder may be unwritable and mkdir fail there; it suffices that the folder exists.
      int reason = errno;
      struct stat status{};
      if (stat(part.c_str(), &status) != 0)
        throw spmd::Error("cannot create the folder '" + part + "': " + spmd::writeProblem(reason));
    }
    if (end == std::string::npos)
      return;
  }
}

void CacheFolder::write(const std::string &key, std::string_view bytes) const {
  if (!exists()) {
    make();
    exists(); // Another process may have created a file of this name, or a folder of another user.
  }
  if (bytes.size() > static_cast<size_t>(maxBytes))
    return;
  spmd::AtomicFile file(pathOf(key), spmd::Readers::Owner);
  file.write(bytes);
  // No fsync: an entry that a machine crash damages is compiled again.
  file.commit(spmd::Durability::None);
  removeOldest();
}

void CacheFolder::remove(const std::string &key) const { unlink(pathOf(key).c_str()); }

void CacheFolder::removeOldest() const {
  struct File {
    std::filesystem::file_time_type used;
    std::filesystem::path path;
    int64_t bytes;
  };
  std::vector<File> files;
  int64_t total = 0;
  // Other processes add and remove files at the same time: files that disappear are skipped.
  std::error_code gone;
  auto now = std::filesystem::file_time_type::clock::now();
  for (std::filesystem::directory_iterator it(path, gone), end; !gone && it != end; it.increment(gone)) {
    bool isComplete = false;
    if (!isOurs(it->path().filename().native(), isComplete))
      continue;
    std::error_code missing;
    auto used = it->last_write_time(missing);
    auto bytes = missing ? 0 : it->file_size(missing);
    if (missing)
      continue;
    if (!isComplete && now - used > kAbandoned)
      std::filesystem::remove(it->path(), missing);
    if (!isComplete)
      continue;
    files.push_back({used, it->path(), static_cast<int64_t>(bytes)});
    total += static_cast<int64_t>(bytes);
  }
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used < b.used; });
  for (const File &file : files) {
    if (total <= maxBytes)
      return;
    std::error_code missing;
    std::filesystem::remove(file.path, missing);
    total -= file.bytes;
  }
}

} // namespace spmdc
