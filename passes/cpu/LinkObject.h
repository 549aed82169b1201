//===- LinkObject.h - an object file to a shared object ---------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace spmdc {

/// Links an object file (its bytes) with lld, in this process and in memory. What the object does not define is taken
/// to be libm's: the shared object then names libm.so.6, so that it can be opened in any process.
mlir::FailureOr<std::string> linkSharedObject(llvm::StringRef object, mlir::Location loc);

} // namespace spmdc
