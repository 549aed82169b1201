//===- Crc32Parts.h - a checksum that several compute together --*- C++ -*-===//
//
// A zip has one CRC-32 for all bytes of a member, and no process of a job reads all of them. A CRC-32 is linear, so
// each process computes what its own bytes contribute, and the contributions give the checksum together: every byte is
// compared although nobody reads a byte more than its devices hold.
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

  /// Bytes of the sequence; offset + bytes.size() <= size. Of all that add parts, one adds each byte, once. Parts in
  /// ascending order cost the least: beyond the pass over the bytes, about 50 ns for each gap, and 1 us for each part
  /// that stands before the one added last.
  void add(uint64_t offset, std::string_view bytes);

  /// What the parts added here contribute; contributions of others are combined by exclusive or. 0 without parts.
  uint32_t getContribution() const;

  /// The CRC-32 of `size` bytes from the exclusive or of all contributions.
  static uint32_t finish(uint32_t contributions, uint64_t size);

private:
  uint64_t size;
  uint32_t flushed = 0;  ///< Contribution of ascending runs of parts that are over.
  uint32_t current = 0;  ///< Remainder of the parts of this run, up to `position`.
  uint64_t position = 0; ///< Where the part added last ends.
  uint64_t lastGap = 0;  ///< The gaps of a shard's rows are alike: the factor of the last one is kept.
  uint32_t lastFactor = 0;
};

/// The CRC-32 of the bytes behind others whose CRC-32 is `before`.
uint32_t crc32Of(std::string_view bytes, uint32_t before = 0);

} // namespace spmd
