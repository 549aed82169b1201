//===- Translation.h - from StableHLO to array operations -------*- C++ -*-===//
//
// One rule for each operation, in tables by family (Translate*.cpp). A rule takes the operation, whose operands have
// been translated, and emits array operations for its results. Calls of functions are translated as the body of the
// callee, so the result has one function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Meshes.h"
#include "frontend/stablehlo/dialect/Dialects.h"

#include "ir/array/ArrayOps.h"
#include "ir/interfaces/Scalar.h"
#include "ir/spmd/SpmdOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace spmdc::stablehlo {

/// A sharding of Shardy, by the axes of the module's mesh.
struct ReadSharding {
  ShardingAttr sharding; ///< The axes of the dimensions.
  AxesAttr replicated;   ///< The axes that its open dimensions may not take; null without any.
  /// The array is the sum of what devices along these axes hold. Values are global, so this says something to a manual
  /// region alone, whose devices take or return the addends; elsewhere the partitioner chooses where sums are complete.
  llvm::SmallVector<AxisRefAttr> unreduced;
};

/// A module during its translation. The state is that of one module; used by one thread.
class Translation {
public:
  /// Emits with `builder` what the operations of `source` compute.
  Translation(mlir::ModuleOp source, mlir::OpBuilder &builder, Meshes meshes)
      : b(builder), source(source), meshes(std::move(meshes)), mesh(this->meshes.shape) {}
  Translation(const Translation &) = delete;

  //===- Values -----------------------------------------------------------===//

  mlir::Value get(mlir::Value value) const { return values.lookup(value); }
  llvm::SmallVector<mlir::Value> get(mlir::ValueRange range) const;
  void set(mlir::Value value, mlir::Value array) { values[value] = array; }
  /// The type of an array for that of a tensor, which the module's check has accepted (`checkTypes`).
  static ArrayType typeOf(mlir::Type tensor);
  static ArrayType typeOf(mlir::Value array) { return spmdc::typeOf(array); }

  //===- Emission ---------------------------------------------------------===//

  template <typename Op, typename... Args> Op create(Args &&...args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }
  /// A constant array of one value, rounded to the type.
  mlir::Value splat(ArrayType type, double value);
  mlir::Value splatLike(mlir::Value array, double value) { return splat(plainTypeOf(array), value); }
  /// An array of positions along a dimension, i32.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim);
  mlir::Value convert(mlir::Value array, mlir::Type elementType);
  /// Integers as i64; those of u64 that do not fit are the largest i64.
  mlir::Value toI64(mlir::Value array);
  mlir::Value reshape(mlir::Value array, llvm::ArrayRef<int64_t> shape);
  /// The identity permutation emits nothing.
  mlir::Value transpose(mlir::Value array, llvm::ArrayRef<int64_t> perm);
  /// Operand dimension i becomes dimension `dims[i]` of the shape.
  mlir::Value broadcast(mlir::Value array, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// A scalar repeated to a shape.
  mlir::Value broadcast(mlir::Value scalar, llvm::ArrayRef<int64_t> shape) { return broadcast(scalar, shape, {}); }
  mlir::Value slice(mlir::Value array, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  /// Elements [begin, end) of one dimension, every `stride`-th.
  mlir::Value sliceDim(mlir::Value array, int64_t dim, int64_t begin, int64_t end, int64_t stride = 1);
  mlir::Value pad(mlir::Value array, mlir::Value value, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                  llvm::ArrayRef<int64_t> interior);
  /// The same with any numbers of the program; refuses `op` if the result would be too large.
  mlir::FailureOr<mlir::Value> padFor(mlir::Operation *op, mlir::Value array, mlir::Value value,
                                      llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                                      llvm::ArrayRef<int64_t> interior);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> arrays, int64_t dim);
  mlir::Value compare(mlir::Value x, ComparisonDirection direction, mlir::Value y);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  /// The odd function of x that is `size` at |x|: zero keeps its sign.
  mlir::Value odd(mlir::Value x, mlir::Value size);
  /// Combines two arrays of one type.
  mlir::Value combine(ReductionKind kind, mlir::Value x, mlir::Value y);
  /// The value that `kind` leaves the other operand unchanged with.
  mlir::Value neutral(ReductionKind kind, ArrayType type);

  /// The attribute of full axes.
  AxesAttr axesOf(llvm::ArrayRef<std::string> names);

  //===- Operations -------------------------------------------------------===//

  /// Translates the operations of a block but its terminator, whose translated operands it returns. The block's
  /// arguments have been set.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> translate(mlir::Block &block);
  /// The results of a function for these arguments: the function's body, translated here.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> call(mlir::Operation *op, llvm::StringRef function,
                                                       llvm::ArrayRef<mlir::Value> arguments);
  /// The kind of reduction that a region of two scalars computes; nullopt if it is none of them.
  static std::optional<ReductionKind> getReductionKind(mlir::Region &body);
  /// The kind by which an operation combines these two values.
  static std::optional<ReductionKind> getReductionKind(mlir::Operation *combine, mlir::Value x, mlir::Value y);
  /// Whether a value of the source is a constant that leaves other operands of the reduction unchanged.
  static bool isNeutral(ReductionKind kind, mlir::Value init);
  /// Whether an array counts 0, 1, ... along the dimension.
  static bool isIota(mlir::Value array, int64_t dim);
  /// The results of an element-wise region for these arguments, one for each of its block arguments: the region's
  /// scalars become arrays of the arguments' shape. All branches are computed, and chosen from; a loop runs until the
  /// last element has left it.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> applyElementwise(mlir::Region &body,
                                                                   llvm::ArrayRef<mlir::Value> arguments);

  /// In an element-wise region, the shape that stands for its scalars; nullopt elsewhere.
  const std::optional<llvm::SmallVector<int64_t>> &getElementwiseShape() const { return elementwiseShape; }
  /// In an element-wise region, the elements for which the code that is translated runs, bools: those that take a
  /// branch or are still in a loop. Null for all elements. Loops need it to end; other operations compute all elements.
  mlir::Value activeElements;

  mlir::OpBuilder &b;
  mlir::Location loc = b.getUnknownLoc(); ///< Of the operation that is being translated.
  mlir::ModuleOp source;
  const Meshes meshes;
  const spmd::MeshShape &mesh;
  /// Where the text has the shardings of constraints.
  llvm::DenseMap<mlir::Operation *, mlir::Location> shardingPlaces;
  /// The axes of the manual regions around the operation.
  llvm::SmallVector<std::string> manualAxes;

  /// A sharding with its axes checked against the mesh. `shape` is that of the array. Fails with a message.
  mlir::FailureOr<ReadSharding> readSharding(mlir::Operation *op, sdy::TensorShardingAttr sharding,
                                             llvm::ArrayRef<int64_t> shape);
  /// The value with an annotation; one that says nothing emits nothing. `replicated` may be null.
  mlir::Value constrain(mlir::Value array, ShardingAttr sharding, AxesAttr replicated = {});
  /// The value with an annotation of this type, which may say nothing.
  mlir::Value constrain(mlir::Value array, ArrayType type, AxesAttr replicated);

private:
  mlir::LogicalResult translate(mlir::Operation *op);
  mlir::LogicalResult constrainResults(mlir::Operation *op);
  /// The location of an operation, or of the call around it: JAX gives none to the functions of its own library.
  mlir::Location locOf(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, mlir::Value> values;
  mlir::Location callLoc = b.getUnknownLoc();
  llvm::SmallVector<llvm::StringRef> calls; ///< The functions that are being translated, outermost first.
  std::optional<llvm::SmallVector<int64_t>> elementwiseShape;
};

/// The location of an operation of the exported program, as the passes behind the importer know locations: Python's
/// ranges and call stacks, without JAX's names of operations.
mlir::Location toArrayLoc(mlir::Location loc);

/// The product of two arrays, summed over the contracted dimensions, with this element type: [batch, lhs, rhs].
mlir::Value product(Translation &t, mlir::Value lhs, mlir::Value rhs, mlir::Type element,
                    llvm::ArrayRef<int64_t> lhsContract, llvm::ArrayRef<int64_t> rhsContract,
                    llvm::ArrayRef<int64_t> lhsBatch, llvm::ArrayRef<int64_t> rhsBatch);

using Results = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// The rules by names of operations.
class Rules {
public:
  /// A rule whose operation has one result.
  template <typename Op> void add(mlir::FailureOr<mlir::Value> (*rule)(Translation &, Op)) {
    rules[Op::getOperationName()] = [rule](Translation &t, mlir::Operation *op) -> Results {
      mlir::FailureOr<mlir::Value> value = rule(t, llvm::cast<Op>(op));
      if (mlir::failed(value))
        return mlir::failure();
      return llvm::SmallVector<mlir::Value>{*value};
    };
  }
  template <typename Op> void addMany(Results (*rule)(Translation &, Op)) {
    rules[Op::getOperationName()] = [rule](Translation &t, mlir::Operation *op) { return rule(t, llvm::cast<Op>(op)); };
  }
  using Rule = std::function<Results(Translation &, mlir::Operation *)>;
  const Rule *find(llvm::StringRef name) const;

  /// All rules. Made at first use; thread-safe.
  static const Rules &get();

private:
  llvm::StringMap<Rule> rules;
};

void addElementwiseRules(Rules &rules);
void addBitRules(Rules &rules);
void addSpecialRules(Rules &rules);
void addMovementRules(Rules &rules);
void addContractionRules(Rules &rules);
void addConvolutionRules(Rules &rules);
void addReductionRules(Rules &rules);
void addWindowRules(Rules &rules);
void addSelectAndScatterRules(Rules &rules);
void addLinearRules(Rules &rules);
void addRandomRules(Rules &rules);
void addIndexRules(Rules &rules);
void addScatterRules(Rules &rules);
void addSortRules(Rules &rules);
void addFourierRules(Rules &rules);
void addControlRules(Rules &rules);
void addManualRules(Rules &rules);
void addCollectiveRules(Rules &rules);
void addDeviceRules(Rules &rules);

/// Whether these are different dimensions of an array of this rank.
bool areDims(llvm::ArrayRef<int64_t> dims, int64_t rank);

/// The integer of a constant of one value in the source; nullopt for anything else.
std::optional<int64_t> integerOf(mlir::Value value);

/// Fails with a message about the operation.
inline mlir::InFlightDiagnostic refuse(mlir::Operation *op, const llvm::Twine &message) {
  return op->emitError() << "'" << op->getName() << "' " << message;
}

} // namespace spmdc::stablehlo
