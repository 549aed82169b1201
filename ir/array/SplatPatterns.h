//===- SplatPatterns.h - operations on one number everywhere ----*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace spmdc {

void addSplatPatterns(mlir::RewritePatternSet &patterns);

} // namespace spmdc
