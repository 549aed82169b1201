//===- PtxAddressesHelper.cpp - variables, addresses, control flow --------===//

#include "tests/passes/gpu/emulator/GpuMatricesHelper.h"
#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/MDBuilder.h"

namespace spmdc {

using llvm::StringRef;
using llvm::Value;

//===----------------------------------------------------------------------===//
// Variables and addresses
//===----------------------------------------------------------------------===//

const PtxVariable *PtxCode::findVariable(StringRef name, std::string &key) {
  for (int scope = current->scope; scope >= 0; scope = source.scopes[scope].parent)
    if (auto known = source.scopes[scope].variables.find(name); known != source.scopes[scope].variables.end()) {
      key = std::to_string(scope) + ":" + name.str();
      return &known->second;
    }
  key = name.str();
  for (const std::vector<PtxVariable> *list : {&source.parameters, &source.results})
    for (const PtxVariable &variable : *list)
      if (variable.name == name)
        return &variable;
  auto known = module.variables.find(name);
  return known == module.variables.end() ? nullptr : &known->second;
}

void PtxCode::placeShared(llvm::ArrayRef<PtxOperand> operands, bool isExternal) {
  for (const PtxOperand &operand : operands) {
    placeShared(operand.elements, isExternal);
    std::string key;
    const PtxVariable *variable = findVariable(operand.name, key);
    if (!variable || variable->space != "shared" || variable->isExternal != isExternal || sharedOffsets.count(key))
      continue;
    sharedBytes = (sharedBytes + variable->alignment - 1) / variable->alignment * variable->alignment;
    sharedOffsets[key] = sharedBytes;
    sharedBytes += variable->bytes;
    hasLaunchShared |= isExternal;
  }
}

Value *PtxCode::addressOf(const PtxVariable &variable, const std::string &key) {
  if (variable.space == "shared") {
    if (!source.isEntry)
      return refuse("shared memory in a function that is not a kernel"), nullptr;
    return b.getInt64(sharedOffsets.at(key));
  }
  if (auto known = module.addresses.find(key); known != module.addresses.end())
    return b.getInt64(reinterpret_cast<uint64_t>(known->second));
  Value *&begin = variables[key];
  if (!begin) {
    auto *memory = allocate(llvm::ArrayType::get(b.getInt8Ty(), std::max<uint64_t>(variable.bytes, 1)));
    memory->setAlignment(llvm::Align(std::max<uint64_t>(variable.alignment, 16)));
    llvm::IRBuilder<> first(entry, std::next(memory->getIterator()));
    first.CreateMemSet(memory, first.getInt8(0xff), variable.bytes, memory->getAlign());
    begin = memory;
  }
  return b.CreatePtrToInt(begin, b.getInt64Ty());
}

PtxCode::Address PtxCode::address(const PtxOperand &operand) {
  Address result;
  if (operand.kind != PtxOperand::Kind::Address) {
    refuse("an address in brackets expected");
    return result;
  }
  PtxOperand base = operand.elements[0];
  std::string key;
  base.integer = 0;
  if (!isRegister(base))
    if (const PtxVariable *variable = findVariable(base.name, key)) {
      result.space = variable->space;
      result.end = variable->bytes - static_cast<uint64_t>(operand.integer);
    }
  if (Value *begin = read(base, b.getInt64Ty()))
    result.value = operand.integer ? b.CreateAdd(begin, b.getInt64(operand.integer)) : begin;
  return result;
}

uint32_t PtxCode::currentSite() {
  if (!site)
    site = module.memory.addSite({source.name, current->text, current->line});
  return *site;
}

void PtxCode::check(Value *isGood, Value *address) {
  llvm::BasicBlock *bad = makeBlock("bad"), *good = makeBlock("good");
  b.CreateCondBr(isGood, good, bad, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(bad);
  llvm::CallInst *call = callAddress(reinterpret_cast<void *>(&GpuMemory::fail), b.getVoidTy(),
                                     {pointerTo(&module.memory), address, b.getInt32(currentSite())});
  call->setDoesNotReturn();
  call->addFnAttr(llvm::Attribute::Cold);
  b.CreateUnreachable();
  b.SetInsertPoint(good);
}

void PtxCode::checkCopy(Value *address, Value *bytes) {
  module.memory.setAccess(currentSite(), GpuCopy::kBytes, /*isOffset=*/false, {});
  callAddress(reinterpret_cast<void *>(&GpuMemory::checkBytes), b.getVoidTy(),
              {pointerTo(&module.memory), address, bytes, b.getInt32(currentSite())});
}

void PtxCode::callUnless(Value *isGood, void (*function)(GpuMemory *, uint64_t, uint32_t), Value *address) {
  llvm::BasicBlock *other = makeBlock("other"), *good = makeBlock("good");
  b.CreateCondBr(isGood, good, other, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(other);
  llvm::CallInst *call = callAddress(reinterpret_cast<void *>(function), b.getVoidTy(),
                                     {pointerTo(&module.memory), address, b.getInt32(currentSite())});
  call->addFnAttr(llvm::Attribute::Cold);
  b.CreateBr(good);
  b.SetInsertPoint(good);
}

Value *PtxCode::checkedPointer(StringRef space, Value *address, unsigned bytes, const GpuAccess &how) {
  module.memory.setAccess(currentSite(), bytes, space == "shared", how);
  Value *isAligned = b.CreateICmpEQ(b.CreateAnd(address, b.getInt64(bytes - 1)), b.getInt64(0));
  if (space == "shared") {
    // The end, rounded down to a multiple of the access: an aligned access below it ends at most there.
    Value *limit = b.CreateLoad(b.getInt64Ty(), pointerTo(&module.memory.directBytes));
    limit = b.CreateAnd(limit, b.getInt64(~uint64_t{bytes - 1}));
    callUnless(b.CreateAnd(isAligned, b.CreateICmpULT(address, limit)), &GpuMemory::accessShared, address);
    return b.CreateIntToPtr(b.CreateAdd(address, sharedBegin()), b.getPtrTy());
  }
  if (space == "local") {
    // Its variables are one depot, as LLVM writes them.
    std::vector<const PtxVariable *> all;
    for (const PtxScope &scope : source.scopes)
      for (const auto &entry : scope.variables)
        if (entry.second.space == "local")
          all.push_back(&entry.second);
    if (all.size() != 1)
      return refuse("local memory in a function without a variable, or with several"), nullptr;
    Value *offset = b.CreateSub(address, addressOf(*all[0], "0:" + all[0]->name));
    check(b.CreateAnd(isAligned, all[0]->bytes < bytes ? b.getFalse()
                                                       : b.CreateICmpULE(offset, b.getInt64(all[0]->bytes - bytes))),
          address);
    return b.CreateIntToPtr(address, b.getPtrTy());
  }
  GpuMemory::Recent *recent = module.memory.recentOf(currentSite());
  Value *begin = b.CreateLoad(b.getInt64Ty(), pointerTo(&recent->begin)),
        *count = b.CreateLoad(b.getInt64Ty(), pointerTo(&recent->count));
  Value *isInside = b.CreateICmpULT(b.CreateSub(address, begin), count);
  callUnless(b.CreateAnd(isAligned, isInside), &GpuMemory::findBuffer, address);
  return b.CreateIntToPtr(address, b.getPtrTy());
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

llvm::BasicBlock *PtxCode::findLabel(const std::string &name) {
  for (int scope = current->scope; scope >= 0; scope = source.scopes[scope].parent)
    for (const PtxStatement &statement : source.statements)
      if (statement.scope == scope && statement.label == name) {
        llvm::BasicBlock *&label = labels[std::to_string(scope) + ":" + name];
        if (!label)
          label = makeBlock(name.c_str());
        return label;
      }
  refuse("unknown label '" + name + "'");
  return nullptr;
}

bool PtxCode::branch() {
  take("uni");
  if (operandCount() != 1 || operand(0).kind != PtxOperand::Kind::Name)
    return false;
  llvm::BasicBlock *label = findLabel(operand(0).name);
  if (!label)
    return false;
  b.CreateBr(label);
  return true;
}

bool PtxCode::leave() {
  b.CreateRetVoid();
  return operandCount() == 0 && (current->parts[0] == "ret" || source.isEntry);
}

bool PtxCode::callFunction() {
  take("uni");
  // call (results), name, (arguments): each list may be absent.
  std::vector<Value *> arguments;
  std::string callee;
  for (const PtxOperand &operand : current->operands) {
    if (operand.kind == PtxOperand::Kind::Name) {
      callee = operand.name;
      continue;
    }
    for (const PtxOperand &element : operand.elements) {
      std::string key;
      const PtxVariable *variable = findVariable(element.name, key);
      Value *begin = variable && variable->space == "param" ? addressOf(*variable, key) : nullptr;
      if (!begin)
        return refuse("an argument that is not in param space");
      arguments.push_back(b.CreateIntToPtr(begin, b.getPtrTy()));
    }
  }
  if (callee == "cudaGraphSetConditional" && arguments.size() == 2) { // The driver has it.
    callAddress(reinterpret_cast<void *>(&GpuMemory::setCondition), b.getVoidTy(),
                {pointerTo(&module.memory), b.CreateLoad(b.getInt64Ty(), arguments[0]),
                 b.CreateLoad(b.getInt32Ty(), arguments[1])});
    return true;
  }
  llvm::Function *target = module.functions.lookup(callee);
  if (!target || target->arg_size() != arguments.size())
    return refuse("a call of an unknown function");
  b.CreateCall(target, arguments);
  return true;
}

} // namespace spmdc
