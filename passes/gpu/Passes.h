//===- Passes.h - from scheduled kernels to nvvm ----------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace spmdc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/gpu/Passes.h.inc"

/// Discardable attributes of gpu.func: for each parameter, whether no other pointer reaches its memory, and whether the
/// kernel only reads it. They become attributes of the parameters in the llvm dialect.
inline constexpr llvm::StringLiteral kNoAliasAttrName = "spmd.noalias";
inline constexpr llvm::StringLiteral kReadOnlyAttrName = "spmd.readonly";
/// Discardable attribute of gpu.func: the threads of the kernel that a multiprocessor must have room for.
inline constexpr llvm::StringLiteral kResidentThreadsAttrName = "spmd.resident_threads";

/// Discardable attribute of gpu.func: the blocks of a cluster, if the grid consists of clusters; and the attribute of
/// the function in LLVM IR, which LLVM knows from version 21 on. EmitGpu writes it to the PTX.
inline constexpr llvm::StringLiteral kClusterBlocksAttrName = "spmd.cluster_blocks";
inline constexpr llvm::StringLiteral kClusterDimAttrName = "nvvm.cluster_dim";

/// Emits the quotient of f32 values with an error of at most two units in the last place.
mlir::Value emitFullDivision(mlir::OpBuilder &b, mlir::arith::DivFOp op);

} // namespace spmdc
