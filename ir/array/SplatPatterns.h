//===- SplatPatterns.h - operations on splats -------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace spmdc {

void addSplatPatterns(mlir::RewritePatternSet &patterns);

} // namespace spmdc
