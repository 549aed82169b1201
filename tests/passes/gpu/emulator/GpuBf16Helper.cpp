//===- GpuBf16Helper.cpp - bf16 in the emulator's LLVM IR -----------------===//

#include "tests/passes/gpu/emulator/GpuBf16Helper.h"

#include "tests/passes/gpu/emulator/GpuAssemblyHelper.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/NoFolder.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <regex>

namespace spmdc {
namespace {

bool isBf16(const llvm::Type *type) { return type->getScalarType()->isBFloatTy(); }

/// The type, scalar or vector, with other elements.
llvm::Type *withElement(llvm::Type *type, llvm::Type *element) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

/// Rewrites the operations of one instruction.
class Bf16Rewriter {
public:
  explicit Bf16Rewriter(llvm::Instruction &instruction) : op(instruction), b(&instruction) {}

  /// Returns false if the operation is not known.
  bool rewrite() {
    bool makesBf16 = isBf16(op.getType());
    if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator>(op) && makesBf16)
      return replace(round(withWideOperands()));
    if (llvm::isa<llvm::FPTruncInst>(op) && makesBf16)
      return op.getOperand(0)->getType()->getScalarType()->isFloatTy() && replace(round(op.getOperand(0)));
    if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(op) && makesBf16) // Of 8 bits: f32 has the exact value.
      return replace(round(b.CreateCast(llvm::cast<llvm::CastInst>(op).getOpcode(), op.getOperand(0), wideType())));
    if (llvm::isa<llvm::FPExtInst>(op) && isBf16(op.getOperand(0)->getType()))
      return replace(b.CreateFPCast(widen(op.getOperand(0)), op.getType()));
    if (llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst, llvm::FCmpInst>(op) && isBf16(op.getOperand(0)->getType()))
      return replace(withWideOperands());
    return !llvm::isa<llvm::CallInst>(op) || !makesBf16;
  }

private:
  llvm::Type *wideType() { return withElement(op.getType(), b.getFloatTy()); }

  llvm::Value *widen(llvm::Value *value) {
    llvm::Value *bits = b.CreateBitCast(value, withElement(value->getType(), b.getInt16Ty()));
    llvm::Value *wide = b.CreateShl(b.CreateZExt(bits, withElement(value->getType(), b.getInt32Ty())), 16);
    return b.CreateBitCast(wide, withElement(value->getType(), b.getFloatTy()));
  }

  /// The same operation on f32.
  llvm::Value *withWideOperands() {
    llvm::Instruction *wide = op.clone();
    for (llvm::Use &operand : wide->operands())
      operand.set(widen(operand.get()));
    if (isBf16(wide->getType()))
      wide->mutateType(wideType());
    return b.Insert(wide);
  }

  llvm::Value *round(llvm::Value *value) {
    llvm::FunctionCallee function =
        op.getModule()->getOrInsertFunction(std::string(kEmulatedPrefix) + "f2bf16.rn", b.getInt16Ty(), b.getFloatTy());
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (!vector)
      return b.CreateBitCast(b.CreateCall(function, {value}), op.getType());
    llvm::Value *bits = llvm::PoisonValue::get(withElement(vector, b.getInt16Ty()));
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      bits = b.CreateInsertElement(bits, b.CreateCall(function, {b.CreateExtractElement(value, i)}), i);
    return b.CreateBitCast(bits, op.getType());
  }

  bool replace(llvm::Value *value) {
    op.replaceAllUsesWith(value);
    op.eraseFromParent();
    return true;
  }

  llvm::Instruction &op;
  llvm::IRBuilder<llvm::NoFolder> b; // Constants stay operations, which have no bf16 once the types are replaced.
};

/// Remaining operations only move bf16: the type becomes i16, and constants, written as `0xR3F80`, become integers.
std::string renameType(const std::string &text) {
  static const std::regex constant("0xR([0-9A-F]{4})"), type("\\bbfloat\\b");
  std::string result;
  auto end = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), constant), last; at != last; ++at) {
    result.append(end, text.cbegin() + at->position());
    result += std::to_string(std::stoi((*at)[1], nullptr, 16));
    end = text.cbegin() + at->position() + at->length();
  }
  result.append(end, text.cend());
  return std::regex_replace(result, type, "i16");
}

} // namespace

std::string replaceBf16(const std::string &text, std::string &error) {
  if (text.find("bfloat") == std::string::npos)
    return text;
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIR(llvm::MemoryBufferRef(text, "kernels"), diagnostic, context);
  if (!module) {
    error = diagnostic.getMessage().str();
    return "";
  }
  for (llvm::Function &function : *module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (std::string shown; !Bf16Rewriter(instruction).rewrite()) {
        llvm::raw_string_ostream(shown) << instruction;
        error = "an operation on bf16 that the emulator does not know:" + shown;
        return "";
      }
  std::string changed;
  llvm::raw_string_ostream(changed) << *module;
  return renameType(changed);
}

} // namespace spmdc
