//===- ArraySource.h - an array that lies in a file -------------*- C++ -*-===//
//
// What .npy, .npz and .safetensors have in common: a dtype, a shape, and bytes in some order. A source reads the pieces
// that a device owns and touches no other bytes of the file (but for compressed archive members, which can only be
// unpacked as a whole).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/io/Crc32Parts.h"
#include "runtime/support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Bytes that can be read in any order.
class ByteSource {
public:
  virtual ~ByteSource() = default;
  /// Throws spmd::Error where the bytes cannot be read.
  virtual void read(uint64_t offset, uint64_t size, void *target) = 0;
};

/// How an array lies in its file.
struct ArrayLayout {
  std::optional<DType> dtype; ///< None where the language has no such type.
  std::string dtypeText;      ///< What the file says: `<f8`.
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  bool byteSwapped = false; ///< Big endian; converted while reading.
};

/// What a file says of the bytes of an array and of what stands around them.
struct SourceChecksum {
  uint32_t crc32 = 0;
  uint64_t size = 0;  ///< Of all bytes that it is of.
  std::string header; ///< Those in front of the first element.
};

class ArraySource {
public:
  /// `bytes` begins with the first element. `name` is for messages: `x.npy`, `p.npz[first.w]`. Throws if the
  /// `available` bytes are fewer than the shape needs.
  ArraySource(std::string name, ArrayLayout layout, std::unique_ptr<ByteSource> bytes, uint64_t available);

  const std::string &getName() const { return name; }
  const ArrayLayout &getLayout() const { return layout; }

  /// Throws unless this is an array of the parameter's dtype and global shape; the sentence names both and the remedy.
  /// A key is two u32 in a last dimension of its own. By rows: the parameter takes some of its rows at a time.
  void check(const ValueInfo &parameter, bool byRows = false) const;

  /// Reads the elements of `ranges` (one per dimension) to `target`, a row-major array of `paddedShape` whose other
  /// elements become zero. Call check first. `parts`: takes what is read of the bytes that the checksum is of.
  void read(DType dtype, const std::vector<ShardRange> &ranges, const std::vector<int64_t> &paddedShape, void *target,
            Crc32Parts *parts = nullptr) const;

  /// Of a source that reads parts of what its file has a checksum of. Those who read the parts compare it together
  /// (Crc32Parts): one of them adds what is no element (addRest), and each element is added by one.
  void setChecksum(SourceChecksum sum) { checksum = std::move(sum); }
  const std::optional<SourceChecksum> &getChecksum() const { return checksum; }
  void addRest(Crc32Parts &parts) const;
  /// Throws, naming both, where `found` is another CRC-32 than the file says.
  void compareChecksum(uint32_t found) const;
  /// Reads all bytes once to compare the checksum.
  void verify() const;

private:
  void addBytes(uint64_t begin, uint64_t end, Crc32Parts &parts) const;

  std::string name;
  ArrayLayout layout;
  std::unique_ptr<ByteSource> bytes;
  uint64_t elementsEnd = 0; ///< Bytes of all elements.
  std::optional<SourceChecksum> checksum;
};

/// A file of named arrays.
class ArrayArchive {
public:
  virtual ~ArrayArchive() = default;
  /// In the order of the file.
  virtual std::vector<std::string> getNames() const = 0;
  /// Throws, naming what there is, where the key does not exist.
  virtual ArraySource open(const std::string &key) = 0;
};

/// The error of bytes whose checksum is not the one that their file has.
Error checksumError(const std::string &name, uint32_t found, uint32_t expected);

/// The sentence for a key that an archive does not have.
std::string missingKeyMessage(const std::string &file, const std::string &key, const std::vector<std::string> &names);

} // namespace spmd
