//===- Crc32Parts.h - a checksum computed in parts --------------*- C++ -*-===//
//
// A zip has one CRC-32 for all bytes of a member, and no process of a job reads all of them. A CRC-32 is linear: each
// process computes the contribution of its own bytes, and the contributions together give the checksum. So every byte
// is checked although no process reads more bytes than its devices hold.
//
//   process 0 reads "spm", process 1 reads "dc":
//     contribution(0 of 5: "spm") ^ contribution(3 of 5: "dc") -> crc32("spmdc")
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace spmd {

/// The CRC-32 of zip, PNG and Python's zlib.crc32 (polynomial 0xedb88320) of `size` bytes, from parts in any order.
class Crc32Parts {
public:
  explicit Crc32Parts(uint64_t size) : size(size) {}

  /// Adds bytes of the sequence; offset + bytes.size() <= size. Each byte must be added exactly once by one of the
  /// processes. Parts in ascending order are cheapest: beyond the pass over the bytes, about 50 ns for each gap,
  /// and 1 us for each part that comes before the previous one.
  void add(uint64_t offset, std::string_view bytes);

  /// Returns the contribution of the parts added here, 0 without parts. Contributions are combined by exclusive or.
  uint32_t getContribution() const;

  /// Returns the CRC-32 of `size` bytes from the exclusive or of all contributions.
  static uint32_t finish(uint32_t contributions, uint64_t size);

private:
  uint64_t size;
  uint32_t flushed = 0;  ///< Contribution of finished ascending runs of parts.
  uint32_t current = 0;  ///< Remainder of the parts of this run, up to `position`.
  uint64_t position = 0; ///< End of the part added last.
  uint64_t lastGap = 0;  ///< Gaps between a shard's rows are equal, so the factor of the last gap is cached.
  uint32_t lastFactor = 0;
};

/// Returns the CRC-32 of bytes that follow others whose CRC-32 is `before`.
uint32_t crc32Of(std::string_view bytes, uint32_t before = 0);

} // namespace spmd
