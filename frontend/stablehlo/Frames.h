//===- Frames.h - Python's call stacks of an export -------------*- C++ -*-===//
//
// JAX records the stack of each operation without its own frames. A program of PyTorch that torchax runs as JAX has
// some twenty frames of torch and torchax in each stack, and all its operations begin in the same few lines of torchax:
//
//     torchax/ops/jaten.py:3071 < torchax/tensor.py:633 < torch/nn/modules/linear.py:134 < ... < model.py:12
//
// Reports and messages show the user's line, here model.py:12, so the frames of the two packages are left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"

namespace spmdc::stablehlo {

/// The stack `loc` without the frames of torch and torchax as Python installs them; itself if it has no others.
mlir::Location withoutFrameworkFrames(mlir::CallSiteLoc loc);

} // namespace spmdc::stablehlo
