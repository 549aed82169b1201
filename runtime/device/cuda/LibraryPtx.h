//===- LibraryPtx.h - the PTX of kernels/*.cu -------------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace spmd::cuda {

/// The PTX of a module, as gzip compresses it.
struct CompressedPtx {
  std::string_view bytes;
  size_t textBytes = 0;
};

/// Empty if there is no module of this name. The build makes the function from kernels/Kernels.cmake.
CompressedPtx findCompressedPtx(std::string_view module);

/// Returns the PTX of a module of kernels/Kernels.cmake; empty if there is none of this name.
std::string findLibraryPtx(std::string_view module);

} // namespace spmd::cuda
