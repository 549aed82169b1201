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

/// A file mapped for reading: only the pages that are touched are read. Where the file may shrink meanwhile,
/// copyGuarded (GuardedCopy.h) takes what is still there.
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

/// What a file holds, or a pipe until nobody writes to it any more: of what is longer than `maxBytes` one byte more.
std::string readWhole(const std::string &path, size_t maxBytes);

/// Who may read a file that is new: whom the umask lets, or its owner alone.
enum class Readers { ByUmask, Owner };

/// Whether a file outlives a crash of the machine, which takes the time that the disk takes.
enum class Durability { Synced, None };

/// A file that appears complete under its name or not at all: written without a name (where the file system can do
/// that, nothing is left of it also after kill -9; else beside the name), synced, then renamed. If the writer is
/// destroyed before commit(), nothing is left. A symbolic link stays, and a file keeps its mode. What is no file (a
/// device, a pipe) is written as it is.
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

  std::string path;      ///< As it was given.
  std::string target;    ///< Where its symbolic links lead; empty: written as it is.
  std::string temporary; ///< Empty: there is none.
  int descriptor = -1;
};

/// Makes `temporary` durable and gives it its name.
void renameDurably(const std::string &temporary, const std::string &path);

/// Why nothing could be written to a file of that name, to be asked before hours are spent on what it is to hold:
/// `folder '/results': Permission denied; choose another place, ...`. Empty where nothing is known against it. Leaves
/// nothing behind.
std::string writeObstacle(const std::string &path);

/// What the system says of a file that cannot be written, and what to do: `No space left on device; free some, or
/// choose another place`.
std::string writeProblem(int reason);

void writeFileAtomically(const std::string &path, std::string_view bytes, Readers readers = Readers::ByUmask);

} // namespace spmd
