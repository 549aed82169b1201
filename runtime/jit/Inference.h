//===- Inference.h - the types of an expression -----------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

struct InferredType {
  DType dtype = DType::F32; ///< DType::Key for a random key; its array has two words.
  std::vector<int64_t> shape;
};

/// Infers the types of an expression's results with the front end. `declarations`: a mesh and functions in the
/// language; `parameters`: the names that the expression uses, in the syntax of a signature. Throws the front end's
/// error, with the place `where`. Results are cached. Thread-safe.
std::vector<InferredType> inferTypes(const std::string &declarations, const std::string &parameters,
                                     const std::string &expression, const std::source_location &where);

} // namespace spmd
