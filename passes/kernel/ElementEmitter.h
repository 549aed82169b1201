//===- ElementEmitter.h - the code of one element ---------------*- C++ -*-===//
//
// Emits what a scheduled kernel computes at a symbolic index, from the operations' own emitScalar, composing index maps
// on the way; loads and stores are LLVM's, arithmetic is arith and math. Where loops begin and end, where row values
// and stashes are kept, and what a pointer is, is the backend's: it opens scopes, binds loop variables, and answers the
// hooks.
//
// A value is computed in the outermost scope in which its index is known. What stands behind a condition (padding,
// pieces of a concatenation) is computed in a branch: no element outside an array is ever read.
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

  /// What the backend decides.
  struct Hooks {
    /// The memory of an input.
    std::function<mlir::Value(mlir::Value input)> pointerOf;
    /// The value of a reduction in the current row, as it is in registers but not yet rounded.
    std::function<Emitted(ReduceOp)> rowValue;
    /// The stashed value, if this stage can read it; also asked for inputs, which may lie nearer than in memory.
    std::function<std::optional<Emitted>(mlir::Value, llvm::ArrayRef<IndexExpr>)> stashed;
    /// The device's coordinate (i64) along a mesh axis; emitted where `builder` stands.
    std::function<mlir::Value(mlir::OpBuilder &builder, unsigned axis)> coordinate;
    /// Attributes for a memory access of the current loops; may be empty.
    std::function<void(mlir::Operation *access)> annotate;
    Bf16Rounding rounding = Bf16Rounding::Integers;
  };

  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc, const KernelBody &body, const KernelSchedule &schedule,
                 Hooks hooks);

  //===--- Scopes ----------------------------------------------------------===//

  /// A scope that goes on at the end of this block; the outer one is continued before its terminator.
  void pushScope(mlir::Block *block);
  /// The outer scope goes on at the end of `block`.
  void popScope(mlir::Block *block);
  unsigned getDepth() const { return scopes.size() - 1; }
  /// Where the innermost scope stands.
  mlir::Block *getBlock() const { return scopes.back().block; }
  /// Lets the builder stand where this scope goes on.
  void moveTo(unsigned depth);
  /// What is known of guards in the innermost scope: they are not asked there, and nothing that is read leaves it.
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
    std::vector<IndexAssumption> assumed; ///< What need not be asked in it.
  };

  Emitted emitAt(mlir::Value value, Index index);
  Emitted emitOp(mlir::Operation *op, const Index &index);
  Emitted emitLoad(mlir::Value value, const Index &index);
  Emitted emitConcatenate(ConcatenateOp op, const Index &index);
  /// `inside` where all guards hold, else `outside`.
  Emitted emitGuarded(mlir::Type type, llvm::ArrayRef<IndexGuard> guards, llvm::function_ref<mlir::Value()> inside,
                      llvm::function_ref<mlir::Value()> outside);
  Emitted emitPosition(mlir::Operation *op);
  Emitted emitLookup(unsigned atom);
  Emitted emitIndexAt(const IndexExpr &expr);
  /// First element and number of elements of the device's piece (i64), where the builder stands.
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
