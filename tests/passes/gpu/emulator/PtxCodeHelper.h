//===- PtxCodeHelper.h - one PTX function as LLVM IR ------------*- C++ -*-===//
//
// Translates a function instruction by instruction to LLVM IR of this machine. A register is a variable on the stack,
// which LLVM makes a value; an address is 64 bits:
//   global   an address of this machine
//   shared   an offset in the block's window of shared memory, as on hardware
//   local    an address of this machine; the function's variables are on the stack of its fiber
//   generic  an address of this machine: cvta adds or subtracts the begin of the window
//
// Each family of instructions has a function (PtxFamily) that returns false for what it does not know; that is an error
// which names the line. A family takes each modifier of the opcode that it implements, and none may be left.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuMemoryHelper.h"
#include "tests/passes/gpu/emulator/PtxReaderHelper.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <set>

namespace spmdc {

class PtxCode;
using PtxFamily = bool (*)(PtxCode &code);

/// The parts that all functions of a module share.
struct PtxModuleCode {
  llvm::Module &module;
  GpuMemory &memory;                      ///< It outlives the code.
  llvm::StringMap<PtxVariable> variables; ///< Those outside of functions.
  llvm::StringMap<char *> addresses;      ///< Of `.global` and `.const` variables.
  llvm::StringMap<llvm::Function *> functions;
};

class PtxCode {
public:
  PtxCode(PtxModuleCode &module, const PtxFunction &source, llvm::Function *function);

  /// Returns an error (`line 12: ...`), or an empty string.
  std::string translate();

  /// The bytes of the variables in shared memory, without what the launch requests, which begins there.
  uint64_t sharedBytes = 0;
  bool hasLaunchShared = false;

  //===--------------------------------------------------------------------===//
  // For families: the current instruction
  //===--------------------------------------------------------------------===//

  const PtxStatement &statement() const { return *current; }
  size_t operandCount() const { return current->operands.size(); }
  const PtxOperand &operand(size_t number) const { return current->operands[number]; }
  /// Removes a modifier; false if the opcode does not have it.
  bool take(llvm::StringRef modifier);
  /// Removes the one of these modifiers that the opcode has; empty if there is none.
  llvm::StringRef takeOf(llvm::ArrayRef<llvm::StringRef> known);
  /// Removes the last modifier, which is a type.
  PtxType takeType();
  bool hasNoMore() const { return modifiers.empty(); }
  /// Says why the instruction is not translated; returns false.
  bool refuse(const std::string &why);

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  llvm::IRBuilder<> b;

  /// iN for integers and bf16; half, float and double; i1 for predicates.
  llvm::Type *typeOf(PtxType type);
  /// Reads an operand with these bits. A wider register is truncated if `isNarrowing`. Null after an error.
  llvm::Value *read(const PtxOperand &operand, llvm::Type *type, bool isNarrowing = false);
  llvm::Value *read(size_t number, llvm::Type *type) { return read(operand(number), type); }
  /// Writes all bits of a register. A wider register receives the zero- or sign-extended value if `isWidening`.
  bool write(const PtxOperand &operand, llvm::Value *value, bool isWidening = false, bool isSigned = false);
  /// The variable that represents a register; null after an error. It may be passed to functions.
  llvm::AllocaInst *findRegister(const PtxOperand &operand);
  bool isRegister(const PtxOperand &operand) { return lookUp(operand.name).has_value(); }
  llvm::AllocaInst *carry();
  /// A variable of the function, on its stack.
  llvm::AllocaInst *allocate(llvm::Type *type, const char *name = "");

  /// Calls a function of this machine.
  template <typename Result, typename... Arguments>
  llvm::Value *call(Result (*function)(Arguments...), llvm::Type *result, llvm::ArrayRef<llvm::Value *> values) {
    return callAddress(reinterpret_cast<void *>(function), result, values);
  }
  llvm::CallInst *callAddress(void *function, llvm::Type *result, llvm::ArrayRef<llvm::Value *> values);
  llvm::Value *pointerTo(const void *memory);

  //===--------------------------------------------------------------------===//
  // Memory and control flow
  //===--------------------------------------------------------------------===//

  /// The space and the address of an operand in brackets; null after an error.
  struct Address {
    std::string space; ///< Of the variable that it names; empty if it names none.
    llvm::Value *value = nullptr;
    uint64_t end = 0; ///< For a parameter: the bytes from there to its end.
  };
  Address address(const PtxOperand &operand);
  /// A pointer of this machine to `bytes` at an address in this space (empty: generic), which is checked to be a
  /// multiple of the bytes, a power of two, and in bounds. `how`: what the instruction does there, unless the function
  /// that it calls looks for races.
  llvm::Value *checkedPointer(llvm::StringRef space, llvm::Value *address, unsigned bytes, const GpuAccess &how = {});
  /// Ends the thread with an error unless the bytes from a global address on are in a buffer.
  void checkCopy(llvm::Value *address, llvm::Value *bytes);
  /// The number of the current statement in GpuMemory.
  uint32_t currentSite();
  /// Ends the thread with an error unless `isGood`.
  void check(llvm::Value *isGood, llvm::Value *address);
  llvm::Value *sharedBegin() { return b.getInt64(reinterpret_cast<uint64_t>(module.memory.window())); }

  bool branch();
  bool leave();
  bool callFunction();

private:
  /// Calls a function of GpuMemory with an address and the current statement unless `isGood`.
  void callUnless(llvm::Value *isGood, void (*function)(GpuMemory *, uint64_t, uint32_t), llvm::Value *address);
  std::optional<llvm::AllocaInst *> lookUp(llvm::StringRef name);
  const PtxVariable *findVariable(llvm::StringRef name, std::string &key);
  llvm::Value *addressOf(const PtxVariable &variable, const std::string &key);
  llvm::BasicBlock *findLabel(const std::string &name);
  llvm::BasicBlock *makeBlock(const char *name) { return llvm::BasicBlock::Create(b.getContext(), name, function); }
  void translateStatement();
  /// Removes the patterns that no read can see: LLVM then needs no analysis to make a value of a register.
  void removePatterns();
  llvm::Value *readSpecial(const std::string &name);
  /// Gives the variables in shared memory that operands name their places: those of the launch, or the others.
  void placeShared(llvm::ArrayRef<PtxOperand> operands, bool isExternal);

  PtxModuleCode &module;
  const PtxFunction &source;
  llvm::Function *function;
  llvm::BasicBlock *entry;
  const PtxStatement *current = nullptr;
  std::vector<llvm::StringRef> modifiers;
  std::string problem;
  std::map<std::string, llvm::AllocaInst *> registers; ///< By scope and name.
  std::map<std::string, llvm::Value *> variables;      ///< Addresses of local variables and parameters, likewise.
  std::map<std::string, uint64_t> sharedOffsets;       ///< Of those variables that the function uses, likewise.
  std::map<std::string, llvm::BasicBlock *> labels;    ///< Likewise.
  std::vector<llvm::StoreInst *> patterns;             ///< The values of registers before they are written.
  llvm::AllocaInst *carryFlag = nullptr;
  std::optional<uint32_t> site; ///< Of the current statement in GpuMemory.
};

/// The families of instructions, by the first part of the opcode; null for unknown opcodes.
PtxFamily findPtxFamily(llvm::StringRef opcode);
PtxFamily findFloatFamily(llvm::StringRef opcode);
PtxFamily findIntegerFamily(llvm::StringRef opcode);
PtxFamily findMemoryFamily(llvm::StringRef opcode);
PtxFamily findThreadFamily(llvm::StringRef opcode);
PtxFamily findMatrixFamily(llvm::StringRef opcode);

/// f32 of the bits of bf16, and the nearest bf16's bits (NaN becomes 0x7fff); vectors of integers likewise.
llvm::Value *widenBf16(llvm::IRBuilder<> &b, llvm::Value *bits);
llvm::Value *roundToBf16(llvm::IRBuilder<> &b, llvm::Value *value);
/// Subnormal numbers become zeros of their sign.
llvm::Value *flushSubnormal(llvm::IRBuilder<> &b, llvm::Value *value);

} // namespace spmdc
