//===- LinkObject.h - an object file to a shared object ---------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace spmdc {

/// Links object files (their bytes), which do not use one another, with lld, in this process and in memory. What they
/// do not define is taken to be libm's: the shared object then names libm.so.6, so that it can be opened in any
/// process.
mlir::FailureOr<std::string> linkSharedObject(llvm::ArrayRef<std::string> objects, mlir::Location loc);

} // namespace spmdc
