//===- ElementEmitter.h - the code of one element ---------------*- C++ -*-===//
//
// Emits the value of a scheduled kernel at a symbolic index: it calls the emitScalar of the operations, and composes
// their index maps. Loads and stores are operations of the llvm dialect, arithmetic those of arith and math. The
// backend decides where loops begin and end, where row values and stage-local caches are kept, and what a pointer is:
// it opens scopes, binds loop variables, and implements the hooks.
//
// A value is computed in the outermost scope in which its index is known. A value under a condition (padding, operands
// of a concatenation) is computed in a branch: no element outside an array is ever read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/ElementValues.h"
#include "passes/kernel/KernelSchedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <functional>
#include <map>

namespace spmdc {

class ElementEmitter {
public:
  /// A value, and the scope in which it is computed (0 is the outermost).
  struct Emitted {
    mlir::Value value;
    unsigned depth = 0;
  };

  /// The decisions of the backend.
  struct Hooks {
    /// The memory of an input.
    std::function<mlir::Value(mlir::Value input)> pointerOf;
    /// The value of a reduction in the current row, as it is in registers, not yet rounded.
    std::function<Emitted(ReduceOp)> rowValue;
    /// The value in a stage-local cache, if this stage can read it. Also called for inputs, which a backend may keep in
    /// faster memory.
    std::function<std::optional<Emitted>(mlir::Value, llvm::ArrayRef<IndexExpr>)> cachedValue;
    /// The device's coordinate (i64) along a mesh axis, emitted at the insertion point of `builder`.
    std::function<mlir::Value(mlir::OpBuilder &builder, unsigned axis)> coordinate;
    /// Attributes for a memory access of the current loops; may be empty.
    std::function<void(mlir::Operation *access)> annotate;
    Bf16Rounding rounding = Bf16Rounding::Integers;
    /// Quotients and remainders of positions become products, which a backend has in vectors. A GPU divides 32-bit
    /// numbers in fewer instructions.
    bool multipliesQuotients = false;
  };

  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc, const KernelBody &body, const KernelSchedule &schedule,
                 Hooks hooks);

  //===--- Scopes ----------------------------------------------------------===//

  /// Opens a scope that appends to the end of this block; the outer scope continues before the block's terminator.
  void pushScope(mlir::Block *block);
  /// Closes the scope; the outer one continues at the end of `block`.
  void popScope(mlir::Block *block);
  unsigned getDepth() const { return scopes.size() - 1; }
  /// The block of the innermost scope.
  mlir::Block *getBlock() const { return scopes.back().block; }
  /// Sets the insertion point of the builder to the end of this scope.
  void moveTo(unsigned depth);
  /// Declares the guards whose outcome is known in the innermost scope: no code tests them there, and values that
  /// depend on them are not used outside of the scope.
  void assume(std::vector<IndexAssumption> assumptions);
  /// Gives a loop variable its value in the innermost scope; a constant needs none.
  void bind(const IndexExpr &variable, mlir::Value value);

  //===--- Code ------------------------------------------------------------===//

  /// The value of an array at an index, in registers.
  mlir::Value emit(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  void store(mlir::Value pointer, ArrayType type, llvm::ArrayRef<IndexExpr> index, mlir::Value value);
  mlir::Value emitIndex(const IndexExpr &expr);
  /// Whether a guard holds.
  mlir::Value emitGuard(const IndexGuard &guard);
  mlir::Value emitConstant(int64_t value);

private:
  using Key = std::pair<const void *, std::vector<IndexExpr>>;
  struct Scope {
    mlir::Block *block = nullptr;
    mlir::Operation *end = nullptr; ///< The terminator, once an inner scope is open.
    std::map<Key, mlir::Value> values;
    std::map<IndexExpr, mlir::Value> indices;
    bool isGuard = false;
    std::vector<IndexAssumption> assumed; ///< Guards that need no test in this scope.
  };

  Emitted emitAt(mlir::Value value, Index index);
  Emitted emitOp(mlir::Operation *op, const Index &index);
  Emitted emitLoad(mlir::Value value, const Index &index);
  Emitted emitConcatenate(ConcatenateOp op, const Index &index);
  /// Emits `inside` if all guards hold, else `outside`.
  Emitted emitGuarded(mlir::Type type, llvm::ArrayRef<IndexGuard> guards, llvm::function_ref<mlir::Value()> inside,
                      llvm::function_ref<mlir::Value()> outside);
  Emitted emitPosition(mlir::Operation *op);
  Emitted emitLookup(unsigned atom);
  Emitted emitIndexAt(const IndexExpr &expr);
  /// A FloorDiv or Mod, of the value of its operand.
  mlir::Value emitDivision(const IndexSpace::Atom &atom, mlir::Value x);
  /// Emits the first element and the number of elements of the device's shard (i64), at the builder's insertion point.
  std::pair<mlir::Value, mlir::Value> emitShardStart(int64_t size, AxesAttr axes, MeshAttr mesh);
  mlir::Value round(mlir::Type elementType, mlir::Value value) {
    return roundElement(builder, loc, elementType, value, hooks.rounding);
  }
  unsigned guardDepth() const;
  bool isAssumed(const IndexAssumption &assumption) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const KernelBody &body;
  const KernelSchedule &schedule;
  Hooks hooks;
  llvm::SmallVector<Scope, 4> scopes;
  std::map<unsigned, Emitted> variables;
};

} // namespace spmdc
