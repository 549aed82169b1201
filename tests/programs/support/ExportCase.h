//===- ExportCase.h - a program and its results as JSON ---------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"

#include <string>

namespace spmdc {

/// For whom a program is written.
enum class ExportFor {
  Jax,    ///< check_with_jax.py, which needs it in Python.
  Running ///< tools/gpu-check, which runs its text.
};

/// One line of JSON: the program, its arguments, what the global evaluator says of its results, and the errors that
/// they may have (Accuracy). For JAX also the program as a Python function of jax.numpy's names (fuzz/check_with_jax.py
/// defines the others); the line is then empty for a program with shard_map or with functions that have other data made
/// by JAX (tests/frontend/data), and for one with 64-bit types, which JAX has only in a mode with other promotion
/// rules. Empty, too, for a program that the global evaluator cannot evaluate.
std::string exportCase(const Case &test, ExportFor reader = ExportFor::Jax);

} // namespace spmdc
