//===- Segment.cpp --------------------------------------------------------===//

#include "runtime/device/cpu/Segment.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spmd {
namespace {

[[noreturn]] void fail(const std::string &what, int64_t bytes, const char *kind = "shared memory") {
  int reason = errno;
  throw Error(kind + (": " + what) + " " + std::to_string(bytes) + " bytes failed: " +
              (reason == ENOMEM ? systemErrorText(reason) + ": " + noMemoryText() : writeProblem(reason)));
}

/// A huge page of x86-64 begins at a multiple of its size.
constexpr int64_t hugeBytes = int64_t(2) << 20;

/// Asks for huge pages behind the first one: one core reads f32 arrays of 64 MiB at twice the rate of pages of 4 KiB.
/// The allocator starts at the lowest address, so a device that holds little takes no more than it holds; with a huge
/// page each, 1024 devices of a process took 2 GiB for any program. Arrays that fit there lose nothing: calls with
/// arrays of 0.4 MiB take as long as with huge pages.
void adviseHugePages(char *base, int64_t bytes) {
  madvise(base, std::min(bytes, hugeBytes), MADV_NOHUGEPAGE);
  if (bytes > hugeBytes)
    madvise(base + hugeBytes, bytes - hugeBytes, MADV_HUGEPAGE);
}

} // namespace

std::shared_ptr<Segment> Segment::create(const std::string &name, int64_t bytes) {
  // Not executable if the kernel has the flag (since 6.3); such kernels warn if a caller chooses neither.
  constexpr unsigned noExec = 0x0008U;
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | noExec));
  if (!fd && errno == EINVAL)
    fd = UniqueFd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    fail("creating a segment of", bytes);
  if (ftruncate(fd.get(), bytes) != 0 || fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("sizing a segment of", bytes);
  return map(std::move(fd), bytes, /*writable=*/true);
}

std::shared_ptr<Segment> Segment::createPrivate(int64_t bytes) {
  int64_t surplus = bytes >= hugeBytes ? hugeBytes : 0;
  void *mapped =
      mmap(nullptr, bytes + surplus, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    fail("mapping", bytes, "memory");
  auto *begin = static_cast<char *>(mapped), *base = begin;
  if (surplus > 0) {
    int64_t before = -reinterpret_cast<intptr_t>(begin) & (hugeBytes - 1);
    base += before;
    if (before > 0)
      munmap(begin, before);
    if (before < surplus)
      munmap(base + bytes, surplus - before);
  }
  adviseHugePages(base, bytes);
  madvise(base, bytes, MADV_DONTDUMP);
  return std::shared_ptr<Segment>(new Segment(UniqueFd(), base, bytes));
}

std::shared_ptr<Segment> Segment::open(int given, bool writable) {
  UniqueFd fd(given);
  struct stat info{};
  int seals = fcntl(fd.get(), F_GET_SEALS);
  if (fstat(fd.get(), &info) != 0 || seals < 0 || !(seals & F_SEAL_SHRINK) || info.st_size <= 0)
    throw Error("shared memory: a peer handed over a descriptor that is no sealed memory segment");
  return map(std::move(fd), info.st_size, writable);
}

std::shared_ptr<Segment> Segment::map(UniqueFd fd, int64_t bytes, bool writable) {
  void *base = mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (base == MAP_FAILED)
    fail("mapping", bytes);
  // Takes effect if /sys/kernel/mm/transparent_hugepage/shmem_enabled allows it.
  adviseHugePages(static_cast<char *>(base), bytes);
  madvise(base, bytes, MADV_DONTDUMP);
  return std::shared_ptr<Segment>(new Segment(std::move(fd), static_cast<char *>(base), bytes));
}

bool Segment::releasePages(int64_t offset, int64_t length) {
  return madvise(base + offset, length, descriptor ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

Segment::~Segment() { munmap(base, size); }

} // namespace spmd
