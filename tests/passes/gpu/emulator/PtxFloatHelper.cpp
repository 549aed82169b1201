//===- PtxFloatHelper.cpp - instructions on floats ------------------------===//
//
// By the PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point Instructions". Sums and products
// that round to nearest are this machine's, and never joined. Those of 16 bits are computed in f32, or fma in f64, and
// rounded once more, which gives the same. Other rounding modes and approximations are functions of
// GpuIntrinsicsHelper.h.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/PtxCodeHelper.h"
#include "tests/passes/gpu/emulator/PtxFloatCodeHelper.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

namespace spmdc {

using llvm::StringRef;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

Value *widenBf16(llvm::IRBuilder<> &b, Value *bits) {
  llvm::Type *wide = b.getInt32Ty(), *result = b.getFloatTy();
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(bits->getType())) {
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
    result = llvm::FixedVectorType::get(result, vector->getNumElements());
  }
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, wide), 16), result);
}

Value *roundToBf16(llvm::IRBuilder<> &b, Value *value) {
  llvm::Type *wide = b.getInt32Ty(), *narrow = b.getInt16Ty();
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
    wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
    narrow = llvm::FixedVectorType::get(narrow, vector->getNumElements());
  }
  auto constant = [&](uint64_t number) { return llvm::ConstantInt::get(wide, number); };
  // Nearest, ties to even: a carry out of the lower half, of which the last bit kept decides at a tie.
  Value *bits = b.CreateBitCast(value, wide);
  Value *isOdd = b.CreateAnd(b.CreateLShr(bits, 16), constant(1));
  Value *rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, constant(0x7fff)), isOdd), 16);
  Value *isNan = b.CreateFCmpUNO(value, value);
  return b.CreateTrunc(b.CreateSelect(isNan, constant(0x7fff), rounded), narrow);
}

Value *flushSubnormal(llvm::IRBuilder<> &b, Value *value) {
  double least = value->getType()->isDoubleTy() ? 0x1p-1022 : 0x1p-126;
  Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *zero = b.CreateBinaryIntrinsic(Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0), value);
  return b.CreateSelect(b.CreateFCmpOLT(size, llvm::ConstantFP::get(value->getType(), least)), zero, value);
}

Value *widenFloat(PtxCode &code, Value *value, PtxType type) {
  if (type.isBfloat())
    return widenBf16(code.b, value);
  if (type.bits != 16)
    return value;
  llvm::Type *wide = code.b.getFloatTy();
  return code.b.CreateFPExt(value, type.lanes > 1 ? llvm::FixedVectorType::get(wide, type.lanes) : wide);
}

Value *narrowFloat(PtxCode &code, Value *value, PtxType type) {
  if (type.bits != 16)
    return value;
  if (!value->getType()->getScalarType()->isDoubleTy())
    return type.isBfloat() ? roundToBf16(code.b, value) : code.b.CreateFPTrunc(value, code.typeOf(type));
  void *round = findIntrinsic(type.isBfloat() ? "d2bf16.rn" : "d2h.rn");
  llvm::IRBuilder<> &b = code.b;
  auto roundOne = [&](Value *one) -> Value * { return code.callAddress(round, b.getInt16Ty(), {one}); };
  Value *bits = nullptr;
  if (type.lanes == 1) {
    bits = roundOne(value);
  } else {
    bits = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt16Ty(), type.lanes));
    for (unsigned i = 0; i < type.lanes; ++i)
      bits = b.CreateInsertElement(bits, roundOne(b.CreateExtractElement(value, i)), i);
  }
  return b.CreateBitCast(bits, code.typeOf(type));
}

namespace {

/// f64 whose lower 32 bits are zero.
Value *dropLowHalf(llvm::IRBuilder<> &b, Value *value) {
  Value *bits = b.CreateBitCast(value, b.getInt64Ty());
  return b.CreateBitCast(b.CreateAnd(bits, 0xffffffff00000000), b.getDoubleTy());
}

/// The less of two numbers, of which -0 is less than 0; NaN if one is NaN, or the other one.
Value *computeExtremum(PtxCode &code, bool isMin, bool propagatesNan, Value *x, Value *y) {
  llvm::IRBuilder<> &b = code.b;
  Value *result = b.CreateBinaryIntrinsic(isMin ? Intrinsic::minimum : Intrinsic::maximum, x, y);
  if (propagatesNan)
    return result;
  result = b.CreateSelect(b.CreateFCmpUNO(y, y), x, result);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), y, result);
}

/// A result in nearest rounding that needs no function of GpuIntrinsicsHelper.h; null for other instructions.
Value *computeInline(PtxCode &code, StringRef name, llvm::ArrayRef<Value *> values) {
  llvm::IRBuilder<> &b = code.b;
  if (name == "add")
    return b.CreateFAdd(values[0], values[1]);
  if (name == "sub")
    return b.CreateFSub(values[0], values[1]);
  if (name == "mul")
    return b.CreateFMul(values[0], values[1]);
  if (name == "div")
    return b.CreateFDiv(values[0], values[1]);
  if (name == "fma" || name == "mad")
    return b.CreateIntrinsic(Intrinsic::fma, {values[0]->getType()}, values);
  if (name == "sqrt")
    return b.CreateUnaryIntrinsic(Intrinsic::sqrt, values[0]);
  if (name == "rcp")
    return b.CreateFDiv(llvm::ConstantFP::get(values[0]->getType(), 1), values[0]);
  return nullptr;
}

bool isInline(StringRef name, StringRef mode) {
  bool isNearest = mode == "rn" || mode == "approx";
  return isNearest && (name == "add" || name == "sub" || name == "mul" || name == "fma" || name == "mad" ||
                       name == "div" || name == "sqrt" || name == "rcp");
}

} // namespace

bool computePtxFloat(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  StringRef name = code.statement().parts[0];
  PtxType type = code.takeType();
  bool isExtremum = name == "min" || name == "max", isFlushed = code.take("ftz"), isSaturated = code.take("sat"),
       propagatesNan = isExtremum && code.take("NaN");
  StringRef mode =
      isExtremum || name == "neg" || name == "abs" ? "" : code.takeOf({"rn", "rz", "rm", "rp", "approx", "full"});
  bool isSum = name == "add" || name == "sub" || name == "mul";
  size_t count = isSum || name == "div" || isExtremum ? 2 : name == "fma" || name == "mad" ? 3 : 1;
  bool isLacking = mode.empty() && !isSum && !isExtremum && name != "neg" && name != "abs";
  if (code.operandCount() != count + 1 || isLacking || (isSum && (mode == "approx" || mode == "full")) ||
      (isFlushed && type.bits != 32 && type.bits != 64))
    return false;
  if (mode.empty())
    mode = "rn";
  // Of 64 bits, rcp.approx.ftz and rsqrt.approx.ftz know the upper half alone.
  bool isCoarse = type.bits == 64 && isFlushed && mode == "approx";
  std::vector<Value *> values;
  for (size_t i = 1; i <= count; ++i) {
    Value *value = code.read(i, code.typeOf(type));
    if (!value)
      return false;
    value = widenFloat(code, value, type);
    if (isFlushed)
      value = flushSubnormal(b, value);
    if (isCoarse)
      value = dropLowHalf(b, value);
    if (type.bits == 16 && name == "fma") {
      llvm::Type *wide = b.getDoubleTy();
      value = b.CreateFPExt(value, type.lanes > 1 ? llvm::FixedVectorType::get(wide, type.lanes) : wide);
    }
    values.push_back(value);
  }
  Value *result = nullptr;
  if (name == "neg") {
    result = b.CreateFNeg(values[0]);
  } else if (name == "abs") {
    result = b.CreateUnaryIntrinsic(Intrinsic::fabs, values[0]);
  } else if (isExtremum) {
    result = computeExtremum(code, name == "min", propagatesNan, values[0], values[1]);
  } else if (isInline(name, mode)) {
    result = computeInline(code, name, values);
  } else {
    void *function = findIntrinsic((name + "." + mode + (type.bits == 64 ? ".d" : ".f")).str());
    if (!function || type.lanes > 1)
      return false;
    result = code.callAddress(function, values[0]->getType(), values);
  }
  if (isCoarse)
    result = dropLowHalf(b, result);
  if (isSaturated)
    result = saturateFloat(code, result);
  if (isFlushed)
    result = flushSubnormal(b, result);
  return code.write(code.operand(0), narrowFloat(code, result, type));
}

Value *saturateFloat(PtxCode &code, Value *value) {
  llvm::IRBuilder<> &b = code.b;
  Value *zero = llvm::ConstantFP::get(value->getType(), 0), *one = llvm::ConstantFP::get(value->getType(), 1);
  // NaN and -0 become 0.
  value = b.CreateSelect(b.CreateFCmpOGT(value, zero), value, zero);
  return b.CreateSelect(b.CreateFCmpOGT(value, one), one, value);
}

PtxFamily findFloatFamily(StringRef opcode) {
  return llvm::StringSwitch<PtxFamily>(opcode)
      .Cases("fma", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", computePtxFloat)
      .Case("cvt", convertPtx)
      .Case("setp", comparePtx)
      .Case("selp", selectPtx)
      .Default(nullptr);
}

PtxFamily findPtxFamily(StringRef opcode) {
  // Opcodes of both integers and floats.
  auto computeAny = [](PtxCode &code) {
    PtxType type = PtxType::parse(code.statement().parts.back());
    return type.isFloat() ? computePtxFloat(code) : findIntegerFamily(code.statement().parts[0])(code);
  };
  PtxFamily any = llvm::StringSwitch<PtxFamily>(opcode)
                      .Cases("add", "sub", "mul", "mad", "div", "min", "max", "neg", "abs", computeAny)
                      .Default(nullptr);
  for (PtxFamily family : {any, findFloatFamily(opcode), findIntegerFamily(opcode), findMemoryFamily(opcode),
                           findThreadFamily(opcode), findMatrixFamily(opcode)})
    if (family)
      return family;
  return nullptr;
}

} // namespace spmdc
