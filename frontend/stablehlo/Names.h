//===- Names.h - JAX's paths as names ---------------------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc::stablehlo {

/// The name of a parameter or result: `p[0]['w'].scale` is `p.0.w.scale`. Characters of ASCII that are no
/// letter, digit or underscore become underscores; others are kept: `p['ü']` is `p.ü`.
std::string nameOfPath(llvm::StringRef path);

} // namespace spmdc::stablehlo
