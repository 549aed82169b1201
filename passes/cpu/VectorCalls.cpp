//===- VectorCalls.cpp - instructions that loops call by element ----------===//

#include "passes/cpu/VectorCalls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace spmdc {
namespace {

/// Elements of the vectors for which there is a variant.
constexpr unsigned kWidths[] = {4, 8, 16};

std::string nameOfVariant(unsigned width) { return (kScaleFunction + ".v" + llvm::Twine(width)).str(); }

void describe(llvm::Function &function) {
  function.setDoesNotThrow();
  function.setDoesNotAccessMemory();
  function.setWillReturn();
  function.addFnAttr(llvm::Attribute::Speculatable);
}

/// x * 2^n for vectors.
llvm::Value *emitScale(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *n) {
  auto *type = llvm::cast<llvm::FixedVectorType>(x->getType());
  unsigned width = type->getNumElements();
  llvm::Value *all = llvm::ConstantInt::getSigned(b.getIntNTy(std::max(8u, width)), -1);
  llvm::SmallVector<llvm::Value *> operands{x, n, llvm::PoisonValue::get(type), all};
  constexpr int currentRounding = 4; // _MM_FROUND_CUR_DIRECTION
  if (width == 16)
    operands.push_back(b.getInt32(currentRounding));
  llvm::Intrinsic::ID id = width == 16  ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                           : width == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                        : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
  return b.CreateIntrinsic(id, {}, operands);
}

llvm::Value *emitScaleOf(llvm::CallInst *call) {
  llvm::IRBuilder<> b(call);
  llvm::Value *x = call->getArgOperand(0), *n = call->getArgOperand(1);
  if (x->getType()->isVectorTy())
    return emitScale(b, x, n);
  llvm::Value *none = llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), 4));
  auto widen = [&](llvm::Value *value) { return b.CreateInsertElement(none, value, uint64_t(0)); };
  return b.CreateExtractElement(emitScale(b, widen(x), widen(n)), uint64_t(0));
}

} // namespace

void nameVectorCalls(llvm::Module &module) {
  llvm::Function *scalar = module.getFunction(kScaleFunction);
  if (!scalar)
    return;
  describe(*scalar);
  std::string variants;
  llvm::SmallVector<llvm::GlobalValue *> functions;
  for (unsigned width : kWidths) {
    auto *vector = llvm::FixedVectorType::get(llvm::Type::getFloatTy(module.getContext()), width);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(vector, {vector, vector}, /*isVarArg=*/false),
                                            llvm::GlobalValue::ExternalLinkage, nameOfVariant(width), module);
    describe(*function);
    functions.push_back(function);
    // In the vector ABI of LLVM, without a mask (N), of two vectors (vv).
    variants += (variants.empty() ? "" : ",") + ("_ZGV_LLVM_N" + std::to_string(width) + "vv_") + kScaleFunction.str() +
                "(" + nameOfVariant(width) + ")";
  }
  // Before the vectorizer nothing calls them.
  llvm::appendToCompilerUsed(module, functions);
  for (llvm::User *user : scalar->users())
    llvm::cast<llvm::CallInst>(user)->addFnAttr(
        llvm::Attribute::get(module.getContext(), "vector-function-abi-variant", variants));
}

void lowerVectorCalls(llvm::Module &module) {
  llvm::SmallVector<std::string> names{kScaleFunction.str()};
  for (unsigned width : kWidths)
    names.push_back(nameOfVariant(width));
  llvm::SmallVector<llvm::Function *> functions;
  for (const std::string &name : names)
    if (llvm::Function *function = module.getFunction(name))
      functions.push_back(function);
  llvm::removeFromUsedLists(module, [&](llvm::Constant *constant) { return llvm::is_contained(functions, constant); });
  for (llvm::Function *function : functions) {
    function->removeDeadConstantUsers(); // Of the list.
    for (llvm::User *user : llvm::make_early_inc_range(function->users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      call->replaceAllUsesWith(emitScaleOf(call));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

} // namespace spmdc
