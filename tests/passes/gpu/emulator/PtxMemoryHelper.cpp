//===- PtxMemoryHelper.cpp - accesses to memory, and moves ----------------===//
//
// By the PTX ISA, "Data Movement and Conversion Instructions", and "Parallel Synchronization and Communication
// Instructions: atom".
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"
#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

namespace spmdc {
namespace {

using llvm::StringRef;
using llvm::Value;

const std::vector<StringRef> kSpaces = {"global", "shared", "shared::cta", "local", "param", "const"};

/// Threads run one at a time, so orders and scopes matter to GpuRaces alone.
GpuAccess takeOrder(PtxCode &code, bool reads, bool writes, bool isAtomic) {
  StringRef order = code.takeOf({"volatile", "weak", "relaxed", "acquire", "release", "acq_rel"});
  StringRef scope = code.takeOf({"cta", "cluster", "gpu", "sys"});
  return {.reads = reads,
          .writes = writes,
          .isAtomic = isAtomic || (!order.empty() && order != "weak"),
          .isAcquire = order == "acquire" || order == "acq_rel",
          .isRelease = order == "release" || order == "acq_rel",
          .isOfBlock = scope == "cta"};
}

StringRef takeSpace(PtxCode &code) {
  StringRef space = code.takeOf(kSpaces);
  return space == "shared::cta" ? "shared" : space;
}

/// The pointer for an access of `bytes` to an operand in brackets; null after an error.
Value *pointerFor(PtxCode &code, StringRef space, const PtxOperand &operand, unsigned bytes, const GpuAccess &how) {
  PtxCode::Address address = code.address(operand);
  if (!address.value)
    return nullptr;
  if (!address.space.empty() && !space.empty() && address.space != space)
    return code.refuse("a variable in another space"), nullptr;
  if (space == "param" && (address.space != "param" || address.end > UINT32_MAX || address.end < bytes))
    return code.refuse("an access beyond a parameter"), nullptr;
  // In local memory, the function's variables are the only ones; their bounds are not known by the address.
  return space == "param" ? code.b.CreateIntToPtr(address.value, code.b.getPtrTy())
                          : code.checkedPointer(space, address.value, bytes, how);
}

/// Before a strong access to memory that other blocks access, they may run.
void takeTurn(PtxCode &code, StringRef space, const GpuAccess &how) {
  if (how.isAtomic && space == "global")
    code.call(GpuBlock::takeTurn, code.b.getVoidTy(), {});
}

/// ld and st of one register, or of two or four in braces.
bool access(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  bool isLoad = code.statement().parts[0] == "ld";
  PtxType type = code.takeType();
  StringRef width = code.takeOf({"v2", "v4"});
  GpuAccess how = takeOrder(code, isLoad, !isLoad, /*isAtomic=*/false);
  StringRef space = takeSpace(code);
  bool isReadOnly = code.take("nc");
  if (code.operandCount() != 2 || (isReadOnly && (!isLoad || space != "global")))
    return false;
  unsigned count = width == "v2" ? 2 : width == "v4" ? 4 : 1, bytes = type.totalBits() / 8;
  const PtxOperand &data = code.operand(isLoad ? 0 : 1), &address = code.operand(isLoad ? 1 : 0);
  bool isVector = data.kind == PtxOperand::Kind::Vector;
  if (isVector != (count > 1) || (isVector && data.elements.size() != count))
    return false;
  llvm::Type *element = b.getIntNTy(type.totalBits());
  llvm::Type *all = count > 1 ? llvm::FixedVectorType::get(element, count) : element;
  std::vector<Value *> values;
  for (unsigned i = 0; i < count && !isLoad; ++i) {
    values.push_back(code.read(isVector ? data.elements[i] : data, element, /*isNarrowing=*/true));
    if (!values.back())
      return false;
  }
  takeTurn(code, space, how);
  Value *pointer = pointerFor(code, space, address, bytes * count, how);
  if (!pointer)
    return false;
  llvm::Align alignment(space == "param" ? 1 : bytes * count);
  if (isLoad) {
    Value *loaded = b.CreateAlignedLoad(all, pointer, alignment);
    for (unsigned i = 0; i < count; ++i)
      if (!code.write(isVector ? data.elements[i] : data, isVector ? b.CreateExtractElement(loaded, i) : loaded,
                      /*isWidening=*/true, type.isSigned()))
        return false;
    return true;
  }
  Value *stored = isVector ? llvm::PoisonValue::get(all) : values[0];
  for (unsigned i = 0; i < count && isVector; ++i)
    stored = b.CreateInsertElement(stored, values[i], i);
  b.CreateAlignedStore(stored, pointer, alignment);
  return true;
}

/// mov, also between a register and its parts in braces.
bool move(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  if (code.operandCount() != 2)
    return false;
  const PtxOperand &target = code.operand(0), &source = code.operand(1);
  bool isSplit = target.kind == PtxOperand::Kind::Vector, isJoined = source.kind == PtxOperand::Kind::Vector;
  if (!isSplit && !isJoined) {
    Value *value = code.read(source, code.typeOf(type));
    return value && code.write(target, value);
  }
  const std::vector<PtxOperand> &parts = isSplit ? target.elements : source.elements;
  if (isSplit == isJoined || parts.empty() || type.bits % parts.size() != 0)
    return false;
  auto bits = static_cast<unsigned>(type.bits / parts.size());
  llvm::Type *wide = b.getIntNTy(type.bits), *part = b.getIntNTy(bits);
  Value *value = isSplit ? code.read(source, wide) : llvm::ConstantInt::get(wide, 0);
  for (size_t i = 0; i < parts.size() && value; ++i) {
    if (isSplit) {
      if (!code.write(parts[i], b.CreateTrunc(b.CreateLShr(value, i * bits), part)))
        return false;
    } else {
      Value *one = code.read(parts[i], part);
      value = one ? b.CreateOr(value, b.CreateShl(b.CreateZExt(one, wide), i * bits)) : nullptr;
    }
  }
  return value && (isSplit || code.write(target, value));
}

/// cvta.SPACE: to a generic address; cvta.to.SPACE: from one.
bool convertAddress(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  bool isFromGeneric = code.take("to");
  StringRef space = takeSpace(code);
  if (type.bits != 64 || space.empty() || code.operandCount() != 2)
    return false;
  Value *value = code.read(1, b.getInt64Ty());
  if (!value)
    return false;
  if (space == "shared")
    value = isFromGeneric ? b.CreateSub(value, code.sharedBegin()) : b.CreateAdd(value, code.sharedBegin());
  return code.write(code.operand(0), value);
}

/// atom and red: a load, an operation and a store, which no other thread interrupts.
bool updateAtomically(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  bool hasResult = code.statement().parts[0] == "atom";
  PtxType type = code.takeType();
  GpuAccess how = takeOrder(code, /*reads=*/true, /*writes=*/true, /*isAtomic=*/true);
  StringRef space = takeSpace(code);
  StringRef name = code.takeOf({"add", "min", "max", "and", "or", "xor", "exch", "cas"});
  size_t count = (hasResult ? 1 : 0) + (name == "cas" ? 3 : 2);
  if (name.empty() || code.operandCount() != count || type.lanes > 1 || type.bits < 32)
    return false;
  size_t first = hasResult ? 1 : 0;
  llvm::Type *bits = code.typeOf(type);
  takeTurn(code, space, how);
  Value *x = code.read(first + 1, bits), *y = name == "cas" ? code.read(first + 2, bits) : nullptr;
  Value *pointer = x ? pointerFor(code, space, code.operand(first), type.bits / 8, how) : nullptr;
  if (!pointer || (name == "cas" && !y))
    return false;
  Value *before = b.CreateLoad(bits, pointer), *after = nullptr;
  bool isFloat = type.isFloat(), isSigned = type.isSigned();
  if (isFloat && name != "add" && name != "exch")
    return false;
  namespace Intrinsic = llvm::Intrinsic;
  if (name == "add")
    after = isFloat ? b.CreateFAdd(before, x) : b.CreateAdd(before, x);
  else if (name == "min")
    after = b.CreateBinaryIntrinsic(isSigned ? Intrinsic::smin : Intrinsic::umin, before, x);
  else if (name == "max")
    after = b.CreateBinaryIntrinsic(isSigned ? Intrinsic::smax : Intrinsic::umax, before, x);
  else if (name == "and")
    after = b.CreateAnd(before, x);
  else if (name == "or")
    after = b.CreateOr(before, x);
  else if (name == "xor")
    after = b.CreateXor(before, x);
  else if (name == "exch")
    after = x;
  else
    after = b.CreateSelect(b.CreateICmpEQ(before, x), y, before);
  b.CreateStore(after, pointer);
  return !hasResult || code.write(code.operand(0), before);
}

} // namespace

PtxFamily findMemoryFamily(StringRef opcode) {
  return llvm::StringSwitch<PtxFamily>(opcode)
      .Cases("ld", "st", access)
      .Case("mov", move)
      .Case("cvta", convertAddress)
      .Cases("atom", "red", updateAtomically)
      .Default(nullptr);
}

} // namespace spmdc
