//===- PtxIntegerHelper.cpp - instructions on integers --------------------===//
//
// By the PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions" and "Logic
// and Shift Instructions".
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

namespace spmdc {
namespace {

using llvm::StringRef;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

StringRef nameOf(PtxCode &code) { return code.statement().parts[0]; }

Value *extend(PtxCode &code, Value *value, PtxType type, unsigned bits) {
  llvm::Type *wide = code.b.getIntNTy(bits);
  return type.isSigned() ? code.b.CreateSExt(value, wide) : code.b.CreateZExt(value, wide);
}

/// add, sub, mul, mad and those with a carry: part `lo`, `hi` or `wide` of products.
bool computeSum(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  StringRef name = nameOf(code);
  PtxType type = code.takeType();
  bool keepsCarry = code.take("cc"), readsCarry = name == "addc" || name == "subc" || name == "madc",
       isProduct = name.starts_with("mul") || name.starts_with("mad");
  StringRef part = isProduct ? code.takeOf({"lo", "hi", "wide"}) : "";
  size_t count = name == "mul" || !isProduct ? 2 : 3;
  bool isOfPairs = type.bits == 16 && name == "add" && !keepsCarry;
  if (!type.isInteger() || (type.lanes > 1 && !isOfPairs) || code.operandCount() != count + 1 ||
      (isProduct && part.empty()))
    return false;
  unsigned bits = type.bits;
  llvm::Type *narrow = code.typeOf(type), *wide = b.getIntNTy(2 * bits);
  Value *x = code.read(1, narrow), *y = code.read(2, narrow);
  Value *z = count == 3 ? code.read(3, part == "wide" ? wide : narrow) : nullptr;
  if (!x || !y || (count == 3 && !z))
    return false;
  if (part == "wide") {
    Value *product = b.CreateMul(extend(code, x, type, 2 * bits), extend(code, y, type, 2 * bits));
    return code.write(code.operand(0), z ? b.CreateAdd(product, z) : product);
  }
  Value *first = x;
  if (part == "lo")
    first = b.CreateMul(x, y);
  else if (part == "hi")
    first = b.CreateTrunc(
        b.CreateLShr(b.CreateMul(extend(code, x, type, 2 * bits), extend(code, y, type, 2 * bits)), bits), narrow);
  Value *second = isProduct ? z : y;
  if (!second)
    return code.write(code.operand(0), first);
  if (!keepsCarry && !readsCarry)
    return code.write(code.operand(0), name == "sub" ? b.CreateSub(first, second) : b.CreateAdd(first, second));
  // In twice as many bits, of which the first one above the result is the carry, or the borrow.
  Value *carry =
      readsCarry ? b.CreateZExt(b.CreateLoad(b.getInt1Ty(), code.carry()), wide) : llvm::ConstantInt::get(wide, 0);
  first = b.CreateZExt(first, wide);
  second = b.CreateAdd(b.CreateZExt(second, wide), carry);
  Value *result = name.starts_with("sub") ? b.CreateSub(first, second) : b.CreateAdd(first, second);
  if (keepsCarry)
    b.CreateStore(b.CreateTrunc(b.CreateLShr(result, bits), b.getInt1Ty()), code.carry());
  return code.write(code.operand(0), b.CreateTrunc(result, narrow));
}

/// The ISA does not specify quotients by zero; hardware gives all bits set, and the dividend as remainder.
bool divide(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  bool isRemainder = nameOf(code) == "rem";
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type);
  if (type.kind == PtxType::Kind::Bits || type.bits < 16 || code.operandCount() != 3)
    return false;
  Value *x = code.read(1, narrow), *y = code.read(2, narrow);
  if (!x || !y)
    return false;
  Value *zero = llvm::ConstantInt::get(narrow, 0), *one = llvm::ConstantInt::get(narrow, 1);
  Value *isZero = b.CreateICmpEQ(y, zero), *result = nullptr;
  if (type.isSigned()) {
    // The lowest number by -1 does not fit, which ends the process on this machine.
    Value *isMinusOne = b.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(narrow));
    Value *divisor = b.CreateSelect(b.CreateOr(isZero, isMinusOne), one, y);
    result = isRemainder ? b.CreateSRem(x, divisor) : b.CreateSDiv(x, divisor);
    result = b.CreateSelect(isMinusOne, isRemainder ? zero : b.CreateNeg(x), result);
  } else {
    Value *divisor = b.CreateSelect(isZero, one, y);
    result = isRemainder ? b.CreateURem(x, divisor) : b.CreateUDiv(x, divisor);
  }
  Value *byZero = isRemainder ? x : llvm::ConstantInt::getAllOnesValue(narrow);
  return code.write(code.operand(0), b.CreateSelect(isZero, byZero, result));
}

/// Instructions with one operand: neg, abs, not, popc, clz, brev, bfind.
bool computeUnary(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  StringRef name = nameOf(code);
  bool isShift = name == "bfind" && code.take("shiftamt");
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type), *i32 = b.getInt32Ty();
  if (code.operandCount() != 2 || type.lanes > 1 || type.isFloat())
    return false;
  Value *x = code.read(1, narrow);
  if (!x)
    return false;
  Value *result = nullptr;
  if (name == "neg")
    result = b.CreateNeg(x);
  else if (name == "not")
    result = b.CreateNot(x);
  else if (name == "abs")
    result = b.CreateBinaryIntrinsic(Intrinsic::abs, x, b.getFalse());
  else if (name == "brev")
    result = b.CreateUnaryIntrinsic(Intrinsic::bitreverse, x);
  else if (name == "popc")
    result = b.CreateZExtOrTrunc(b.CreateUnaryIntrinsic(Intrinsic::ctpop, x), i32);
  else if (name == "clz")
    result = b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse()), i32);
  else { // The highest bit that differs from the sign; -1 if there is none.
    if (type.isSigned())
      x = b.CreateXor(x, b.CreateAShr(x, type.bits - 1));
    Value *zeros = b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse()), i32);
    Value *position = isShift ? zeros : b.CreateSub(b.getInt32(type.bits - 1), zeros);
    result = b.CreateSelect(b.CreateICmpEQ(x, llvm::ConstantInt::get(narrow, 0)), b.getInt32(-1), position);
  }
  return code.write(code.operand(0), result);
}

bool computeBinary(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  StringRef name = nameOf(code);
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type);
  bool isOfPairs = type.bits == 16 && (name == "min" || name == "max");
  if (code.operandCount() != (name == "sad" ? 4u : 3u) || (type.lanes > 1 && !isOfPairs) || type.isFloat())
    return false;
  Value *x = code.read(1, narrow), *y = code.read(2, narrow);
  if (!x || !y)
    return false;
  Value *result = nullptr;
  if (name == "and")
    result = b.CreateAnd(x, y);
  else if (name == "or")
    result = b.CreateOr(x, y);
  else if (name == "xor")
    result = b.CreateXor(x, y);
  else if (name == "min")
    result = b.CreateBinaryIntrinsic(type.isSigned() ? Intrinsic::smin : Intrinsic::umin, x, y);
  else if (name == "max")
    result = b.CreateBinaryIntrinsic(type.isSigned() ? Intrinsic::smax : Intrinsic::umax, x, y);
  else { // sad: |x - y| + z
    Value *isLess = type.isSigned() ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y), *z = code.read(3, narrow);
    result = z ? b.CreateAdd(b.CreateSelect(isLess, b.CreateSub(y, x), b.CreateSub(x, y)), z) : nullptr;
  }
  return code.write(code.operand(0), result);
}

/// Amounts beyond the width give zero, or the sign.
bool shift(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  bool isLeft = nameOf(code) == "shl";
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type);
  if (code.operandCount() != 3 || !type.isInteger() || type.lanes > 1)
    return false;
  Value *x = code.read(1, narrow), *amount = code.read(2, b.getInt32Ty());
  if (!x || !amount)
    return false;
  Value *isBeyond = b.CreateICmpUGE(amount, b.getInt32(type.bits));
  Value *safe = b.CreateZExtOrTrunc(b.CreateSelect(isBeyond, b.getInt32(type.bits - 1), amount), narrow);
  if (!isLeft && type.isSigned())
    return code.write(code.operand(0), b.CreateAShr(x, safe));
  Value *shifted = isLeft ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
  return code.write(code.operand(0), b.CreateSelect(isBeyond, llvm::ConstantInt::get(narrow, 0), shifted));
}

/// shf: 32 bits of the 64 of two registers.
bool shiftFunnel(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  StringRef direction = code.takeOf({"l", "r"}), mode = code.takeOf({"wrap", "clamp"});
  PtxType type = code.takeType();
  llvm::Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  if (direction.empty() || mode.empty() || type.bits != 32 || code.operandCount() != 4)
    return false;
  Value *low = code.read(1, i32), *high = code.read(2, i32), *amount = code.read(3, i32);
  if (!low || !high || !amount)
    return false;
  amount = mode == "wrap" ? b.CreateAnd(amount, 31) : b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(32));
  Value *both = b.CreateOr(b.CreateShl(b.CreateZExt(high, i64), 32), b.CreateZExt(low, i64));
  amount = b.CreateZExt(amount, i64);
  Value *result = direction == "l" ? b.CreateLShr(b.CreateShl(both, amount), 32) : b.CreateLShr(both, amount);
  return code.write(code.operand(0), b.CreateTrunc(result, i32));
}

/// The low bits of a number of the width of `like`, without more than all of them.
Value *lowBits(PtxCode &code, Value *count, llvm::Type *type) {
  llvm::IRBuilder<> &b = code.b;
  unsigned width = type->getIntegerBitWidth();
  Value *isAll = b.CreateICmpUGE(count, b.getInt32(width)), *one = llvm::ConstantInt::get(type, 1);
  Value *safe = b.CreateZExtOrTrunc(b.CreateSelect(isAll, b.getInt32(0), count), type);
  return b.CreateSelect(isAll, llvm::ConstantInt::getAllOnesValue(type), b.CreateSub(b.CreateShl(one, safe), one));
}

/// bfe: bits of a register from a position on, extended by zeros or by the highest one of them that exists.
bool extractBits(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type);
  if (code.operandCount() != 4 || type.bits < 32)
    return false;
  Value *x = code.read(1, narrow), *position = code.read(2, b.getInt32Ty()), *length = code.read(3, b.getInt32Ty());
  if (!x || !position || !length)
    return false;
  position = b.CreateAnd(position, 255);
  length = b.CreateAnd(length, 255);
  Value *width = b.getInt32(type.bits), *zero = llvm::ConstantInt::get(narrow, 0);
  Value *isBehind = b.CreateICmpUGE(position, width);
  Value *safe = b.CreateZExtOrTrunc(b.CreateSelect(isBehind, b.getInt32(type.bits - 1), position), narrow);
  if (!type.isSigned()) {
    Value *bits = b.CreateAnd(b.CreateLShr(x, safe), lowBits(code, length, narrow));
    return code.write(code.operand(0), b.CreateSelect(isBehind, zero, bits));
  }
  // Beyond the width, all bits are the sign, which ashr brings from above.
  Value *shifted = b.CreateAShr(x, safe), *reachesEnd = b.CreateICmpUGE(b.CreateAdd(position, length), width);
  Value *isEmpty = b.CreateICmpEQ(length, b.getInt32(0));
  Value *unused = b.CreateSelect(b.CreateOr(reachesEnd, isEmpty), b.getInt32(0), b.CreateSub(width, length));
  unused = b.CreateZExtOrTrunc(unused, narrow);
  Value *result = b.CreateAShr(b.CreateShl(shifted, unused), unused);
  return code.write(code.operand(0), b.CreateSelect(isEmpty, zero, result));
}

/// bfi: the low bits of the first register replace those of the second one from a position on.
bool insertBits(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  llvm::Type *narrow = code.typeOf(type);
  if (code.operandCount() != 5 || type.bits < 32)
    return false;
  Value *x = code.read(1, narrow), *into = code.read(2, narrow), *position = code.read(3, b.getInt32Ty()),
        *length = code.read(4, b.getInt32Ty());
  if (!x || !into || !position || !length)
    return false;
  position = b.CreateAnd(position, 255);
  Value *mask = lowBits(code, b.CreateAnd(length, 255), narrow);
  Value *isBehind = b.CreateICmpUGE(position, b.getInt32(type.bits));
  Value *safe = b.CreateZExtOrTrunc(b.CreateSelect(isBehind, b.getInt32(0), position), narrow);
  Value *moved = b.CreateShl(mask, safe);
  Value *result = b.CreateOr(b.CreateAnd(into, b.CreateNot(moved)), b.CreateShl(b.CreateAnd(x, mask), safe));
  return code.write(code.operand(0), b.CreateSelect(isBehind, into, result));
}

/// prmt: byte i of the result is that of the eight bytes of y:x which nibble i of the selector names, or its sign.
bool permuteBytes(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  llvm::Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  if (type.bits != 32 || code.operandCount() != 4)
    return false;
  Value *x = code.read(1, i32), *y = code.read(2, i32), *selector = code.read(3, i32);
  if (!x || !y || !selector)
    return false;
  Value *all = b.CreateOr(b.CreateShl(b.CreateZExt(y, i64), 32), b.CreateZExt(x, i64)), *result = b.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *nibble = b.CreateLShr(selector, 4 * i);
    Value *amount = b.CreateZExt(b.CreateShl(b.CreateAnd(nibble, 7), 3), i64);
    Value *byte = b.CreateTrunc(b.CreateLShr(all, amount), b.getInt8Ty());
    Value *isSign = b.CreateICmpNE(b.CreateAnd(nibble, 8), b.getInt32(0));
    byte = b.CreateSelect(isSign, b.CreateAShr(byte, 7), byte);
    result = b.CreateOr(result, b.CreateShl(b.CreateZExt(byte, i32), 8 * i));
  }
  return code.write(code.operand(0), result);
}

} // namespace

PtxFamily findIntegerFamily(StringRef opcode) {
  return llvm::StringSwitch<PtxFamily>(opcode)
      .Cases("add", "sub", "mul", "mad", "addc", "subc", "madc", computeSum)
      .Cases("div", "rem", divide)
      .Cases("neg", "abs", "not", "popc", "clz", "brev", "bfind", computeUnary)
      .Cases("and", "or", "xor", "min", "max", "sad", computeBinary)
      .Cases("shl", "shr", shift)
      .Case("shf", shiftFunnel)
      .Case("bfe", extractBits)
      .Case("bfi", insertBits)
      .Case("prmt", permuteBytes)
      .Default(nullptr);
}

} // namespace spmdc
