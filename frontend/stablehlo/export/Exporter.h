//===- Exporter.h - from array operations to StableHLO ----------*- C++ -*-===//
//
// One rule for each operation, in tables by family (Export*.cpp), as the importer has. A rule takes the operation,
// whose operands have been written, and emits operations of StableHLO, CHLO or Shardy for its results. Rules choose the
// form that the importer turns into the same array operation again; operations that StableHLO lacks are composed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/dialect/Dialects.h"

#include "ir/array/ArrayOps.h"
#include "ir/interfaces/Scalar.h"
#include "ir/spmd/SpmdOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>

namespace spmdc::stablehlo {

/// The name of the exported mesh, as JAX names it.
inline constexpr llvm::StringLiteral kExportedMesh = "mesh";

/// A module during its export. The state is that of one module; used by one thread.
class Exporter {
public:
  /// Functions that rules call are added to `target`. `mesh` is null for a program of one device.
  Exporter(mlir::ModuleOp target, mlir::OpBuilder &builder, MeshAttr mesh)
      : b(builder), mesh(mesh), target(target), symbols(target) {}

  //===- Values -----------------------------------------------------------===//

  mlir::Value get(mlir::Value array) const { return values.lookup(array); }
  llvm::SmallVector<mlir::Value> get(mlir::ValueRange arrays) const;
  void set(mlir::Value array, mlir::Value tensor) { values[array] = tensor; }
  void set(mlir::ValueRange arrays, mlir::ValueRange tensors);
  /// The type of a tensor for that of an array, without its sharding.
  static mlir::RankedTensorType typeOf(mlir::Type array) { return llvm::cast<ArrayType>(array).getTensorType(); }
  static mlir::RankedTensorType typeOf(mlir::Value array) { return typeOf(array.getType()); }

  //===- Emission ---------------------------------------------------------===//

  template <typename Op, typename... Args> Op create(Args &&...args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }
  /// A constant of one value, rounded to the element type.
  mlir::Value splat(mlir::RankedTensorType type, Scalar value);
  mlir::Value splatLike(mlir::Value tensor, double value);
  /// A scalar i32, i64 or u32.
  mlir::Value integer(mlir::Type element, int64_t value);
  /// The same tensor if it has the element type already.
  mlir::Value convert(mlir::Value tensor, mlir::Type element);
  /// `direction` is a word of StableHLO: LT, EQ, ... Floats are compared as numbers, unless `isTotal`.
  mlir::Value compare(mlir::Value x, llvm::StringRef direction, mlir::Value y, bool isTotal = false);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  /// Combines two tensors of one type.
  mlir::Value combine(ReductionKind kind, mlir::Value x, mlir::Value y);
  /// Fills a region with a block of these arguments that returns the values of `body`.
  void fill(mlir::Region &region, mlir::TypeRange arguments,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Block::BlockArgListType)> body);
  /// Fills a region that combines two scalars.
  void fillCombiner(mlir::Region &region, ReductionKind kind, mlir::Type element);
  /// The element type in which sums and products of this type are accumulated: f32 for bf16 and f16.
  mlir::Type accumulatorOf(ReductionKind kind, mlir::Type element);

  //===- Operations -------------------------------------------------------===//

  /// Writes the operations of a block but its terminator. The block's arguments have been set.
  mlir::LogicalResult write(mlir::Block &block);
  /// A composite operation of this name. `fill` writes its decomposition, a private function of the module with the
  /// name `function`, at the first call.
  llvm::SmallVector<mlir::Value> composite(llvm::StringRef name, llvm::StringRef function, mlir::ValueRange arguments,
                                           mlir::TypeRange results,
                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> fill);
  /// Shardy's form of a type's sharding; an open one if the type has none.
  sdy::TensorShardingAttr shardingOf(ArrayType type);

  /// A number for a collective: 1, 2, ...
  int64_t nextChannel() { return ++channels; }

  mlir::OpBuilder &b;
  mlir::Location loc = b.getUnknownLoc(); ///< Of the operation that is being written.
  MeshAttr mesh;

private:
  mlir::LogicalResult write(mlir::Operation *op);

  mlir::ModuleOp target;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  int64_t channels = 0;
};

/// Whether a manual region is over axes of one device: it is written as a part of the program around it.
bool isOfOneDevice(spmdc::ManualOp op);

/// The location of an operation as JAX knows locations: the begin of its expression, and of the calls around it.
mlir::Location toPlainLoc(mlir::Location loc);

/// The rules by names of array operations.
class ExportRules {
public:
  /// A rule whose operation has one result and can be written always.
  template <typename Op> void add(mlir::Value (*rule)(Exporter &, Op)) {
    rules[Op::getOperationName()] = [rule](Exporter &e, mlir::Operation *op) {
      e.set(op->getResult(0), rule(e, llvm::cast<Op>(op)));
      return mlir::success();
    };
  }
  /// A rule that sets the results itself, or fails with a message.
  template <typename Op> void addMany(mlir::LogicalResult (*rule)(Exporter &, Op)) {
    rules[Op::getOperationName()] = [rule](Exporter &e, mlir::Operation *op) { return rule(e, llvm::cast<Op>(op)); };
  }
  using Rule = std::function<mlir::LogicalResult(Exporter &, mlir::Operation *)>;
  const Rule *find(llvm::StringRef name) const;

  /// All rules. Made at first use; thread-safe.
  static const ExportRules &get();

private:
  llvm::StringMap<Rule> rules;
};

void addElementwiseExports(ExportRules &rules);
void addMovementExports(ExportRules &rules);
void addContractionExports(ExportRules &rules);
void addReductionExports(ExportRules &rules);
void addIndexExports(ExportRules &rules);
void addFourierExports(ExportRules &rules);
void addRandomExports(ExportRules &rules);
void addControlExports(ExportRules &rules);
void addManualExports(ExportRules &rules);
void addCollectiveExports(ExportRules &rules);

} // namespace spmdc::stablehlo
