//===- File.h - mapped files and atomic writes ------------------*- C++ -*-===//
//
// All errors are spmd::Error and name the file and the system's reason.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spmd {

/// A file mapped for reading: only pages that are accessed are read. If the file may shrink meanwhile, use copyGuarded
/// (GuardedCopy.h), which detects missing pages.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::string_view bytes() const { return {data, size}; }
  const std::string &getPath() const { return path; }

private:
  std::string path;
  const char *data = nullptr;
  size_t size = 0;
};

/// Returns the content of a file, or of a pipe until its last writer closes it; of longer content, `maxBytes` + 1
/// bytes.
std::string readWhole(const std::string &path, size_t maxBytes);

/// The readers of a new file: users whom the umask allows, or its owner alone.
enum class Readers { ByUmask, Owner };

/// Whether a file survives a crash of the machine; a sync takes the time of the disk.
enum class Durability { Synced, None };

/// A file that appears complete under its name or not at all. It is written without a name (if the file system supports
/// that, nothing is left of it even after kill -9; otherwise under a temporary name), synced, then renamed. If the
/// writer is destroyed before commit(), nothing is left. Symbolic links are kept, and an existing file keeps its mode.
/// Devices and pipes are written directly.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path, Readers readers = Readers::ByUmask);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(std::string_view bytes);
  void commit(Durability durability = Durability::Synced);

private:
  [[noreturn]] void fail(const char *action) const;
  void giveName();

  std::string path;      ///< The path as given.
  std::string target;    ///< The path after following symbolic links; empty: written directly.
  std::string temporary; ///< Empty: the file has no temporary name.
  int descriptor = -1;
};

/// Syncs `temporary` and renames it.
void renameDurably(const std::string &temporary, const std::string &path);

/// Returns why no file of that name can be written, so that the caller can check before a long computation: `folder
/// '/results': Permission denied; choose another place, ...`. Empty if no obstacle is known. Leaves no files.
std::string writeObstacle(const std::string &path);

/// Returns the system's message for a file that cannot be written, with a remedy: `No space left on device; free some,
/// or choose another place`.
std::string writeProblem(int reason);

void writeFileAtomically(const std::string &path, std::string_view bytes, Readers readers = Readers::ByUmask);

} // namespace spmd
