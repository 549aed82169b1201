//===- MovementPatterns.h - composition of moves ----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace spmdc {

void addMovementPatterns(mlir::RewritePatternSet &patterns);
void addPartsPatterns(mlir::RewritePatternSet &patterns);

} // namespace spmdc
