//===- Inference.h - the types of an expression -----------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

struct InferredType {
  DType dtype = DType::F32; ///< Key: a random key, of which an array has two words.
  std::vector<int64_t> shape;
};

/// The results of an expression of the language, by the front end. `declarations`: a mesh and functions; `parameters`:
/// those that the expression names, as they stand in a signature. Throws the front end's error with the place of the
/// call. Answers are kept. Thread-safe.
std::vector<InferredType> inferTypes(const std::string &declarations, const std::string &parameters,
                                     const std::string &expression, const std::source_location &where);

} // namespace spmd
