//===- ArraySource.h - an array that lies in a file -------------*- C++ -*-===//
//
// What .npy, .npz and .safetensors have in common: a dtype, a shape, and bytes in some order. A source reads the pieces
// that a device owns and touches no other bytes of the file (but for compressed archive members, which can only be
// unpacked as a whole).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

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
  /// elements become zero. Call check first.
  void read(DType dtype, const std::vector<ShardRange> &ranges, const std::vector<int64_t> &paddedShape,
            void *target) const;

private:
  std::string name;
  ArrayLayout layout;
  std::unique_ptr<ByteSource> bytes;
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

/// The sentence for a key that an archive does not have.
std::string missingKeyMessage(const std::string &file, const std::string &key, const std::vector<std::string> &names);

} // namespace spmd
