//===- JaxValues.h - arrays in the files with JAX's values ------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include <nlohmann/json.hpp>
#include <string>

namespace spmdc {

/// Reads {"dtype": "f32", "shape": [2], "values": [1.5, "nan"]}: JSON has no NaN, no infinity and no -0.0, so they are
/// strings.
Tensor readTensor(const nlohmann::json &json, mlir::MLIRContext &context);

/// Returns where two results differ by more than `tolerance` times the largest expected element; otherwise "".
std::string compareWithJax(const Tensor &expected, const Tensor &actual, double tolerance);

/// Compiles a program and runs it on the devices of its mesh, with padding that is poison: `test` has its "arguments",
/// JAX's "results", and the "tolerance". Returns the error or the first difference; otherwise "".
std::string runBesideJax(const std::string &fileName, const std::string &text, const nlohmann::json &test);

} // namespace spmdc
