//===- Npz.h - archives of NumPy arrays -------------------------*- C++ -*-===//
//
// A .npz is a zip of .npy members. Of members that are stored (numpy.savez) any part can be read, and those who read
// the parts compare the member's CRC-32 together (ArraySource::getChecksum); compressed ones (savez_compressed) are
// unpacked as a whole, once, and compared then. libzip is opened when the first archive is, so a program that reads
// none does not need it installed.
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
};

/// Writes atomically, members stored, the same bytes for the same arrays.
void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

} // namespace spmd
