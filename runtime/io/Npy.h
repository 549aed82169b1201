//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
//
// Reads versions 1, 2 and 3 of .npy (C and Fortran order, little and big endian) and writes version 1 in C order.
// bf16, which NumPy does not have, is `|V2` as ml_dtypes writes it, and narrow numbers are `|V1`; a key is u32[..., 2].
// Complex numbers are their parts in a last dimension.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/ArraySource.h"

#include <string>
#include <string_view>

namespace spmd {

struct NpyHeader {
  ArrayLayout layout;
  uint64_t dataOffset = 0;
};

/// Limit of a header's size; NumPy's own limit is 10,000 characters.
inline constexpr uint64_t kMaxNpyHeaderBytes = uint64_t(1) << 20;

/// Returns the size of magic and header in bytes, or 0 if `firstBytes` (12 are enough) are not those of a .npy.
uint64_t npyHeaderBytes(std::string_view firstBytes);

/// Parses magic and header; throws spmd::Error that begins with `name`.
NpyHeader parseNpyHeader(std::string_view bytes, const std::string &name);

/// Maps the file: reading a shard reads only its pages.
ArraySource openNpy(const std::string &path);

/// Returns magic and header of version 1, padded to a multiple of 64 bytes. The last dimension of
/// complex numbers has the parts, of type f32 or f64.
std::string npyHeaderText(DType dtype, const std::vector<int64_t> &shape, ElementFormat format = ElementFormat::Plain);

/// Writes atomically. `data` is row-major.
void writeNpy(const std::string &path, DType dtype, const std::vector<int64_t> &shape, const void *data,
              ElementFormat format = ElementFormat::Plain);

} // namespace spmd
