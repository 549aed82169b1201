//===- PtxMatricesHelper.cpp - instructions on matrices -------------------===//
//
// By the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions". The registers of a thread go through an array of words (GpuMatricesHelper.h).
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuInstructionsHelper.h"
#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace spmdc {
namespace {

using llvm::StringRef;
using llvm::Value;
using Threads = GpuInstructions;
using MatrixKind = GpuBlock::MatrixKind;

/// Stores registers in an array of words from a position on.
bool storeWords(PtxCode &code, Value *words, unsigned position, llvm::ArrayRef<PtxOperand> registers) {
  llvm::IRBuilder<> &b = code.b;
  for (const PtxOperand &operand : registers) {
    Value *value = code.read(operand, b.getInt32Ty());
    if (!value)
      return false;
    b.CreateStore(value, b.CreateConstGEP1_32(b.getInt32Ty(), words, position++));
  }
  return true;
}

/// Executes an instruction of the warp, and reads its results.
bool exchange(PtxCode &code, MatrixKind kind, Value *words, unsigned operands, llvm::ArrayRef<PtxOperand> results) {
  llvm::IRBuilder<> &b = code.b;
  code.call(&Threads::exchangeMatrices, b.getVoidTy(), {b.getInt32(static_cast<int32_t>(kind)), words});
  return llvm::all_of(llvm::enumerate(results), [&](const auto &result) {
    auto position = static_cast<unsigned>(operands + result.index());
    return code.write(result.value(),
                      b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt32Ty(), words, position)));
  });
}

/// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 {d0, d1, d2, d3}, [address]
bool loadMatrix(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  bool isKnown = code.takeType().bits == 16 && code.take("sync") && code.take("aligned") && code.take("m8n8") &&
                 code.take("x4") && !code.takeOf({"shared", "shared::cta"}).empty() && code.operandCount() == 2 &&
                 code.operand(0).elements.size() == kMatrixResultWords;
  bool isTransposed = code.take("trans");
  PtxCode::Address address = isKnown ? code.address(code.operand(1)) : PtxCode::Address();
  if (!address.value)
    return false;
  Value *words = code.allocate(llvm::ArrayType::get(b.getInt32Ty(), kMatrixAddressWords + kMatrixResultWords));
  Value *pointer = code.checkedPointer("shared", address.value, 16, {.reads = true});
  b.CreateAlignedStore(b.CreatePtrToInt(pointer, b.getInt64Ty()), words, llvm::Align(4));
  return exchange(code, isTransposed ? MatrixKind::LoadTransposed : MatrixKind::Load, words, kMatrixAddressWords,
                  code.operand(0).elements);
}

/// Takes the types of a product: twice that of its factors, and twice that of its sums.
MatrixKind takeTypes(PtxCode &code, StringRef shape) {
  bool isOfHalves = shape == "m16n8k16";
  StringRef factor = isOfHalves ? code.takeOf({"bf16", "f16"}) : code.takeOf({"s8", "u8"});
  StringRef sum = isOfHalves ? "f32" : "s32";
  if (!code.take(factor) || !code.take(sum) || !code.take(sum))
    return MatrixKind::None;
  return llvm::StringSwitch<MatrixKind>(factor)
      .Case("bf16", MatrixKind::MultiplyBf16)
      .Case("f16", MatrixKind::MultiplyF16)
      .Case("s8", MatrixKind::MultiplyI8)
      .Case("u8", MatrixKind::MultiplyU8)
      .Default(MatrixKind::None);
}

/// mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 {d}, {a}, {b}, {c}
/// mma.sync.aligned.m16n8k32.row.col.s32.TYPE.TYPE.s32 {d}, {a}, {b}, {c}
bool multiply(PtxCode &code) {
  bool isSync = code.take("sync") && code.take("aligned");
  StringRef shape = isSync ? code.takeOf({"m16n8k16", "m16n8k32"}) : "";
  if (shape.empty() || !code.take("row") || !code.take("col") || code.operandCount() != 4)
    return false;
  MatrixKind kind = takeTypes(code, shape);
  llvm::ArrayRef<PtxOperand> operands = code.statement().operands;
  if (kind == MatrixKind::None || operands[0].elements.size() != 4 || operands[1].elements.size() != 4 ||
      operands[2].elements.size() != 2 || operands[3].elements.size() != 4)
    return false;
  Value *words = code.allocate(llvm::ArrayType::get(code.b.getInt32Ty(), kMatrixOperandWords + kMatrixResultWords));
  return storeWords(code, words, 0, operands[1].elements) && storeWords(code, words, 4, operands[2].elements) &&
         storeWords(code, words, 6, operands[3].elements) &&
         exchange(code, kind, words, kMatrixOperandWords, operands[0].elements);
}

/// wgmma.mma_async.sync.aligned.m64nNk16.f32.TYPE.TYPE {sums}, left, right, accumulates, 1, 1[, 0], isTransposed
bool startWarpgroupProduct(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  WarpgroupProduct product;
  product.isBf16 = code.take("bf16") && code.take("bf16");
  bool isKnown = (product.isBf16 || (code.take("f16") && code.take("f16"))) && code.take("f32");
  llvm::ArrayRef<PtxOperand> operands = code.statement().operands;
  if (!isKnown || code.statement().parts.size() != 8 || operands.size() < 7)
    return false;
  std::string shape = code.statement().parts[4];
  StringRef rest = shape;
  if (!rest.consume_front("m64n") || !rest.consume_back("k16") || rest.getAsInteger(10, product.columns) ||
      !code.take(shape))
    return false;
  product.isLeftInRegisters = operands[1].kind == PtxOperand::Kind::Vector;
  product.isRightTransposed = operands.back().integer == 1;
  auto isNumber = [&](size_t number, int64_t value) {
    return operands[number].kind == PtxOperand::Kind::Integer && operands[number].integer == value;
  };
  size_t sums = product.columns / 2, last = product.isLeftInRegisters ? 6 : 7;
  if (operands[0].elements.size() != sums || operands.size() != last + 1 || !isNumber(4, 1) || !isNumber(5, 1) ||
      (!product.isLeftInRegisters && !isNumber(6, 0)))
    return false;
  Value *accumulates = code.read(3, b.getInt1Ty()), *right = code.read(2, b.getInt64Ty());
  Value *words =
      code.allocate(llvm::ArrayType::get(b.getInt32Ty(), WarpgroupProduct::kLeftWords + WarpgroupProduct::kRightWords));
  if (!accumulates || !right)
    return false;
  if (product.isLeftInRegisters) {
    if (operands[1].elements.size() != WarpgroupProduct::kLeftWords ||
        !storeWords(code, words, 0, operands[1].elements))
      return false;
  } else {
    Value *left = code.read(1, b.getInt64Ty());
    if (!left)
      return false;
    b.CreateAlignedStore(left, words, llvm::Align(4));
  }
  b.CreateAlignedStore(right, b.CreateConstGEP1_32(b.getInt32Ty(), words, WarpgroupProduct::kLeftWords),
                       llvm::Align(4));
  // The registers of the sums change when the kernel waits for the product.
  Value *registers = code.allocate(llvm::ArrayType::get(b.getPtrTy(), sums));
  for (size_t i = 0; i < sums; ++i) {
    llvm::AllocaInst *sum = code.findRegister(operands[0].elements[i]);
    if (!sum || !sum->getAllocatedType()->isFloatTy())
      return false;
    b.CreateStore(sum, b.CreateConstGEP1_64(b.getPtrTy(), registers, i));
  }
  code.call(&Threads::startProduct, b.getVoidTy(),
            {b.getInt32(product.encode()), words, registers, b.CreateZExt(accumulates, b.getInt32Ty()),
             b.getInt32(code.currentSite())});
  return true;
}

bool useWarpgroup(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  if (!code.take("sync") || !code.take("aligned"))
    return false;
  if (code.take("mma_async"))
    return startWarpgroupProduct(code);
  if (code.take("fence"))
    return code.operandCount() == 0 && code.call(&Threads::fenceProducts, b.getVoidTy(), {});
  if (code.take("commit_group"))
    return code.operandCount() == 0 && code.call(&Threads::commitProducts, b.getVoidTy(), {});
  if (!code.take("wait_group") || code.operandCount() != 1)
    return false;
  Value *running = code.read(0, b.getInt32Ty());
  return running && code.call(&Threads::finishProducts, b.getVoidTy(), {running});
}

} // namespace

PtxFamily findMatrixFamily(StringRef opcode) {
  return llvm::StringSwitch<PtxFamily>(opcode)
      .Case("ldmatrix", loadMatrix)
      .Case("mma", multiply)
      .Case("wgmma", useWarpgroup)
      .Default(nullptr);
}

} // namespace spmdc
