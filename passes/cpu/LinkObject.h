//===- LinkObject.h - an object file to a shared object ---------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace spmdc {

/// Links object files (their bytes), which do not refer to each other, with lld, in this process and in memory.
/// Undefined symbols are taken to be libm's: the shared object then depends on libm.so.6, so that any process can open
/// it.
mlir::FailureOr<std::string> linkSharedObject(llvm::ArrayRef<std::string> objects, mlir::Location loc);

} // namespace spmdc
