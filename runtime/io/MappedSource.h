//===- MappedSource.h - bytes of a mapped file ------------------*- C++ -*-===//
#pragma once

#include "runtime/io/ArraySource.h"
#include "runtime/support/File.h"

#include <cstring>
#include <memory>

namespace spmd {

/// A part of a mapped file; ArraySource has checked that what it reads lies inside.
class MappedSource final : public ByteSource {
public:
  MappedSource(std::shared_ptr<const MappedFile> file, uint64_t begin) : file(std::move(file)), begin(begin) {}
  void read(uint64_t offset, uint64_t size, void *target) override {
    std::memcpy(target, file->bytes().data() + begin + offset, size);
  }

private:
  std::shared_ptr<const MappedFile> file;
  uint64_t begin;
};

} // namespace spmd
