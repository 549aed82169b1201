//===- Segment.h - memory of a device, mapped at once -----------*- C++ -*-===//
//
// A shared segment is a memfd, memory without a name: it needs no /dev/shm, it can be passed to another process as a
// file descriptor, and the kernel frees it with its last user, however that process ends. Its size is sealed, so that
// no process can make another one fault. A private segment belongs to this process alone, so that the kernel gives it
// huge pages, which it has for memfds only where an administrator allowed them. Pages are allocated at first access, so
// a segment may be larger than its used part.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Process.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace spmd {

class Segment {
public:
  /// Creates a sealed segment, mapped for reading and writing. Throws spmd::Error.
  static std::shared_ptr<Segment> create(const std::string &name, int64_t bytes);
  /// Maps memory that no other process can map: it has no descriptor. Throws spmd::Error.
  static std::shared_ptr<Segment> createPrivate(int64_t bytes);
  /// Maps a segment of another process and takes ownership of the descriptor. Throws if it is not sealed against
  /// shrinking.
  static std::shared_ptr<Segment> open(int fd, bool writable);
  ~Segment();
  Segment(const Segment &) = delete;
  Segment &operator=(const Segment &) = delete;

  char *data() const { return base; }
  int64_t bytes() const { return size; }
  /// -1 if it is private.
  int fd() const { return descriptor.get(); }
  /// Returns these pages to the kernel, which gives zeros at the next access. Returns false if the kernel refuses.
  bool releasePages(int64_t offset, int64_t length);
  bool contains(const void *pointer, int64_t length) const {
    auto *p = static_cast<const char *>(pointer);
    return p >= base && p + length <= base + size;
  }

private:
  static std::shared_ptr<Segment> map(UniqueFd fd, int64_t bytes, bool writable);
  Segment(UniqueFd fd, char *base, int64_t size) : descriptor(std::move(fd)), base(base), size(size) {}

  UniqueFd descriptor;
  char *base;
  int64_t size;
};

} // namespace spmd
