//===- PtxFloatCodeHelper.h - LLVM IR of PTX's floats -----------*- C++ -*-===//
#pragma once

#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

namespace spmdc {

/// 16 bits become f32, or both elements of a packed type; other types stay.
llvm::Value *widenFloat(PtxCode &code, llvm::Value *value, PtxType type);
/// Rounds f32 or f64 to a type of 16 bits, to nearest; other types stay.
llvm::Value *narrowFloat(PtxCode &code, llvm::Value *value, PtxType type);
/// Clamps to 0 ... 1; NaN becomes 0.
llvm::Value *saturateFloat(PtxCode &code, llvm::Value *value);
/// The function of GpuIntrinsicsHelper.h with this name; null if there is none.
void *findIntrinsic(const std::string &name);

bool computePtxFloat(PtxCode &code);
bool convertPtx(PtxCode &code);
bool comparePtx(PtxCode &code);
bool selectPtx(PtxCode &code);

} // namespace spmdc
