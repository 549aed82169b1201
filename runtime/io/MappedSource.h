//===- MappedSource.h - bytes of a mapped file ------------------*- C++ -*-===//
#pragma once

#include "runtime/io/ArraySource.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/GuardedCopy.h"

#include <memory>

namespace spmd {

/// A part of a mapped file; ArraySource has checked that its reads are inside the part.
class MappedSource final : public ByteSource {
public:
  MappedSource(std::shared_ptr<const MappedFile> file, uint64_t begin) : file(std::move(file)), begin(begin) {}
  void read(uint64_t offset, uint64_t size, void *target) override {
    if (!copyGuarded(target, file->bytes().data() + begin + offset, size))
      throw Error("cannot read '" + file->getPath() +
                  "': the file has become shorter since it was opened, or its disk failed; files must not change "
                  "while they are read");
  }

private:
  std::shared_ptr<const MappedFile> file;
  uint64_t begin;
};

} // namespace spmd
