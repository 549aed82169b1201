//===- ArraySource.h - an array in a file -----------------------*- C++ -*-===//
//
// The common part of .npy, .npz and .safetensors: a dtype, a shape, and bytes in some order. A source reads the shard
// that a device owns and no other bytes of the file (except for compressed archive members, which can only be
// decompressed completely).
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
  /// Throws spmd::Error if the bytes cannot be read.
  virtual void read(uint64_t offset, uint64_t size, void *target) = 0;
};

/// The layout of an array in its file.
struct ArrayLayout {
  std::optional<DType> dtype; ///< None if the language has no such type.
  std::string dtypeText;      ///< As in the file: `<f8`.
  /// Complex elements have the dtype of the parts, which are the last dimension of the shape; narrow ones that of their
  /// bytes.
  ElementFormat format = ElementFormat::Plain;
  /// Whether elements are bytes of a narrow format that the file does not name: ml_dtypes' `|V1`.
  bool isUnnamed = false;
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  bool byteSwapped = false; ///< Big endian; converted while reading.
  /// Whether an array of i64 is also one of i32. So are those of a safetensors file: a state_dict of PyTorch has
  /// integers of 64 bits, for which JAX has 32 unless it is told otherwise.
  bool narrowsIntegers = false;
};

/// The checksum in a file of an array's bytes, and the bytes around them that it includes.
struct SourceChecksum {
  uint32_t crc32 = 0;
  uint64_t size = 0;  ///< Number of all bytes that the checksum covers.
  std::string header; ///< The bytes before the first element.
};

class ArraySource {
public:
  /// `bytes` begins with the first element. `name` is for messages: `x.npy`, `p.npz[first.w]`. Throws if the
  /// `available` bytes are fewer than the shape needs.
  ArraySource(std::string name, ArrayLayout layout, std::unique_ptr<ByteSource> bytes, uint64_t available);

  const std::string &getName() const { return name; }
  const ArrayLayout &getLayout() const { return layout; }

  /// Throws unless this is an array of the parameter's dtype and global shape; the error names both and the remedy. A
  /// key is two u32 in an additional last dimension. A complex parameter takes complex numbers, or their parts, a
  /// narrow one its format, or bytes, and one of i32 takes i64 of a layout that narrows integers. With `byRows` the
  /// parameter takes a batch of the array's rows at a time.
  void check(const ValueInfo &parameter, bool byRows = false) const;

  /// Reads the elements of `ranges` (one per dimension) to `target`, a row-major array of `paddedShape` whose other
  /// elements become zero. Call check first. Throws if a number does not fit in the dtype. `parts` receives the read
  /// bytes that the checksum covers.
  void read(DType dtype, const std::vector<ShardRange> &ranges, const std::vector<int64_t> &paddedShape, void *target,
            Crc32Parts *parts = nullptr) const;

  /// Sets the checksum of a source of which each process reads a part. The processes compare it together (Crc32Parts):
  /// one of them adds the bytes that are not elements (addRest), and each element is added by one process.
  void setChecksum(SourceChecksum sum) { checksum = std::move(sum); }
  const std::optional<SourceChecksum> &getChecksum() const { return checksum; }
  void addRest(Crc32Parts &parts) const;
  /// Throws an error that names both if `found` differs from the CRC-32 of the file.
  void compareChecksum(uint32_t found) const;
  /// Reads all bytes once to compare the checksum.
  void verify() const;

private:
  bool isNarrowed(DType dtype) const {
    return layout.narrowsIntegers && layout.dtype == DType::I64 && dtype == DType::I32;
  }
  void addBytes(uint64_t begin, uint64_t end, Crc32Parts &parts) const;

  std::string name;
  ArrayLayout layout;
  std::unique_ptr<ByteSource> bytes;
  uint64_t elementsEnd = 0; ///< Number of bytes of all elements.
  std::optional<SourceChecksum> checksum;
};

/// A file of named arrays.
class ArrayArchive {
public:
  virtual ~ArrayArchive() = default;
  /// In the order of the file.
  virtual std::vector<std::string> getNames() const = 0;
  /// Throws an error that lists the existing names if the key does not exist.
  virtual ArraySource open(const std::string &key) = 0;
};

/// The error for bytes whose checksum differs from the file's.
Error checksumError(const std::string &name, uint32_t found, uint32_t expected);

/// The message for a key that an archive does not have.
std::string missingKeyMessage(const std::string &file, const std::string &key, const std::vector<std::string> &names);

} // namespace spmd
