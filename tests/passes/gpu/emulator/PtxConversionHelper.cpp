//===- PtxConversionHelper.cpp - conversions, comparisons, selections -----===//
//
// By the PTX ISA, "Data Movement and Conversion Instructions: cvt" and "Comparison and Selection Instructions".
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuIntrinsicsHelper.h"
#include "tests/passes/gpu/emulator/PtxFloatCodeHelper.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

namespace spmdc {

using llvm::StringRef;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

void *findIntrinsic(const std::string &name) {
  static const llvm::StringMap<void *> all = [] {
    llvm::StringMap<void *> functions;
    for (const GpuIntrinsic &intrinsic : getArithmeticIntrinsics())
      functions[intrinsic.name] = intrinsic.function;
    return functions;
  }();
  return all.lookup(name);
}

namespace {

Value *roundToInteger(PtxCode &code, StringRef mode, Value *value) {
  Intrinsic::ID function = llvm::StringSwitch<Intrinsic::ID>(mode)
                               .Case("rni", Intrinsic::roundeven)
                               .Case("rzi", Intrinsic::trunc)
                               .Case("rmi", Intrinsic::floor)
                               .Default(Intrinsic::ceil);
  return code.b.CreateUnaryIntrinsic(function, value);
}

Value *convertIntegers(PtxCode &code, Value *value, PtxType to, PtxType from, bool isSaturated) {
  llvm::IRBuilder<> &b = code.b;
  llvm::Type *target = code.typeOf(to);
  if (!isSaturated)
    return from.isSigned() ? b.CreateSExtOrTrunc(value, target) : b.CreateZExtOrTrunc(value, target);
  // Clamps in a type that has the numbers of both.
  llvm::Type *wide = b.getIntNTy(128);
  value = from.isSigned() ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
  auto limit = [&](bool isMax) {
    llvm::APInt number =
        to.isSigned() ? (isMax ? llvm::APInt::getSignedMaxValue(to.bits) : llvm::APInt::getSignedMinValue(to.bits))
                      : (isMax ? llvm::APInt::getMaxValue(to.bits) : llvm::APInt::getMinValue(to.bits));
    return llvm::ConstantInt::get(wide, to.isSigned() ? number.sext(128) : number.zext(128));
  };
  value = b.CreateBinaryIntrinsic(Intrinsic::smin, value, limit(true));
  return b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::smax, value, limit(false)), target);
}

/// The nearest number that exists. NaN becomes 0, or the highest bit alone if one of the types has 64 bits.
Value *convertToInteger(PtxCode &code, Value *value, PtxType to, PtxType from) {
  llvm::IRBuilder<> &b = code.b;
  llvm::Type *target = code.typeOf(to);
  Value *result = b.CreateIntrinsic(to.isSigned() ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                    {target, value->getType()}, {value});
  if (from.bits != 64 && to.bits != 64)
    return result;
  Value *highest = llvm::ConstantInt::get(target, llvm::APInt::getSignMask(to.bits));
  return b.CreateSelect(b.CreateFCmpUNO(value, value), highest, result);
}

Value *convertFromInteger(PtxCode &code, Value *value, StringRef mode, PtxType to, PtxType from) {
  llvm::IRBuilder<> &b = code.b;
  // 16 bits are rounded once, from f64, in which integers of up to 32 bits are exact. Of more than 53 bits, the last
  // one that f64 keeps says whether any behind it is set ("round to odd").
  if (to.bits == 16 && from.bits > 32) {
    Value *size = from.isSigned() ? b.CreateBinaryIntrinsic(Intrinsic::abs, value, b.getFalse()) : value;
    Value *lost = b.CreateAnd(size, 0x7ff), *kept = b.CreateAnd(size, ~uint64_t{0x7ff});
    Value *sticky = b.CreateSelect(b.CreateICmpEQ(lost, b.getInt64(0)), b.getInt64(0), b.getInt64(0x800));
    size = b.CreateSelect(b.CreateICmpUGE(size, b.getInt64(uint64_t{1} << 53)), b.CreateOr(kept, sticky), size);
    Value *isNegative = b.CreateICmpSLT(value, b.getInt64(0));
    value = from.isSigned() ? b.CreateSelect(isNegative, b.CreateNeg(size), size) : size;
  }
  llvm::Type *type = to.bits == 32 ? b.getFloatTy() : b.getDoubleTy();
  if (mode == "rn") {
    Value *result = from.isSigned() ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
    return narrowFloat(code, result, to);
  }
  if (to.bits == 16)
    return nullptr;
  bool isLong = from.bits == 64;
  llvm::Type *wide = isLong ? b.getInt64Ty() : b.getInt32Ty();
  value = from.isSigned() ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
  std::string name = std::string(from.isSigned() ? "" : "u") + (isLong ? "ll" : "i") + "2" +
                     (to.bits == 32 ? "f." : "d.") + mode.str();
  return code.callAddress(findIntrinsic(name), type, {value});
}

Value *convertFloats(PtxCode &code, Value *value, StringRef mode, PtxType to, PtxType from) {
  llvm::IRBuilder<> &b = code.b;
  value = widenFloat(code, value, from);
  if (mode.ends_with("i")) // Between equal types alone.
    return to.bits == from.bits && to.kind == from.kind ? narrowFloat(code, roundToInteger(code, mode, value), to)
                                                        : nullptr;
  if (to.bits > from.bits || (to.bits == from.bits && to.kind == from.kind))
    return !mode.empty()                     ? nullptr
           : to.bits == 64 && from.bits < 64 ? b.CreateFPExt(value, b.getDoubleTy())
                                             : narrowFloat(code, value, to);
  if (mode.empty())
    return nullptr;
  if (mode == "rn")
    return to.bits == 32 ? b.CreateFPTrunc(value, b.getFloatTy()) : narrowFloat(code, value, to);
  void *function = findIntrinsic("d2f." + mode.str());
  return from.bits == 64 && to.bits == 32 ? code.callAddress(function, b.getFloatTy(), {value}) : nullptr;
}

} // namespace

bool convertPtx(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType from = code.takeType(), to = code.takeType();
  bool isFlushed = code.take("ftz"), isSaturated = code.take("sat");
  StringRef mode = code.takeOf({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  if (from.kind == PtxType::Kind::Bits || to.kind == PtxType::Kind::Bits || from.lanes > 1)
    return false;
  if (to.lanes == 2) { // cvt.rn.bf16x2.f32 d, high, low
    if (code.operandCount() != 3 || from.bits != 32 || mode != "rn" || isFlushed || isSaturated)
      return false;
    PtxType half = to;
    half.lanes = 1;
    Value *high = code.read(1, b.getFloatTy()), *low = code.read(2, b.getFloatTy());
    if (!high || !low)
      return false;
    Value *pair = llvm::PoisonValue::get(code.typeOf(to));
    pair = b.CreateInsertElement(pair, narrowFloat(code, low, half), uint64_t{0});
    return code.write(code.operand(0), b.CreateInsertElement(pair, narrowFloat(code, high, half), uint64_t{1}));
  }
  if (code.operandCount() != 2)
    return false;
  Value *value = code.read(code.operand(1), code.typeOf(from), /*isNarrowing=*/true), *result = nullptr;
  if (!value)
    return false;
  if (isFlushed && from.bits == 32 && from.isFloat())
    value = flushSubnormal(b, value);
  if (from.isFloat() && to.isFloat()) {
    result = convertFloats(code, value, mode, to, from);
    if (result && isSaturated)
      result = narrowFloat(code, saturateFloat(code, widenFloat(code, result, to)), to);
    if (result && isFlushed && to.bits == 32)
      result = flushSubnormal(b, result);
  } else if (from.isFloat()) {
    if (mode.ends_with("i")) // Saturated without the modifier, too.
      result = convertToInteger(code, roundToInteger(code, mode, widenFloat(code, value, from)), to, from);
  } else if (to.isFloat()) {
    result =
        mode.empty() || mode.ends_with("i") || isSaturated ? nullptr : convertFromInteger(code, value, mode, to, from);
  } else if (mode.empty()) {
    result = convertIntegers(code, value, to, from, isSaturated);
  }
  return result && code.write(code.operand(0), result, /*isWidening=*/true, to.isSigned());
}

/// setp.CMP.TYPE p, a, b, and setp.CMP.BOOL.TYPE p, a, b, c.
bool comparePtx(PtxCode &code) {
  using Predicate = llvm::CmpInst::Predicate;
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  bool isFlushed = code.take("ftz");
  StringRef combination = code.takeOf({"and", "or", "xor"});
  StringRef name = code.takeOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                                "gtu", "geu", "num", "nan"});
  if (code.operandCount() != (combination.empty() ? 3u : 4u) || name.empty() || type.lanes > 1)
    return false;
  Value *x = code.read(1, code.typeOf(type)), *y = code.read(2, code.typeOf(type)), *result = nullptr;
  if (!x || !y)
    return false;
  if (type.isFloat()) {
    x = widenFloat(code, x, type);
    y = widenFloat(code, y, type);
    if (isFlushed) {
      x = flushSubnormal(b, x);
      y = flushSubnormal(b, y);
    }
    auto predicate = llvm::StringSwitch<Predicate>(name)
                         .Case("eq", Predicate::FCMP_OEQ)
                         .Case("ne", Predicate::FCMP_ONE)
                         .Case("lt", Predicate::FCMP_OLT)
                         .Case("le", Predicate::FCMP_OLE)
                         .Case("gt", Predicate::FCMP_OGT)
                         .Case("ge", Predicate::FCMP_OGE)
                         .Case("equ", Predicate::FCMP_UEQ)
                         .Case("neu", Predicate::FCMP_UNE)
                         .Case("ltu", Predicate::FCMP_ULT)
                         .Case("leu", Predicate::FCMP_ULE)
                         .Case("gtu", Predicate::FCMP_UGT)
                         .Case("geu", Predicate::FCMP_UGE)
                         .Case("num", Predicate::FCMP_ORD)
                         .Case("nan", Predicate::FCMP_UNO)
                         .Default(Predicate::BAD_FCMP_PREDICATE);
    if (predicate == Predicate::BAD_FCMP_PREDICATE)
      return false;
    result = b.CreateFCmp(predicate, x, y);
  } else {
    bool isSigned = type.isSigned();
    auto predicate = llvm::StringSwitch<Predicate>(name)
                         .Case("eq", Predicate::ICMP_EQ)
                         .Case("ne", Predicate::ICMP_NE)
                         .Case("lt", isSigned ? Predicate::ICMP_SLT : Predicate::ICMP_ULT)
                         .Case("le", isSigned ? Predicate::ICMP_SLE : Predicate::ICMP_ULE)
                         .Case("gt", isSigned ? Predicate::ICMP_SGT : Predicate::ICMP_UGT)
                         .Case("ge", isSigned ? Predicate::ICMP_SGE : Predicate::ICMP_UGE)
                         .Case("lo", Predicate::ICMP_ULT)
                         .Case("ls", Predicate::ICMP_ULE)
                         .Case("hi", Predicate::ICMP_UGT)
                         .Case("hs", Predicate::ICMP_UGE)
                         .Default(Predicate::BAD_ICMP_PREDICATE);
    bool hasOrder = type.kind != PtxType::Kind::Bits || name == "eq" || name == "ne";
    if (predicate == Predicate::BAD_ICMP_PREDICATE || !hasOrder || isFlushed)
      return false;
    result = b.CreateICmp(predicate, x, y);
  }
  if (!combination.empty()) {
    Value *other = code.read(3, b.getInt1Ty());
    if (!other)
      return false;
    result = combination == "and"  ? b.CreateAnd(result, other)
             : combination == "or" ? b.CreateOr(result, other)
                                   : b.CreateXor(result, other);
  }
  if (code.operand(0).kind != PtxOperand::Kind::Pair)
    return code.write(code.operand(0), result);
  if (!combination.empty())
    return false;
  return code.write(code.operand(0).elements[0], result) &&
         code.write(code.operand(0).elements[1], b.CreateNot(result));
}

bool selectPtx(PtxCode &code) {
  llvm::Type *type = code.typeOf(code.takeType());
  if (code.operandCount() != 4)
    return false;
  Value *x = code.read(1, type), *y = code.read(2, type), *condition = code.read(3, code.b.getInt1Ty());
  return x && y && condition && code.write(code.operand(0), code.b.CreateSelect(condition, x, y));
}

} // namespace spmdc
