//===- ExportCase.h - a program and its results as JSON ---------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"

#include <string>

namespace spmdc {

/// The reader of an exported program.
enum class ExportFor {
  Jax,    ///< check_with_jax.py, which needs it in Python.
  Running ///< tools/gpu-check, which runs its text.
};

/// Returns one line of JSON: the program, its arguments, the results of the global evaluator, and the errors that they
/// may have (Accuracy). For JAX also the program as a Python function with jax.numpy's names (fuzz/check_with_jax.py
/// defines the others). The line is then empty for programs with shard_map, with functions for which JAX's values are
/// tested elsewhere (tests/frontend/data), or with 64-bit types, which JAX has only in a mode with other promotion
/// rules. Also empty for a program that the global evaluator cannot evaluate.
std::string exportCase(const Case &test, ExportFor reader = ExportFor::Jax);

} // namespace spmdc
