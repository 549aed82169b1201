//===- InputChecksums.h - checksums of inputs -------------------*- C++ -*-===//
//
// A .npz has one CRC-32 for all bytes of an array, but each process reads only the bytes that its devices hold. The
// processes compute the contributions of their bytes to the checksum (Crc32Parts) and combine them, so that together
// they find a damaged file without reading a byte more.
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

  /// Throws, on all processes, if the bytes that they have read of an array do not match its checksum. Every process
  /// calls it, after it has read the same parameters, even if from other files.
  void compare();

private:
  struct Checked {
    ArraySource source;
    uint32_t contribution;
  };

  std::shared_ptr<Job> job;
  std::vector<std::optional<Checked>> arrays; ///< nullopt if the file has no checksum.
};

} // namespace spmd
