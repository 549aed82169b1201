//===- VectorCalls.h - instructions that loops call by element --*- C++ -*-===//
//
// A target may have an instruction for vectors that LLVM's loop vectorizer cannot form. Scalar code then calls a
// function of one element, with variants for vectors (LLVM Language Reference: `vector-function-abi-variant`): the
// vectorizer calls the variants, and after it all calls become the instruction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace spmdc {

/// f32 (f32 x, f32 n): x * 2^n, rounded once, for an integer n. AVX-512 with vectors of 16 to 64 bytes: vscalefps.
inline constexpr llvm::StringLiteral kScaleFunction = "spmd.scale";

/// Gives calls of the function their variants. Before optimization.
void nameVectorCalls(llvm::Module &module);
/// Replaces all calls by instructions. After optimization.
void lowerVectorCalls(llvm::Module &module);

} // namespace spmdc
