//===- EmitGradient.cpp - grad, value_and_grad, checkpoint ----------------===//
//
// `grad(f, wrt=0)(args)`: the callee is a function derived from another one, to any depth. The call inlines f into the
// region of an array.gradient, whose arguments are the arrays in the arguments that `wrt` names; all other values are
// used from outside, as constants. spmdc-differentiate computes the derivative.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Emitter.h"
#include "frontend/emit/FunctionValue.h"
#include "frontend/emit/Leaves.h"
#include "frontend/emit/Parameters.h"
#include "frontend/emit/RegionScope.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

static std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

bool isFunctionTransform(std::string_view name) {
  return name == "grad" || name == "value_and_grad" || name == "checkpoint";
}

bool Emitter::isTransformCall(const Expr &e) const {
  const auto *outer = dynAs<CallExpr>(e);
  const auto *name = outer ? dynAs<NameExpr>(*outer->callee) : nullptr;
  return name && resolution.at(name->name).isTransform;
}

FunctionValue Emitter::functionValue(const Expr &e, std::string_view user) {
  if (isTransformCall(e))
    return transformedFunction(as<CallExpr>(e));
  const auto *name = dynAs<NameExpr>(e);
  if (!name)
    fail(e.range, quote(user) + " takes a function's name, or grad(f), value_and_grad(f) or checkpoint(f) of one");
  const NameUse &use = resolution.at(name->name);
  const Value *local = localValue(use);
  if (local && local->isFunction()) {
    FunctionValue f = *local->function;
    f.range = e.range;
    return f;
  }
  if (use.isBroken)
    throw Poisoned();
  if (use.fn || use.builtin) {
    FunctionValue f;
    f.name = name->name;
    f.range = e.range;
    f.fn = use.fn;
    f.isPrelude = use.isPrelude;
    f.builtin = use.builtin;
    return f;
  }
  if (local)
    fail(name->range, quote(user) + " takes a function; " + quote(name->name) + " is a value");
  failUnknownFunction(name->name, name->range);
}

FunctionValue Emitter::transformedFunction(const CallExpr &call) {
  FunctionValue result;
  result.name = as<NameExpr>(*call.callee).name;
  result.range = call.range;
  std::vector<Parameter> parameters = {{"f"}};
  if (result.name != "checkpoint")
    parameters.push_back({"wrt", /*isOptional=*/true});
  auto matched = matchArguments(*this, result.name, parameters, call);
  result.of = std::make_shared<FunctionValue>(functionValue(*matched[0].front()->value, result.name));
  if (result.name == "checkpoint")
    return result;
  result.wrt = {0};
  result.wrtRange = call.range;
  std::string what = "'wrt=' of " + quote(result.name);
  if (!matched[1].empty()) {
    Value wrt = need(*matched[1].front()->value);
    result.wrtRange = wrt.range;
    result.isWrtTuple = wrt.isSequence();
    result.wrt.clear();
    std::vector<Value> indices = wrt.isSequence() ? wrt.elements : std::vector<Value>{wrt};
    if (indices.empty())
      fail(wrt.range, what + " must name at least one argument");
    for (const Value &index : indices) {
      if (!index.isInt())
        fail(index.range, what + " must be the number of an argument, or a tuple of them, not " + index.describe());
      result.wrt.push_back(index.constant.i);
    }
  }
  auto count = static_cast<int64_t>(result.parameters().size());
  for (auto [i, index] : llvm::enumerate(result.wrt)) {
    if (index < -count || index >= count)
      fail(result.wrtRange, what + " is " + std::to_string(index) + ", but " + quote(result.innermost().name) +
                                " takes " + std::to_string(count) + (count == 1 ? " argument" : " arguments") +
                                ", numbered from 0");
    index += index < 0 ? count : 0;
    if (llvm::is_contained(llvm::ArrayRef(result.wrt).take_front(i), index))
      fail(result.wrtRange, what + " names argument " + std::to_string(index) + " twice");
  }
  return result;
}

Value Emitter::callTransformed(const CallExpr &call) {
  FunctionValue f = transformedFunction(as<CallExpr>(*call.callee));
  std::vector<Parameter> parameters = f.parameters();
  GivenArguments given = givenArguments(f.innermost().name, parameters, call);
  return applyValue(f, std::move(given), call.range);
}

Value Emitter::applyValue(const FunctionValue &f, GivenArguments given, Range range) {
  currentRange = range;
  if (f.of)
    return f.name == "checkpoint" ? applyCheckpoint(f, std::move(given), range)
                                  : applyGradient(f, std::move(given), range);
  if (f.fn)
    return applyFunction(*f.fn, f.isPrelude, std::move(given), range);
  std::vector<std::string_view> names;
  for (const Parameter &parameter : f.parameters())
    names.push_back(parameter.name);
  Value result = applyBuiltin(*f.builtin, range, names, given);
  result.range = range;
  return result;
}

/// The arrays of an argument that is differentiated, each a float.
std::vector<Value> Emitter::differentiableLeaves(const FunctionValue &f, const Value &argument, int64_t index) {
  std::string name(f.parameters()[index].name);
  std::vector<Value> leaves = getLeaves(argument);
  std::vector<std::string> paths = leafNames(argument, name);
  for (auto [leaf, path] : llvm::zip(leaves, paths)) {
    bool isFloat = leaf.isNumeric() && spmd::isFloat(leaf.dtype());
    if (isFloat)
      continue;
    Diagnostic &error =
        report(argument.range, quote(f.name) + " differentiates floats: argument " + quote(path) + " of " +
                                   quote(f.innermost().name) + " is " + leaf.describe() +
                                   (leaf.isNumeric() && path == name ? "; cast it, or name others with 'wrt='" : ""));
    if (f.innermost().fn)
      error.note(f.innermost().fn->params[index].name.range, quote(name) + " is declared here");
    throw Poisoned();
  }
  return leaves;
}

Value Emitter::applyGradient(const FunctionValue &f, GivenArguments given, Range range) {
  std::string quoted = quote(f.innermost().name);
  mlir::Region body;
  mlir::Block &block = body.emplaceBlock();
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> gradientTypes;
  std::vector<Value> differentiated; // The arguments; their gradients have the same structure.
  for (int64_t index : f.wrt) {
    std::optional<Value> &argument = given[index];
    if (!argument)
      fail(range, quote(f.name) + " differentiates argument " + quote(f.parameters()[index].name) + " of " + quoted +
                      ", which is not given");
    std::vector<Value> inner;
    for (const Value &leaf : differentiableLeaves(f, *argument, index)) {
      mlir::Value array = materialize(leaf);
      operands.push_back(array);
      gradientTypes.push_back(plainTypeOf(array));
      inner.push_back(
          Value::ofArray(block.addArgument(plainTypeOf(array), array.getLoc()), leaf.dtypeClass().isWeak, leaf.range));
      inner.back().origin = leaf.origin;
    }
    differentiated.push_back(*argument);
    argument = withLeaves(*argument, inner);
  }
  if (operands.empty())
    fail(range, quote(f.name) + " has nothing to differentiate: the arguments hold no arrays");

  Value result;
  {
    RegionScope inside(*this, block);
    result = applyValue(*f.of, std::move(given), range);
    currentRange = range;
    bool isScalar = result.isNumeric() && result.rank() == 0 && spmd::isFloat(result.dtype());
    if (!isScalar) {
      Diagnostic &error = report(range, quote(f.name) + " differentiates a scalar of floats, but " + quoted +
                                            (f.of->of ? " under " + quote(f.of->name) : "") + " returns " +
                                            (result.kind == ValueKind::None ? "nothing" : result.describe()));
      if (f.innermost().fn)
        error.note(f.innermost().fn->name.range, quoted + " is declared here");
      throw Poisoned();
    }
    mlir::Value value = materialize(result);
    result = Value::ofArray(value, result.dtypeClass().isWeak, range);
    builder.create<YieldOp>(loc(), value);
  }
  llvm::SmallVector<mlir::Type> types = {plainTypeOf(result.array)};
  llvm::append_range(types, gradientTypes);
  auto gradient = builder.create<GradientOp>(loc(), types, operands);
  gradient.getBody().takeBody(body);
  ++operationCount;

  auto next = gradient.getGradients().begin();
  std::vector<Value> gradients;
  for (const Value &argument : differentiated) {
    std::vector<Value> leaves;
    for (const Value &leaf : getLeaves(argument))
      leaves.push_back(Value::ofArray(*next++, leaf.dtypeClass().isWeak, range));
    gradients.push_back(withLeaves(argument, leaves));
    gradients.back().range = range;
    gradients.back().origin = Range();
  }
  auto tupleOf = [&](std::vector<Value> elements) {
    Value tuple;
    tuple.kind = ValueKind::Tuple;
    tuple.range = range;
    tuple.elements = std::move(elements);
    return tuple;
  };
  Value all = f.isWrtTuple ? tupleOf(std::move(gradients)) : gradients.front();
  if (f.name == "grad")
    return all;
  return tupleOf({Value::ofArray(gradient.getResult(0), result.isWeak, range), all});
}

Value Emitter::applyCheckpoint(const FunctionValue &f, GivenArguments given, Range range) {
  mlir::Region body;
  mlir::Block &block = body.emplaceBlock();
  Value result;
  std::vector<Value> leaves;
  llvm::SmallVector<mlir::Value> yielded;
  llvm::SmallVector<mlir::Type> types;
  {
    RegionScope inside(*this, block);
    result = applyValue(*f.of, std::move(given), range);
    currentRange = range;
    leaves = getLeaves(result);
    for (const Value &leaf : leaves)
      if (leaf.array) {
        yielded.push_back(leaf.array);
        types.push_back(plainTypeOf(leaf.array));
      }
    builder.create<YieldOp>(loc(), yielded);
  }
  auto checkpoint = builder.create<CheckpointOp>(loc(), types);
  checkpoint.getBody().takeBody(body);
  ++operationCount;
  auto next = checkpoint.getResults().begin();
  for (Value &leaf : leaves)
    if (leaf.array)
      leaf.array = *next++;
  Value outside = withLeaves(result, leaves);
  outside.range = range;
  return outside;
}

} // namespace spmdc
