//===- Platforms.h - exports for several platforms --------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spmdc::stablehlo {

/// The attribute of the argument that `jax.export` adds to a program for several platforms, by its name there.
constexpr const char *kGlobalConstant = "jax.global_constant";
constexpr const char *kPlatformIndex = "_platform_index";

/// On that argument, the platforms in order: an array of texts. Serialized exports have them, and their text here.
constexpr const char *kPlatforms = "spmdc.platforms";

/// Whether an argument is the number of the platform.
bool isPlatformIndex(mlir::func::FuncOp function, unsigned argument);

/// Replaces the number of the platform, an argument that no user gives, by that of `platform` (`cpu` or `cuda`). Fails
/// with a message if the program is not for this platform, or has no list of them.
mlir::LogicalResult bindPlatform(mlir::func::FuncOp entry, llvm::StringRef platform);

} // namespace spmdc::stablehlo
