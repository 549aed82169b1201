//===- GpuAssemblyHelper.cpp - inline PTX as LLVM IR ----------------------===//

#include "tests/passes/gpu/emulator/GpuAssemblyHelper.h"

#include "tests/passes/gpu/emulator/GpuMatricesHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

#include <map>
#include <optional>

namespace spmdc {
namespace {

using llvm::StringRef;
using llvm::Value;

/// The statements of one call, in sequence; registers are values.
class Translator {
public:
  explicit Translator(llvm::CallInst &call) : call(call), b(&call), carry(b.getInt64(0)) {
    llvm::Type *type = call.getType();
    results = type->isVoidTy() ? 0 : type->isStructTy() ? type->getStructNumElements() : 1;
  }

  std::string run() {
    std::string text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString();
    // LLVM doubles dollar signs.
    for (size_t at = text.find("$$"); at != std::string::npos; at = text.find("$$", at))
      text.replace(at, 2, "%");
    // An operand with the constraint "0" is the first value of result 0.
    unsigned operand = 0;
    for (const llvm::InlineAsm::ConstraintInfo &constraint :
         llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->ParseConstraints())
      if (constraint.Type == llvm::InlineAsm::isInput) {
        if (std::isdigit(static_cast<unsigned char>(constraint.Codes.front().front())))
          registers["$" + constraint.Codes.front()] = call.getArgOperand(operand);
        ++operand;
      }
    for (StringRef statement : llvm::split(text, ';')) {
      statement = statement.trim();
      // Braces around statements; those around halves of a register follow an opcode.
      while (statement.consume_front("{") || statement.consume_front("}"))
        statement = statement.ltrim();
      if (!statement.empty() && !statement.starts_with(".reg") && !translate(statement))
        return statement.str();
    }
    Value *result = results > 1 ? llvm::PoisonValue::get(call.getType()) : nullptr;
    for (unsigned i = 0; i < results; ++i) {
      Value *value = registers["$" + std::to_string(i)];
      if (!value)
        return "no value for result " + std::to_string(i);
      result = results > 1 ? b.CreateInsertValue(result, value, i) : value;
    }
    if (result)
      call.replaceAllUsesWith(result);
    call.eraseFromParent();
    return "";
  }

private:
  llvm::Type *typeOf(StringRef suffix) {
    return llvm::StringSwitch<llvm::Type *>(suffix)
        .Cases("u32", "s32", "b32", b.getInt32Ty())
        .Cases("u64", "s64", "b64", b.getInt64Ty())
        .Case("f32", b.getFloatTy())
        .Case("f64", b.getDoubleTy())
        .Default(nullptr);
  }

  /// A register, a parameter or a number.
  Value *read(StringRef name, llvm::Type *type) {
    name = name.trim();
    if (auto known = registers.find(name.str()); known != registers.end())
      return known->second;
    int64_t number = 0;
    if (!name.getAsInteger(0, number))
      return llvm::ConstantInt::get(type, number, /*IsSigned=*/true);
    unsigned position = 0;
    if (name.consume_front("$") && !name.getAsInteger(10, position) && position >= results &&
        position - results < call.arg_size())
      return call.getArgOperand(position - results);
    return nullptr;
  }

  bool write(StringRef name, Value *value) {
    registers[name.trim().str()] = value;
    return value != nullptr;
  }

  static llvm::SmallVector<StringRef> splitOperands(StringRef text) {
    llvm::SmallVector<StringRef> operands;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i == text.size() || (text[i] == ',' && depth == 0)) {
        operands.push_back(text.slice(begin, i).trim());
        begin = i + 1;
      } else {
        depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      }
    }
    return operands;
  }

  bool translate(StringRef statement) {
    auto [opcode, rest] = statement.split(statement.find('\t') < statement.find(' ') ? '\t' : ' ');
    llvm::SmallVector<StringRef> operands = splitOperands(rest), parts;
    opcode.split(parts, '.');
    if (parts[0] == "fence" || (parts[0] == "wgmma" && parts[1] == "fence"))
      return true; // Copies are there once they are finished.
    if (opcode.ends_with(":\nmbarrier.try_wait.parity.shared.b64"))
      return waitForPhase(operands);
    if (opcode == "@!done")
      return true;
    if (parts[0] == "wgmma")
      return parts[1] == "commit_group" ? commitProducts()
             : parts[1] == "wait_group" ? finishProducts(operands)
                                        : multiply(parts, operands);
    llvm::Type *type = typeOf(parts.back());
    if (!type || operands.size() < 2)
      return false;
    if (parts[0] == "mov")
      return move(operands, type);
    if (parts[0] == "selp") {
      Value *condition = read(operands[3], b.getInt1Ty());
      return write(operands[0], b.CreateSelect(condition, read(operands[1], type), read(operands[2], type)));
    }
    if (opcode == "bfind.shiftamt.u32") {
      // The shift that moves the highest set bit to the top.
      Value *x = read(operands[1], type), *zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b.getFalse());
      Value *isZero = b.CreateICmpEQ(x, b.getInt32(0));
      return write(operands[0], b.CreateSelect(isZero, b.getInt32(-1), zeros));
    }
    llvm::SmallVector<Value *> values;
    for (StringRef operand : llvm::drop_begin(operands))
      values.push_back(read(operand, type));
    if (llvm::is_contained(values, nullptr))
      return false;
    if (parts[0] == "cvt")
      return packHalves(parts[2], operands[0], values);
    if (parts[0] == "setp")
      return compare(parts[1], operands[0], values);
    return type->isIntegerTy() ? computeInteger(parts, operands[0], values) : computeFloat(opcode, operands[0], values);
  }

  /// mov.b64 {low, high}, x and mov.b64 x, {low, high}, or a plain copy.
  bool move(llvm::ArrayRef<StringRef> operands, llvm::Type *type) {
    unsigned width = type->getIntegerBitWidth();
    auto halvesOf = [](StringRef text) { return text.substr(1, text.size() - 2).split(','); };
    auto *half = b.getIntNTy(width / 2);
    if (operands[0].starts_with("{")) {
      Value *whole = read(operands[1], type);
      auto [low, high] = halvesOf(operands[0]);
      return whole && write(low, b.CreateTrunc(whole, half)) &&
             write(high, b.CreateTrunc(b.CreateLShr(whole, width / 2), half));
    }
    if (operands[1].starts_with("{")) {
      auto [lowName, highName] = halvesOf(operands[1]);
      Value *low = read(lowName, half), *high = read(highName, half);
      return low && high &&
             write(operands[0], b.CreateOr(b.CreateShl(b.CreateZExt(high, type), width / 2), b.CreateZExt(low, type)));
    }
    return write(operands[0], read(operands[1], type));
  }

  /// wgmma.mma_async.sync.aligned.m64nNk16.f32.TYPE.TYPE {sums}, left, right, accumulates, 1, 1[, 0], isTransposed
  bool multiply(llvm::ArrayRef<StringRef> parts, llvm::ArrayRef<StringRef> operands) {
    WarpgroupProduct product;
    StringRef shape = parts[4];
    if (!shape.consume_front("m64n") || !shape.consume_back("k16") || shape.getAsInteger(10, product.columns) ||
        operands.size() < 7 || operands[4] != "1" || operands[5] != "1")
      return false;
    product.isBf16 = parts.back() == "bf16";
    product.isLeftInRegisters = operands[1].starts_with("{");
    product.isRightTransposed = operands.back() == "1";
    llvm::Type *i32 = b.getInt32Ty(), *f32 = b.getFloatTy();
    int sums = product.columns / 2, first = WarpgroupProduct::kLeftWords + WarpgroupProduct::kRightWords;
    llvm::BasicBlock &entryBlock = call.getFunction()->getEntryBlock();
    Value *words = llvm::IRBuilder<>(&entryBlock, entryBlock.begin()).CreateAlloca(i32, b.getInt32(first + sums));
    auto store = [&](int position, Value *value) {
      if (value)
        b.CreateStore(value, b.CreateConstGEP1_32(i32, words, position))->setAlignment(llvm::Align(4));
      return value != nullptr;
    };
    auto listOf = [](StringRef text) { return splitOperands(text.substr(1, text.size() - 2)); };
    bool isComplete = store(WarpgroupProduct::kLeftWords, read(operands[2], b.getInt64Ty()));
    if (!product.isLeftInRegisters)
      isComplete &= store(0, read(operands[1], b.getInt64Ty()));
    else
      for (auto [position, name] : llvm::enumerate(listOf(operands[1])))
        isComplete &= store(static_cast<int>(position), read(name, i32));
    llvm::SmallVector<StringRef> names = listOf(operands[0]);
    Value *accumulates = read(operands[3], b.getInt1Ty());
    if (!isComplete || !accumulates || names.size() != static_cast<size_t>(sums))
      return false;
    Value *zero = llvm::ConstantFP::get(f32, 0);
    for (int i = 0; i < sums; ++i) {
      auto known = registers.find(names[i].str());
      Value *before = known == registers.end() ? zero : known->second;
      store(first + i, b.CreateSelect(accumulates, before, zero));
    }
    b.CreateCall(getFunction("warpgroup.start", {i32, b.getPtrTy()}), {b.getInt32(product.encode()), words});
    for (int i = 0; i < sums; ++i) // Nothing may read them before the product is finished.
      write(names[i], llvm::ConstantFP::getQNaN(f32));
    return true;
  }

  bool commitProducts() {
    b.CreateCall(getFunction("warpgroup.commit", {}));
    return true;
  }

  /// wgmma.wait_group.sync.aligned N: all results of the call are those of the product that it waits for.
  bool finishProducts(llvm::ArrayRef<StringRef> operands) {
    llvm::Type *i32 = b.getInt32Ty(), *f32 = b.getFloatTy();
    llvm::BasicBlock &entryBlock = call.getFunction()->getEntryBlock();
    Value *sums = llvm::IRBuilder<>(&entryBlock, entryBlock.begin()).CreateAlloca(f32, b.getInt32(results));
    b.CreateCall(getFunction("warpgroup.finish", {i32, b.getPtrTy(), i32}),
                 {read(operands[0], i32), sums, b.getInt32(results)});
    for (unsigned i = 0; i < results; ++i)
      write("$" + std::to_string(i), b.CreateLoad(f32, b.CreateConstGEP1_32(f32, sums, i)));
    return true;
  }

  /// A loop of three statements until mbarrier.try_wait.parity holds.
  bool waitForPhase(llvm::ArrayRef<StringRef> operands) {
    Value *address = read(operands[1].drop_front().drop_back(), b.getInt64Ty()),
          *parity = read(operands[2], b.getInt32Ty());
    if (!address || !parity)
      return false;
    b.CreateCall(getFunction("mbarrier.wait", {b.getInt64Ty(), b.getInt32Ty()}), {address, parity});
    return true;
  }

  llvm::FunctionCallee getFunction(StringRef name, llvm::ArrayRef<llvm::Type *> parameters) {
    return call.getModule()->getOrInsertFunction((kEmulatedPrefix + name).str(),
                                                 llvm::FunctionType::get(b.getVoidTy(), parameters, false));
  }

  /// cvt.rn.bf16x2.f32 and cvt.rn.f16x2.f32: the first operand becomes the high half.
  bool packHalves(StringRef name, StringRef target, llvm::ArrayRef<Value *> values) {
    StringRef conversion = name == "bf16x2" ? "f2bf16.rn" : name == "f16x2" ? "f2h.rn" : "";
    if (conversion.empty() || values.size() != 2)
      return false;
    llvm::FunctionCallee callee = call.getModule()->getOrInsertFunction(
        (kEmulatedPrefix + conversion).str(), llvm::FunctionType::get(b.getInt16Ty(), {b.getFloatTy()}, false));
    Value *high = b.CreateZExt(b.CreateCall(callee, {values[0]}), b.getInt32Ty());
    Value *low = b.CreateZExt(b.CreateCall(callee, {values[1]}), b.getInt32Ty());
    return write(target, b.CreateOr(b.CreateShl(high, 16), low));
  }

  bool compare(StringRef name, StringRef target, llvm::ArrayRef<Value *> values) {
    auto predicate = llvm::StringSwitch<llvm::CmpInst::Predicate>(name)
                         .Case("eq", llvm::CmpInst::FCMP_OEQ)
                         .Case("ne", llvm::CmpInst::FCMP_ONE)
                         .Case("lt", llvm::CmpInst::FCMP_OLT)
                         .Case("le", llvm::CmpInst::FCMP_OLE)
                         .Case("gt", llvm::CmpInst::FCMP_OGT)
                         .Case("ge", llvm::CmpInst::FCMP_OGE)
                         .Case("equ", llvm::CmpInst::FCMP_UEQ)
                         .Case("neu", llvm::CmpInst::FCMP_UNE)
                         .Case("ltu", llvm::CmpInst::FCMP_ULT)
                         .Case("leu", llvm::CmpInst::FCMP_ULE)
                         .Case("gtu", llvm::CmpInst::FCMP_UGT)
                         .Case("geu", llvm::CmpInst::FCMP_UGE)
                         .Default(llvm::CmpInst::BAD_FCMP_PREDICATE);
    if (values[0]->getType()->isIntegerTy() && name == "ne")
      return write(target, b.CreateICmpNE(values[0], values[1]));
    if (predicate == llvm::CmpInst::BAD_FCMP_PREDICATE || !values[0]->getType()->isFloatingPointTy())
      return false;
    return write(target, b.CreateFCmp(predicate, values[0], values[1]));
  }

  /// add, addc, sub, subc; mul, mad, madc with lo or hi; `cc` keeps the carry. Unsigned 32 bits, computed in 64.
  bool computeInteger(llvm::ArrayRef<StringRef> parts, StringRef target, llvm::ArrayRef<Value *> values) {
    if (parts[0] == "add" && parts.back() == "s64")
      return write(target, b.CreateAdd(values[0], values[1]));
    if (parts.back() != "u32")
      return false;
    llvm::SmallVector<Value *> wide;
    for (Value *value : values)
      wide.push_back(b.CreateZExt(value, b.getInt64Ty()));
    StringRef name = parts[0];
    bool readsCarry = name == "addc" || name == "subc" || name == "madc", keepsCarry = llvm::is_contained(parts, "cc");
    Value *carryIn = readsCarry ? carry : b.getInt64(0), *result = nullptr;
    if (name.starts_with("add")) {
      result = b.CreateAdd(b.CreateAdd(wide[0], wide[1]), carryIn);
    } else if (name.starts_with("sub")) {
      result = b.CreateSub(b.CreateSub(wide[0], wide[1]), carryIn);
    } else if (name == "mul" || name.starts_with("mad")) {
      result = b.CreateMul(wide[0], wide[1]);
      result = parts[1] == "hi" ? b.CreateLShr(result, 32) : b.CreateAnd(result, 0xffffffff);
      if (name != "mul")
        result = b.CreateAdd(b.CreateAdd(result, wide[2]), carryIn);
    } else {
      return false;
    }
    // A borrow is a carry of 1, too.
    if (keepsCarry)
      carry = b.CreateAnd(b.CreateLShr(result, 32), 1);
    return write(target, b.CreateTrunc(result, b.getInt32Ty()));
  }

  bool computeFloat(StringRef opcode, StringRef target, llvm::ArrayRef<Value *> values) {
    llvm::Type *type = values[0]->getType();
    // The suffix of the intrinsics: .f, .d.
    std::string name = (kEmulatedPrefix + opcode.drop_back(3) + (type->isFloatTy() ? "f" : "d")).str();
    llvm::SmallVector<llvm::Type *> types(values.size(), type);
    llvm::FunctionCallee callee =
        call.getModule()->getOrInsertFunction(name, llvm::FunctionType::get(type, types, false));
    return write(target, b.CreateCall(callee, values));
  }

  llvm::CallInst &call;
  llvm::IRBuilder<> b;
  unsigned results = 0;
  std::map<std::string, Value *> registers;
  Value *carry;
};

} // namespace

std::string replaceAssembly(llvm::CallInst &call) {
  return llvm::isa<llvm::InlineAsm>(call.getCalledOperand()) ? Translator(call).run() : "";
}

} // namespace spmdc
