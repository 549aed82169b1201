//===- NanError.h - a call met a NaN ----------------------------*- C++ -*-===//
#pragma once

#include "Error.h" // Installed beside this header, where the tree's folders are not (cmake/Install.cmake).

namespace spmd {

/// A call of a function with `check_nans` found a NaN. Every process of the mesh throws it for the same call, with the
/// same message, and the job continues: the next call works. JAX: FloatingPointError of `jax_debug_nans`.
class NanError : public Error {
public:
  explicit NanError(const std::string &message) : Error(message) {}
};

} // namespace spmd
