//===- PtxCodeHelper.cpp - one PTX function as LLVM IR --------------------===//

#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Dominators.h"

namespace spmdc {

using llvm::StringRef;
using llvm::Value;

PtxCode::PtxCode(PtxModuleCode &module, const PtxFunction &source, llvm::Function *function)
    : b(module.module.getContext()), module(module), source(source), function(function), entry(makeBlock("entry")) {}

std::string PtxCode::translate() {
  b.SetInsertPoint(entry);
  std::vector<PtxVariable> all = source.results;
  all.insert(all.end(), source.parameters.begin(), source.parameters.end());
  for (auto [number, parameter] : llvm::enumerate(all)) {
    // A kernel receives the words of its arguments, a function pointers to what its caller stored.
    variables[parameter.name] = source.isEntry ? b.CreateConstGEP1_64(b.getInt64Ty(), function->getArg(0), number)
                                               : function->getArg(static_cast<unsigned>(number));
    if (source.isEntry && parameter.bytes > 8)
      return "line " + std::to_string(source.line) + ": parameter " + parameter.name + " of more than 8 bytes";
  }
  // The memory that the launch requests begins behind the other variables.
  for (bool isExternal : {false, true})
    for (const PtxStatement &statement : source.statements) {
      current = &statement;
      placeShared(statement.operands, isExternal);
    }
  llvm::BasicBlock *body = makeBlock("body");
  b.SetInsertPoint(body);
  for (const PtxStatement &statement : source.statements) {
    current = &statement;
    if (statement.label.empty()) {
      translateStatement();
    } else {
      llvm::BasicBlock *label = findLabel(statement.label);
      if (!b.GetInsertBlock()->getTerminator())
        b.CreateBr(label);
      b.SetInsertPoint(label);
    }
    if (!problem.empty())
      return "line " + std::to_string(statement.line) + ": " + problem;
  }
  if (!b.GetInsertBlock()->getTerminator())
    b.CreateRetVoid();
  b.SetInsertPoint(entry);
  b.CreateBr(body);
  removePatterns();
  return "";
}

void PtxCode::removePatterns() {
  llvm::DominatorTree dominators(*function);
  for (llvm::StoreInst *pattern : patterns) {
    std::vector<llvm::StoreInst *> writes;
    std::vector<llvm::LoadInst *> reads;
    bool isKnown = true;
    for (llvm::User *user : pattern->getPointerOperand()->users())
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(user))
        reads.push_back(load);
      else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
               store && store->getPointerOperand() == pattern->getPointerOperand())
        writes.push_back(store);
      else
        isKnown = false;
    if (!isKnown || writes.size() != 2)
      continue;
    llvm::StoreInst *only = writes[0] == pattern ? writes[1] : writes[0];
    if (llvm::all_of(reads, [&](llvm::LoadInst *read) { return dominators.dominates(only, read); }))
      pattern->eraseFromParent();
  }
}

void PtxCode::translateStatement() {
  llvm::BasicBlock *after = nullptr;
  if (!current->guard.empty()) {
    PtxOperand guard;
    guard.name = current->guard;
    Value *isExecuted = read(guard, b.getInt1Ty());
    if (!isExecuted)
      return;
    llvm::BasicBlock *then = makeBlock("then");
    after = makeBlock("after");
    b.CreateCondBr(isExecuted, current->isGuardNegated ? after : then, current->isGuardNegated ? then : after);
    b.SetInsertPoint(then);
  }
  site.reset();
  modifiers.assign(std::next(current->parts.begin()), current->parts.end());
  PtxFamily family = findPtxFamily(current->parts[0]);
  bool isTranslated = family && family(*this) && hasNoMore();
  if (!isTranslated && problem.empty())
    refuse("unknown instruction");
  if (after && !b.GetInsertBlock()->getTerminator())
    b.CreateBr(after);
  // Statements behind a branch are not executed, unless a label begins there.
  if (after || b.GetInsertBlock()->getTerminator())
    b.SetInsertPoint(after ? after : makeBlock("behind"));
}

bool PtxCode::refuse(const std::string &why) {
  if (problem.empty())
    problem = why + ": " + current->text;
  return false;
}

bool PtxCode::take(StringRef modifier) {
  auto known = llvm::find(modifiers, modifier);
  if (known == modifiers.end())
    return false;
  modifiers.erase(known);
  return true;
}

StringRef PtxCode::takeOf(llvm::ArrayRef<StringRef> known) {
  for (StringRef modifier : known)
    if (take(modifier))
      return modifier;
  return "";
}

PtxType PtxCode::takeType() {
  PtxType type = modifiers.empty() ? PtxType() : PtxType::parse(modifiers.back());
  if (type.kind == PtxType::Kind::None)
    refuse("an instruction without a type");
  else
    modifiers.pop_back();
  return type;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

llvm::Type *PtxCode::typeOf(PtxType type) {
  llvm::Type *element = b.getIntNTy(type.bits);
  if (type.kind == PtxType::Kind::Float)
    element = type.bits == 16 ? b.getHalfTy() : type.bits == 32 ? b.getFloatTy() : b.getDoubleTy();
  return type.lanes > 1 ? llvm::FixedVectorType::get(element, type.lanes) : element;
}

llvm::AllocaInst *PtxCode::allocate(llvm::Type *type, const char *name) {
  llvm::IRBuilder<> first(entry, entry->begin());
  return first.CreateAlloca(type, nullptr, name);
}

std::optional<llvm::AllocaInst *> PtxCode::lookUp(StringRef name) {
  for (int scope = current->scope; scope >= 0; scope = source.scopes[scope].parent) {
    auto known = source.scopes[scope].registers.find(name);
    if (known == source.scopes[scope].registers.end())
      continue;
    llvm::AllocaInst *&variable = registers[std::to_string(scope) + ":" + name.str()];
    if (!variable) {
      llvm::Type *type = typeOf(known->second);
      variable = allocate(type);
      // Until it is written: NaN, or a pattern.
      llvm::IRBuilder<> first(entry, std::next(variable->getIterator()));
      llvm::Constant *pattern = type->isIntegerTy()
                                    ? llvm::ConstantInt::get(type, llvm::APInt::getAllOnes(type->getIntegerBitWidth()))
                                    : llvm::ConstantFP::getQNaN(type);
      patterns.push_back(first.CreateStore(pattern, variable));
    }
    return variable;
  }
  return std::nullopt;
}

llvm::AllocaInst *PtxCode::findRegister(const PtxOperand &operand) {
  if (operand.kind == PtxOperand::Kind::Name && operand.integer == 0)
    if (std::optional<llvm::AllocaInst *> variable = lookUp(operand.name))
      return *variable;
  refuse("a register expected instead of '" + operand.name + "'");
  return nullptr;
}

llvm::AllocaInst *PtxCode::carry() {
  if (!carryFlag)
    carryFlag = allocate(b.getInt1Ty(), "carry");
  return carryFlag;
}

/// A value with the same bits.
static Value *reinterpret(llvm::IRBuilder<> &b, Value *value, llvm::Type *type) {
  return value->getType() == type ? value : b.CreateBitCast(value, type);
}

Value *PtxCode::read(const PtxOperand &operand, llvm::Type *type, bool isNarrowing) {
  unsigned bits = type->getPrimitiveSizeInBits();
  switch (operand.kind) {
  case PtxOperand::Kind::Integer:
    return reinterpret(b, b.getInt(llvm::APInt(bits, operand.integer, /*isSigned=*/true)), type);
  case PtxOperand::Kind::Float:
    if (operand.floatBits != bits)
      break;
    return reinterpret(b, b.getInt(llvm::APInt(bits, operand.integer)), type);
  case PtxOperand::Kind::Name: {
    if (std::optional<llvm::AllocaInst *> variable = lookUp(operand.name)) {
      Value *value = b.CreateLoad((*variable)->getAllocatedType(), *variable);
      unsigned width = value->getType()->getPrimitiveSizeInBits();
      if (operand.isNegated)
        value = b.CreateNot(value);
      if (width > bits && isNarrowing)
        value = b.CreateTrunc(reinterpret(b, value, b.getIntNTy(width)), b.getIntNTy(bits));
      else if (width != bits)
        break;
      return reinterpret(b, value, type);
    }
    std::string key;
    if (const PtxVariable *variable = findVariable(operand.name, key)) {
      Value *begin = addressOf(*variable, key);
      return begin && type->isIntegerTy(64) ? b.CreateAdd(begin, b.getInt64(operand.integer)) : nullptr;
    }
    if (Value *special = readSpecial(operand.name))
      return special->getType() == type ? special : bits > 32 ? b.CreateZExt(special, type) : nullptr;
    refuse("unknown name '" + operand.name + "'");
    return nullptr;
  }
  default:
    break;
  }
  refuse("an operand that is not of " + std::to_string(bits) + " bits");
  return nullptr;
}

bool PtxCode::write(const PtxOperand &operand, Value *value, bool isWidening, bool isSigned) {
  if (operand.kind == PtxOperand::Kind::Name && operand.name == "_")
    return true;
  llvm::AllocaInst *variable = value ? findRegister(operand) : nullptr;
  if (!variable)
    return false;
  llvm::Type *type = variable->getAllocatedType();
  unsigned width = type->getPrimitiveSizeInBits(), bits = value->getType()->getPrimitiveSizeInBits();
  if (width > bits && isWidening) {
    value = reinterpret(b, value, b.getIntNTy(bits));
    value = isSigned ? b.CreateSExt(value, b.getIntNTy(width)) : b.CreateZExt(value, b.getIntNTy(width));
  } else if (width != bits) {
    return refuse("a result that is not of " + std::to_string(width) + " bits");
  }
  b.CreateStore(reinterpret(b, value, type), variable);
  return true;
}

llvm::CallInst *PtxCode::callAddress(void *callee, llvm::Type *result, llvm::ArrayRef<Value *> values) {
  std::vector<llvm::Type *> types;
  for (Value *value : values)
    types.push_back(value->getType());
  llvm::CallInst *call = b.CreateCall(llvm::FunctionType::get(result, types, false), pointerTo(callee), values);
  // The convention of C: callers extend small integers.
  for (auto [number, value] : llvm::enumerate(values))
    if (value->getType()->isIntegerTy() && value->getType()->getIntegerBitWidth() < 32)
      call->addParamAttr(static_cast<unsigned>(number), llvm::Attribute::ZExt);
  return call;
}

Value *PtxCode::pointerTo(const void *memory) {
  return b.CreateIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(memory)), b.getPtrTy());
}

} // namespace spmdc
