//===- Safetensors.h - archives in the safetensors format -------*- C++ -*-===//
//
// An 8-byte length, a JSON header of that length (name -> dtype, shape, data_offsets), and the bytes. The file is
// mapped: reading a shard reads only its pages. The header is checked when the file is opened: every array has the size
// of its type and shape, and together they fill the file without overlap, as the format demands.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/ArraySource.h"
#include "runtime/io/Npz.h"
#include "runtime/support/File.h"

#include <map>

namespace spmd {

/// Limit of a header's size; it is the format's own limit.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

class SafetensorsArchive : public ArrayArchive {
public:
  /// The texts under `__metadata__`.
  virtual const std::map<std::string, std::string> &getMetadata() const = 0;
  /// Everything before the arrays: the length and the header.
  virtual std::string_view getHeader() const = 0;
  /// Returns the row-major elements of an array. Throws like open.
  virtual std::string_view getBytes(const std::string &key) const = 0;
  virtual const ArrayLayout &getLayout(const std::string &key) const = 0;
};

std::unique_ptr<SafetensorsArchive> openSafetensors(const std::string &path);

/// Writes atomically. The header lists the metadata, if any, and then the arrays in the given order. Their bytes are in
/// the order of decreasing element size, so that each array is aligned to its element size.
void writeSafetensors(const std::string &path, const std::vector<NamedArray> &arrays,
                      const std::map<std::string, std::string> &metadata = {}, Readers readers = Readers::ByUmask);

} // namespace spmd
