//===- InputChecksums.h - is what all have read what was saved? -*- C++ -*-===//
//
// A .npz has one CRC-32 for all bytes of an array, and each process reads the bytes that its devices hold. The
// processes compute what their bytes contribute to the checksum (Crc32Parts) and compare it together, so that a damaged
// file is found by those who read all of it between them, and nobody reads a byte more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/io/ArraySource.h"

#include <memory>
#include <string>
#include <vector>

namespace spmd {

class InputChecksums {
public:
  explicit InputChecksums(std::shared_ptr<Job> job) : job(std::move(job)) {}

  /// Reads the array of the parameter from its file. Throws Error.
  Array read(const ValueInfo &parameter, const NamedSharding &sharding, ArraySource source);

  /// Throws, on all processes, where the bytes that they have read of an array are not those that were saved. Every
  /// process calls it, after it has read the same parameters, be it from other files.
  void compare();

private:
  struct Checked {
    ArraySource source;
    uint32_t contribution;
  };

  std::shared_ptr<Job> job;
  std::vector<std::optional<Checked>> arrays; ///< None where the file has no checksum.
};

} // namespace spmd
