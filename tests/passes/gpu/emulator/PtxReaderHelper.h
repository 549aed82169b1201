//===- PtxReaderHelper.h - reads PTX text -----------------------*- C++ -*-===//
//
// The part of NVIDIA's PTX ISA that LLVM's NVPTX backend and inline assembly write: functions, variables, registers,
// labels, scopes, instructions with their operands. Instructions are not interpreted here. Text that is not understood
// is an error with its line, so nothing is skipped except debug directives and performance hints.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spmdc {

/// A type such as `.u32`, `.bf16x2` or `.pred`.
struct PtxType {
  enum class Kind { None, Bits, Signed, Unsigned, Float, Bfloat, Predicate } kind = Kind::None;
  unsigned bits = 0;  ///< Of one element; 1 for predicates.
  unsigned lanes = 1; ///< 2 for packed types.

  /// Kind::None for other names.
  static PtxType parse(llvm::StringRef name);
  unsigned totalBits() const { return bits * lanes; }
  bool isInteger() const { return kind == Kind::Bits || kind == Kind::Signed || kind == Kind::Unsigned; }
  bool isFloat() const { return kind == Kind::Float || kind == Kind::Bfloat; }
  bool isSigned() const { return kind == Kind::Signed; }
  bool isBfloat() const { return kind == Kind::Bfloat; }
};

/// A variable in a state space: `param`, `shared`, `local`, `global` or `const`.
struct PtxVariable {
  std::string name, space;
  uint64_t bytes = 0, alignment = 1;
  bool isExternal = false;
  std::vector<uint8_t> content; ///< The bytes of a global variable at first.
};

struct PtxOperand {
  /// Name: a register, a special register or a variable. Address: `elements[0]` plus an offset, in brackets. Vector:
  /// registers in braces. Pair: two results, `p|q`. List: arguments of a call.
  enum class Kind { Name, Integer, Float, Address, Vector, Pair, List } kind = Kind::Name;
  std::string name;
  int64_t integer = 0;    ///< The number; of a Name or an Address: what is added to it. Of a Float: its bits.
  unsigned floatBits = 0; ///< 32 or 64.
  bool isNegated = false; ///< `!p`
  std::vector<PtxOperand> elements;
};

/// An instruction, or a label.
struct PtxStatement {
  int line = 0;
  int scope = 0; ///< The index of the braces around it, in PtxFunction::scopes.
  std::string text, label;
  std::string guard; ///< The predicate without which it is not executed; empty if there is none.
  bool isGuardNegated = false;
  std::vector<std::string> parts; ///< Of the opcode: `ld`, `global`, `f32`.
  std::vector<PtxOperand> operands;
};

/// Braces: names are looked up in them, and then in those around them.
struct PtxScope {
  int parent = -1;
  llvm::StringMap<PtxType> registers;
  llvm::StringMap<PtxVariable> variables;
};

struct PtxFunction {
  std::string name;
  bool isEntry = false;
  int line = 0;
  std::vector<PtxVariable> results, parameters;
  int32_t clusterBlocks = 1;
  int32_t mostThreads = 1024; ///< Of a block.
  std::vector<PtxScope> scopes;
  std::vector<PtxStatement> statements;
};

struct PtxModule {
  std::vector<PtxVariable> variables;
  std::vector<PtxFunction> functions; ///< Those with a body.
};

/// Reads a module; sets `error` (`line 12: ...`) if some text is not understood.
PtxModule readPtx(llvm::StringRef text, std::string &error);

} // namespace spmdc
