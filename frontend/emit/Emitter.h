//===- Emitter.h - checks the tree and emits array IR -----------*- C++ -*-===//
//
// Checking and emission are one traversal, since functions are inlined and checked again at each call: an expression is
// evaluated to a Value, which for arrays is the IR value of its operation. An expression with an error becomes a
// poisoned value; the traversal continues with the next operand or statement, so that one run finds all errors.
//
// The parts: EmitProgram.cpp (mesh, consts, entry), EmitNames.cpp (values of names, unknown names), EmitTypes.cpp
// (types, shardings, coercion), EmitExprs.cpp (statements, expressions), EmitControl.cpp (loops, branches),
// EmitCalls.cpp (arguments, inlining), EmitOperators.cpp (arithmetic), EmitIndex.cpp, EmitOps.cpp (helpers that build
// operations), and the table of operations in Builtins*.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/Frontend.h"
#include "frontend/emit/Value.h"
#include "frontend/sema/NameResolution.h"
#include "ir/array/ArrayOps.h"
#include "ir/interfaces/Scalar.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <set>

namespace spmdc {

class VaryingAxes;
struct LoopCarries;
struct Parameter;
struct CarriedLeaf;

/// Exception that ends the evaluation of an expression after its error has been reported. `Emitter::expr` turns it into
/// a poisoned value.
struct Poisoned {};

/// Generic sizes and their values; the range is that of the argument that determines the size.
using SizeMap = std::map<std::string_view, Value>;

struct FunctionValue;

/// A region that is being emitted, and the insertion point of its operation.
struct OpenRegion {
  mlir::Region *region;
  mlir::OpBuilder::InsertPoint outside;
};

/// One function being inlined (or a struct whose fields are being resolved): the values of its names, and its call.
struct Frame {
  const FnDecl *fn = nullptr;             ///< Null inside of a struct.
  const StructDecl *structDecl = nullptr; ///< Null inside of a function.
  bool isPrelude = false;
  Frame *caller = nullptr;
  Range callRange; ///< Invalid for the entry.
  /// By the letters of the name where it is declared. A name has no value before its declaration is evaluated.
  std::map<const char *, Value> values;
  mlir::LocationAttr callLoc; ///< The calls around it; set when first needed.

  Value &bind(std::string_view name, Value value) { return values[name.data()] = std::move(value); }
  /// Null if the name has no value yet.
  const Value *find(std::string_view name) const {
    auto found = values.find(name.data());
    return found == values.end() ? nullptr : &found->second;
  }
};

class Emitter {
public:
  Emitter(mlir::MLIRContext &context, const Ast &program, const Ast &prelude, const NameResolution &resolution,
          const FrontendOptions &options, Diagnostics &diagnostics);

  /// The module, or null if there are errors.
  mlir::OwningOpRef<mlir::ModuleOp> run();
  /// The results of the entry; valid after run().
  const std::vector<EntryResult> &getEntryResults() const { return entryResults; }

  //===- Errors -----------------------------------------------------------===//

  /// Records an error, with a note for each call around it. An error in the prelude is reported at the user's call.
  Diagnostic &report(Range where, std::string message);
  [[noreturn]] void fail(Range where, std::string message);
  /// Records a warning about the program's text: once for any number of calls of its function. Ignores the prelude.
  void warn(Range where, std::string message);
  /// An error about several values, with a note for the type of each at its declaration.
  [[noreturn]] void failAbout(Range where, std::string message, llvm::ArrayRef<Value> values);

  //===- Expressions ------------------------------------------------------===//

  /// Evaluates an expression; poisoned if there is an error.
  Value expr(const Expr &expr);
  /// Evaluates an expression; throws Poisoned if there is an error.
  Value need(const Expr &e) {
    Value value = expr(e);
    if (value.isPoison())
      throw Poisoned();
    return value;
  }

  Value binary(BinaryOp op, const Value &left, const Value &right, Range range);
  Value unary(UnaryOp op, const Value &operand, Range range);

  /// Records the value of the expression in this source range for the ProgramIndex.
  void note(Range where, const Value &value);

  //===- Building operations (EmitOps.cpp) --------------------------------===//
  // At the level of IR values: dtypes and shapes already agree. The location is that of the current expression.

  mlir::Location loc();
  mlir::Location locAt(Range range);
  /// The calls around a function of the user; null for the entry.
  mlir::LocationAttr callLoc(Frame *frame);
  mlir::Type elementType(spmd::DType dtype) { return getElementType(builder.getContext(), dtype); }
  ArrayType arrayType(llvm::ArrayRef<int64_t> shape, spmd::DType dtype) {
    return ArrayType::get(shape, elementType(dtype));
  }

  /// Fails if an array would exceed the size limit.
  void checkSize(ArrayType type, Range range);
  /// Checks the type of an operation of this expression before it is built.
  ArrayType admit(ArrayType type) {
    checkSize(type, currentRange);
    ++operationCount;
    return type;
  }
  template <typename Op, typename... Arguments> mlir::Value create(ArrayType type, Arguments &&...arguments) {
    return builder.create<Op>(loc(), admit(type), std::forward<Arguments>(arguments)...).getResult();
  }
  /// An operation whose result has the type of its first operand.
  template <typename Op> mlir::Value apply(mlir::Value x) { return create<Op>(plainTypeOf(x), x); }
  template <typename Op> mlir::Value apply(mlir::Value x, mlir::Value y) { return create<Op>(plainTypeOf(x), x, y); }
  mlir::Value splat(ArrayType type, Scalar value);
  mlir::Value splat(ArrayType type, double value);
  /// A number in the type of `x`.
  mlir::Value splatLike(mlir::Value x, double value) { return splat(plainTypeOf(x), value); }
  mlir::Value compare(ComparisonDirection direction, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value convert(mlir::Value x, spmd::DType dtype);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value reverse(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  /// Elements [start, limit) of one dimension.
  mlir::Value sliceDim(mlir::Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> parts, int64_t dim);
  mlir::Value broadcastInDim(mlir::Value x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// NumPy's broadcasting: dimensions are aligned at the end. The shape must allow it.
  mlir::Value broadcastTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value reduce(mlir::Value x, ReductionKind kind, llvm::ArrayRef<int64_t> dims);
  mlir::Value iota(ArrayType type, int64_t dim);
  /// Constrains the sharding; returns the value itself if the sharding is open. `written` is the type or the P(...) of
  /// the annotation.
  mlir::Value constrain(mlir::Value x, ShardingAttr sharding, Range written);
  /// x != 0, of any dtype.
  mlir::Value isNonZero(mlir::Value x);
  mlir::Value isNaN(mlir::Value x);

  //===- From values to operands ------------------------------------------===//

  /// The value as an array of this dtype: numbers become scalars of it, arrays are converted. An integer that the dtype
  /// cannot hold is an error; a float becomes infinite, as in JAX.
  mlir::Value materialize(const Value &value, spmd::DType dtype);
  /// The same, in the value's own dtype.
  mlir::Value materialize(const Value &value) { return materialize(value, value.dtype()); }
  /// As materialize with a dtype, but a number loses its fraction if the dtype is an integer.
  mlir::Value truncated(const Value &value, spmd::DType dtype);
  /// Fails: an integer dtype does not hold the number.
  [[noreturn]] void failRange(const Value &number, spmd::DType dtype);
  /// The array of a value, for operations that move elements: a key's words are a last dimension that programs do not
  /// see.
  mlir::Value elements(const Value &value) { return value.isKey() ? value.array : materialize(value); }
  /// The common class of numeric values; an error in `what` for anything else.
  DTypeClass commonClass(llvm::ArrayRef<Value> values, std::string_view what);
  /// The shape that all broadcast to; the error shows both shapes.
  llvm::SmallVector<int64_t> commonShape(llvm::ArrayRef<Value> values, Range where, std::string_view what);
  /// Numeric values as arrays of one dtype and one shape.
  llvm::SmallVector<mlir::Value> unify(llvm::ArrayRef<Value> values, spmd::DType dtype, Range where,
                                       std::string_view what);

  //===- Types ------------------------------------------------------------===//

  /// A tree of types: tuples, lists and structs whose leaves are array types. Omitted sizes of a generic struct are
  /// those of `like`, the value with this type.
  Value typeTree(const TypeSyntax &type, const Value *like = nullptr);
  ArrayType arrayTypeOf(const TypeSyntax &type);
  int64_t dimSize(const Expr &size) { return sizeOf(size, "a dimension's size"); }
  /// A number of elements, known while compiling. `what` begins the error's sentence.
  int64_t sizeOf(const Expr &size, const std::string &what);
  DimShardingAttr dimSharding(const DimShardingSyntax &sharding);
  /// Checks that no axis is used twice and extends to `rank` with replicated dimensions.
  ShardingAttr shardingFrom(const Value &partition, int64_t rank);
  /// The value as declared: dtype and shape must agree (weak values take the dtype), the sharding is constrained.
  /// `what` begins the error's sentence; `declared` is the range of its note.
  Value coerce(const Value &value, ArrayType type, const std::string &what, Range declared);

  /// Converts a shape, type or sharding of random keys to that of the array that holds the words of the keys: u32, with
  /// one more dimension of 2.
  static llvm::SmallVector<int64_t> keyWords(llvm::ArrayRef<int64_t> shape);
  ArrayType keyWords(ArrayType type);
  ShardingAttr keyWords(ShardingAttr sharding);

  /// `; the mesh has a, b`, or empty if there are no axes.
  std::string listedAxes() const;
  /// The names of mesh axes, `a` or `(a, b)`, as the sharding of one dimension.
  Value axisNames(const Expr &expr);
  MeshAttr mesh() { return getMesh(*module); }
  /// Fails if arrays are not local to a device.
  void needManual(Range where, std::string_view operation);
  /// Fails if they are not local along one of these axes, as `axisNames` returns them.
  void needManualAxes(const Value &axes, std::string_view operation);
  /// True if some axis of the mesh is automatic in a shard_map: along it arrays are global.
  bool hasAutomaticAxes() const;

  /// Coerces the value to a tree of types: `coerce` for each leaf.
  Value coerceTree(const Value &value, const Value &type, const std::string &what);

  //===- Structs (EmitStructs.cpp) ----------------------------------------===//

  /// Applies an element-wise operation to structs and lists leaf by leaf; a scalar combines with every leaf. Returns
  /// nullopt if no operand has leaves; fails if they differ in structure.
  std::optional<Value> leafByLeaf(llvm::ArrayRef<Value> operands, Range range, std::string_view what,
                                  llvm::function_ref<Value(llvm::ArrayRef<Value>)> apply);

  mlir::OpBuilder builder;
  uint64_t nextShardingGroup = 0;   ///< Number of the next `like`.
  std::vector<OpenRegion> regions;  ///< Innermost last.
  bool isManual = false;            ///< Whether the code is inside of a shard_map, where arrays are local to a device.
  std::set<std::string> manualAxes; ///< Inside of a shard_map: the axes along which arrays are local.

  /// The ranges of collectives, and of the conditions of branches and loops, in a shard_map's body.
  llvm::DenseMap<mlir::Operation *, Range> manualRanges;

private:
  friend struct FrameScope;

  // Program.
  void declare();
  void noteBudget();
  void evaluateMesh();
  void applySets();
  Value constant(const ConstDecl &decl);
  void emitEntry(const FnDecl &fn);
  void reportMissingEntry();
  void checkUncalled();
  bool isComplete(const TypeSyntax &type) const;
  bool hasAllTypes(const FnDecl &fn) const;
  void bindParameters(const FnDecl &fn, mlir::func::FuncOp func);
  mlir::func::FuncOp createFunction(const FnDecl &fn);
  void finishFunction(mlir::func::FuncOp func, const FnDecl &fn, const Value &result);
  void flattenResult(const Value &value, const Expr *expr, std::vector<std::pair<Value, std::string>> &results);

  // Statements.
  Value functionBody(const FnDecl &fn);
  void letStmt(const Stmt &stmt);
  void expressionStmt(const Stmt &stmt);
  void bindPattern(const Pattern &pattern, const Value &value);
  void poisonPattern(const Pattern &pattern);
  Value declaredAs(const Value &value, const TypeSyntax &type, const std::string &what);
  void nameValue(const Value &value, const Pattern &pattern);
  void nameLeaf(const Value &leaf, llvm::StringRef name, Range place);

  // Expressions.
  Value evaluate(const Expr &expr);
  Value name(const NameExpr &expr);
  Value binaryChain(const Expr &chain);
  void checkSize(Range where);
  Value field(const FieldExpr &expr);
  Value index(const SubscriptExpr &expr);
  Value indexSequence(const Value &base, const SubscriptExpr &expr);
  Value stackAndTake(llvm::ArrayRef<Value> parts, mlir::Value index, Range range);
  Value stackedElement(const Value &list, const Value &position, Range range);
  Value indexArray(const Value &base, const SubscriptExpr &expr);
  Value keyRow(const Value &keys, int64_t row);

  // Loops and branches (EmitControl.cpp).
  Value ifExpr(const IfExpr &expr);
  Value emitBranch(const Block &block);
  Value mergeBranches(const IfExpr &expr, mlir::Value predicate, llvm::MutableArrayRef<mlir::Region> regions,
                      llvm::ArrayRef<Value> values);
  Value forExpr(const ForExpr &expr);
  Value whileExpr(const WhileExpr &expr);
  int64_t loopBound(const Expr &bound);
  mlir::Value loopCondition(const Expr &condition, std::string_view keyword);
  mlir::Value predicate(const Value &value, Range range, std::string_view keyword);
  LoopCarries evaluateCarries(const std::vector<Carry> &carries);
  void bindCarries(const std::vector<Carry> &names, const LoopCarries &carries,
                   llvm::ArrayRef<mlir::BlockArgument> arguments);
  bool settleCarry(CarriedLeaf &leaf, const Value &yielded, Range where);
  std::string describeType(const CarriedLeaf &leaf);
  bool loopBody(const Block &body, const std::vector<Carry> &names, LoopCarries &carries);
  template <typename Body>
  auto inLoopBlock(mlir::Region &region, const Identifier *counter, const std::vector<Carry> &names,
                   const LoopCarries &carries, Body body);
  void startCarries(const LoopCarries &carries, llvm::SmallVectorImpl<mlir::Value> &inits,
                    llvm::SmallVectorImpl<mlir::Type> &types);
  Value loopResult(const LoopCarries &carries, mlir::Operation *loop, Range range);

  Value call(const CallExpr &expr);
  [[noreturn]] void failMethod(const FieldExpr &callee);
  [[noreturn]] void failCallee(const Expr &callee);
  Value callFunction(const FnDecl &fn, bool isPrelude, const CallExpr &call);
  void refuseRanks(const FnDecl &fn, std::string_view generic, llvm::ArrayRef<Value> arguments);
  /// Inlines a function on these arguments, one for each parameter; those left out have defaults.
  Value applyFunction(const FnDecl &fn, bool isPrelude, std::vector<std::optional<Value>> given, Range range);
  Value callBuiltin(const struct Builtin &builtin, const CallExpr &call);
  // grad, value_and_grad, checkpoint (EmitGradient.cpp).
  using GivenArguments = std::vector<std::optional<Value>>; ///< One for each parameter; nullopt: its default.
  bool isTransformCall(const Expr &expr) const;
  /// The function that an argument of `user` names.
  FunctionValue functionValue(const Expr &expr, std::string_view user);
  FunctionValue transformedFunction(const CallExpr &call);
  Value callTransformed(const CallExpr &call);
  /// The values of a call's arguments, in the order of the parameters; throws Poisoned if one had an error.
  GivenArguments givenArguments(std::string_view function, const std::vector<Parameter> &parameters,
                                const CallExpr &call);
  // Functions as arguments (FunctionValue.cpp).
  bool isFunctionName(const Expr &expr) const;
  Value argumentValue(const Expr &expr, bool mayBeFunction);
  Value callValue(const FunctionValue &f, const CallExpr &call);
  bool isRecursive(const FnDecl &fn, llvm::ArrayRef<std::optional<Value>> given) const;
  Value applyValue(const FunctionValue &f, GivenArguments given, Range range);
  Value applyGradient(const FunctionValue &f, GivenArguments given, Range range);
  Value applyCheckpoint(const FunctionValue &f, GivenArguments given, Range range);
  std::vector<Value> differentiableLeaves(const FunctionValue &f, const Value &argument, int64_t index);

  Value shardMap(const CallExpr &shardMap, const CallExpr &call);
  std::set<std::string> namedManualAxes(llvm::ArrayRef<const Argument *> axisNames, Range where);
  void checkAnnotationInside(ShardingAttr sharding);
  mlir::Value createConstraint(ArrayType type, mlir::Value x, Range written);
  std::vector<Value> manualSpecs(const Value &spec, std::string_view parameter, size_t count, std::string_view what);
  void checkConditions(mlir::Block &block, const VaryingAxes &varying);
  ShardingAttr manualSharding(const Value &spec, const Value &leaf, const std::set<std::string> &axes,
                              bool hasAutomatic, const std::string &what, Range where);
  Value applyBuiltin(const struct Builtin &builtin, Range range, const std::vector<std::string_view> &names,
                     const std::vector<std::optional<Value>> &values);
  Value arithmetic(BinaryOp op, const Value &left, const Value &right, Range range);
  Value power(const Value &left, const Value &right, Range range);

  // Structs.
  void checkStructs();
  Value typePart(const TypeSyntax &type, const Value *like);
  Value namedType(const TypeSyntax &type, const Value *like);
  Value structType(const StructDecl &decl, const SizeMap &sizes, Range use);
  Value structLiteral(const StructExpr &expr);
  void reportNoField(const StructDecl &decl, const Identifier &name);
  /// Binds generic sizes that occur as a plain name: as a dimension, as the count of `[T; n]`, as a size of a struct.
  void solveSizes(const TypeSyntax &type, const Value &value, llvm::ArrayRef<Identifier> generics, SizeMap &solved);
  /// Adds notes to the last error: the arguments that determine the type's generic sizes.
  void noteSizes(const TypeSyntax &type, llvm::ArrayRef<Identifier> generics, const SizeMap &solved);
  void solveFields(const StructDecl &decl, const Value &value, SizeMap &solved);

  // Names (EmitNames.cpp).
  /// The value of a local name; null if the name refers to none, or to one without a value yet.
  const Value *localValue(const NameUse &use) const;
  const Value *localValue(const NameExpr &expr) const { return localValue(resolution.at(expr.name)); }
  /// Gives the generic sizes of the current frame their values, as far as they are known.
  void bindSizes(llvm::ArrayRef<Identifier> generics, const SizeMap &sizes);
  std::vector<std::string_view> functionNames() const;
  [[noreturn]] void failUnknownName(const NameExpr &expr);
  [[noreturn]] void failUnknownFunction(std::string_view name, Range where);
  /// `what`: `type` or `struct`. `known`: names that are allowed besides those of structs.
  [[noreturn]] void failUnknownStruct(const Identifier &name, Range where, std::string_view what,
                                      std::vector<std::string_view> known);
  [[noreturn]] void failUnknownAxis(const Identifier &axis);
  [[noreturn]] void failNotFunction(const NameExpr &callee);

  const Ast &program;
  const Ast &prelude;
  const NameResolution &resolution;
  const FrontendOptions &options;
  Diagnostics &diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  std::vector<spmd::MeshAxis> meshAxes;
  bool hasMesh = false;
  std::map<std::string_view, Value> consts;
  std::set<std::string_view> openConsts; ///< Being evaluated: a second visit is a cycle.
  std::set<const FnDecl *> visited;
  std::map<const StructDecl *, Value> structTypes; ///< Those without generic sizes.
  std::vector<const StructDecl *> openStructs;     ///< Being resolved: one inside of itself is an error.
  size_t typeParts = 0;                            ///< Number of parts of the type being resolved.
  std::string currentLeaf;                         ///< While an operation goes leaf by leaf.
  Frame *frame = nullptr;
  Range currentRange;
  unsigned depth = 0;
  size_t operationCount = 0;
  std::vector<EntryResult> entryResults;
};

/// The end of a message that suggests how to access the parts of a value: `; take its fields one by one: w, b`. Empty
/// for a value without parts.
std::string takeApart(const Value &value);

} // namespace spmdc
