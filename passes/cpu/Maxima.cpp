//===- Maxima.cpp - maxima and minima of floats on AVX-512 ----------------===//

#include "passes/cpu/Maxima.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

#include <numeric>

namespace spmdc {
namespace {

/// The instruction for vectors of `bits` bits.
llvm::Intrinsic::ID rangeIntrinsic(bool isDouble, unsigned bits) {
  if (bits == 512)
    return isDouble ? llvm::Intrinsic::x86_avx512_mask_range_pd_512 : llvm::Intrinsic::x86_avx512_mask_range_ps_512;
  if (bits == 256)
    return isDouble ? llvm::Intrinsic::x86_avx512_mask_range_pd_256 : llvm::Intrinsic::x86_avx512_mask_range_ps_256;
  return isDouble ? llvm::Intrinsic::x86_avx512_mask_range_pd_128 : llvm::Intrinsic::x86_avx512_mask_range_ps_128;
}

class MaximumEmitter {
public:
  MaximumEmitter(llvm::Instruction *before, bool isMaximum) : b(before), isMaximum(isMaximum) {}

  llvm::Value *emit(llvm::Value *x, llvm::Value *y) {
    llvm::Type *type = x->getType();
    if (type->isVectorTy())
      return emitVector(x, y);
    auto *vector = llvm::FixedVectorType::get(type, kLeastBits / type->getScalarSizeInBits());
    auto widen = [&](llvm::Value *value) {
      return b.CreateInsertElement(llvm::PoisonValue::get(vector), value, uint64_t(0));
    };
    return b.CreateExtractElement(emitVector(widen(x), widen(y)), uint64_t(0));
  }

  /// The maximum of a vector's elements: of its halves, as long as there is an instruction for them, and then of
  /// elements 1, 2, ... apart.
  llvm::Value *emitReduction(llvm::Value *vector) {
    auto *type = llvm::cast<llvm::FixedVectorType>(vector->getType());
    unsigned count = type->getNumElements();
    for (; count * type->getScalarSizeInBits() > kLeastBits; count /= 2)
      vector = emitVector(take(vector, 0, count / 2), take(vector, count / 2, count / 2));
    for (unsigned distance = count / 2; distance > 0; distance /= 2)
      vector = emitVector(vector, take(vector, distance, count));
    return b.CreateExtractElement(vector, uint64_t(0));
  }

  static bool canEmit(llvm::Type *type) {
    llvm::Type *element = type->getScalarType();
    if (!element->isFloatTy() && !element->isDoubleTy())
      return false;
    unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
    return type == element || bits == 128 || bits == 256 || bits == 512;
  }

private:
  static constexpr unsigned kLeastBits = 128; ///< Of the shortest vectors.

  llvm::Value *emitVector(llvm::Value *x, llvm::Value *y) {
    auto *type = llvm::cast<llvm::FixedVectorType>(x->getType());
    unsigned count = type->getNumElements(), bits = count * type->getScalarSizeInBits();
    // Intel's manual, "VRANGEPS": bits 0 and 1 choose the minimum (0) or the maximum (1), and bits 2 and 3 the sign of
    // the result; 1 is the chosen operand's.
    constexpr int minimum = 0b0100, maximum = 0b0101, currentRounding = 4; // _MM_FROUND_CUR_DIRECTION
    llvm::SmallVector<llvm::Value *> operands{x, y, b.getInt32(isMaximum ? maximum : minimum),
                                              llvm::PoisonValue::get(type),
                                              llvm::ConstantInt::getSigned(b.getIntNTy(std::max(8u, count)), -1)};
    if (bits == 512)
      operands.push_back(b.getInt32(currentRounding));
    llvm::Value *range = b.CreateIntrinsic(rangeIntrinsic(type->getScalarType()->isDoubleTy(), bits), {}, operands);
    return b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), range);
  }

  /// `count` elements from `first` on; those behind the end are undefined.
  llvm::Value *take(llvm::Value *vector, unsigned first, unsigned count) {
    unsigned all = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
    llvm::SmallVector<int> lanes(count);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
    for (int &lane : lanes)
      if (lane >= static_cast<int>(all))
        lane = llvm::PoisonMaskElem;
    return b.CreateShuffleVector(vector, lanes);
  }

  llvm::IRBuilder<> b;
  bool isMaximum;
};

/// The value that replaces a call; null if it stays.
llvm::Value *emitCall(llvm::IntrinsicInst *call) {
  llvm::Intrinsic::ID id = call->getIntrinsicID();
  llvm::Value *x = call->getArgOperand(0);
  if (!MaximumEmitter::canEmit(x->getType()) || (call->hasNoNaNs() && call->hasNoSignedZeros()))
    return nullptr;
  switch (id) {
  case llvm::Intrinsic::maximum:
  case llvm::Intrinsic::minimum: {
    llvm::Value *y = call->getArgOperand(1);
    if (llvm::isa<llvm::Constant>(x) || llvm::isa<llvm::Constant>(y))
      return nullptr;
    return MaximumEmitter(call, id == llvm::Intrinsic::maximum).emit(x, y);
  }
  case llvm::Intrinsic::vector_reduce_fmaximum:
  case llvm::Intrinsic::vector_reduce_fminimum:
    return MaximumEmitter(call, id == llvm::Intrinsic::vector_reduce_fmaximum).emitReduction(x);
  default:
    return nullptr;
  }
}

} // namespace

void lowerMaxima(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> calls;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
          calls.push_back(call);
  for (llvm::IntrinsicInst *call : calls)
    if (llvm::Value *value = call->arg_size() ? emitCall(call) : nullptr) {
      call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
}

} // namespace spmdc
