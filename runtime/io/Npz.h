//===- Npz.h - archives of NumPy arrays -------------------------*- C++ -*-===//
//
// A .npz is a zip of .npy members. Any part of an uncompressed member (numpy.savez) can be read; the processes that
// read the parts compare the member's CRC-32 together (ArraySource::getChecksum). Compressed members (savez_compressed)
// are decompressed completely, once, and compared then. libzip is opened with the first archive, so that only programs
// that read archives need it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/ArraySource.h"

#include <memory>
#include <string>
#include <vector>

namespace spmd {

std::unique_ptr<ArrayArchive> openNpz(const std::string &path);

/// An array to be written; `data` is row-major.
struct NamedArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  ElementFormat format = ElementFormat::Plain; ///< As Npy.h says.
};

/// Writes atomically, members uncompressed; equal arrays give equal bytes.
void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

} // namespace spmd
