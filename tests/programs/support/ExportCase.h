//===- ExportCase.h - a program and its results for JAX ---------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"

#include <string>

namespace spmdc {

/// One line of JSON: the program as a Python function of jax.numpy's names (fuzz/check_with_jax.py defines the others),
/// its arguments, and what the global evaluator says of its results. Empty for a program with shard_map or
/// with functions that have other data made by JAX (tests/frontend/data), and for
/// one with 64-bit types, which JAX has only in a mode with other promotion rules.
std::string exportCase(const Case &test);

} // namespace spmdc
