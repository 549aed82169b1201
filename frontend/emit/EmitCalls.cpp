//===- EmitCalls.cpp - arguments, inlining, generic sizes -----------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Emitter.h"
#include "frontend/emit/FrameScope.h"
#include "frontend/emit/FunctionValue.h"
#include "frontend/emit/Parameters.h"
#include "frontend/sema/Suggest.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

/// Inlining multiplies operations; more than this would exhaust a machine's memory.
static constexpr size_t maxOperations = 200000;

static bool isCallOf(const CallExpr &call, std::string_view function) {
  const auto *name = dynAs<NameExpr>(*call.callee);
  return name && name->name == function;
}

void Emitter::checkSize(Range where) {
  if (operationCount > maxOperations)
    fail(where, "with all calls inlined the program has more than 200000 operations");
}

Value Emitter::call(const CallExpr &e) {
  checkSize(e.range);
  const auto *callee = dynAs<NameExpr>(*e.callee);
  if (!callee) {
    if (const auto *outer = dynAs<CallExpr>(*e.callee); outer && isCallOf(*outer, "shard_map"))
      return shardMap(*outer, e);
    if (isTransformCall(*e.callee)) {
      if (!frame)
        fail(e.range, "a const cannot call a function");
      return callTransformed(e);
    }
    if (const auto *method = dynAs<FieldExpr>(*e.callee))
      failMethod(*method);
    failCallee(*e.callee);
  }
  const NameUse &use = resolution.at(callee->name);
  if (const Value *local = localValue(use); local && local->isFunction())
    return callValue(*local->function, e);
  if (!frame || !frame->fn)
    fail(e.range, "a const cannot call a function");
  switch (use.asCalled()) {
  case CalledNameKind::Broken:
    throw Poisoned();
  case CalledNameKind::Function:
    return callFunction(*use.fn, use.isPrelude, e);
  case CalledNameKind::Transform:
    fail(e.range, "'" + std::string(callee->name) + "(f)' is a function: its arguments follow, as in " +
                      std::string(callee->name) + "(f)(x)");
  case CalledNameKind::Operation:
    return callBuiltin(*use.builtin, e);
  case CalledNameKind::Unknown:
    failNotFunction(*callee);
  }
  llvm_unreachable("unknown kind of name");
}

/// A call of an expression that is not a name: `vmap(f)(x)`, `f(x)(y)`, `(x + y)(z)`.
void Emitter::failCallee(const Expr &callee) {
  const auto *made = dynAs<CallExpr>(callee);
  const auto *transform = made ? dynAs<NameExpr>(*made->callee) : nullptr;
  if (transform) {
    const NameUse &use = resolution.at(transform->name);
    if (!localValue(use) && use.asCalled() == CalledNameKind::Unknown)
      failUnknownFunction(transform->name, transform->range);
  }
  fail(callee.range, "only a function's name can be called, or the result of grad, value_and_grad, checkpoint or "
                     "shard_map");
}

/// `x.sum()` and `jnp.sum(x)`, as in other languages.
void Emitter::failMethod(const FieldExpr &callee) {
  // `jnp.linalg.norm`: an unknown name is taken for a module.
  const Expr *root = callee.base;
  while (const auto *field = dynAs<FieldExpr>(*root))
    root = field->base;
  if (!dynAs<NameExpr>(*root) || localValue(as<NameExpr>(*root)))
    need(*callee.base);
  std::string rule = "there are no methods and no modules, only functions";
  std::vector<std::string_view> names = functionNames();
  std::string_view name = callee.field.text;
  if (!llvm::is_contained(names, name)) {
    std::string_view nearest = nearestName(name, names);
    if (nearest.empty())
      fail(callee.range, rule + "; " + unknownName("function", name, names, /*isCalled=*/true));
    name = nearest;
  }
  fail(callee.range, rule + ": write " + std::string(name) + "(...)");
}

Emitter::GivenArguments Emitter::givenArguments(std::string_view function, const std::vector<Parameter> &parameters,
                                                const CallExpr &call) {
  GivenArguments given;
  bool isPoisoned = false;
  for (auto [parameter, slot] : llvm::zip(parameters, matchArguments(*this, function, parameters, call))) {
    std::optional<Value> value;
    std::vector<Value> all;
    for (const Argument *argument : slot) {
      all.push_back(parameter.isAxes ? axisNames(*argument->value)
                                     : argumentValue(*argument->value, parameter.mayBeFunction));
      isPoisoned |= all.back().isPoison();
    }
    if (parameter.isRest) {
      value.emplace();
      value->kind = ValueKind::Tuple;
      value->range = all.empty() ? call.range : all.front().range;
      value->elements = std::move(all);
    } else if (!all.empty()) {
      value = all.front();
    }
    given.push_back(std::move(value));
  }
  if (isPoisoned)
    throw Poisoned();
  return given;
}

Value Emitter::callBuiltin(const Builtin &builtin, const CallExpr &call) {
  std::vector<Parameter> parameters = parseParameters(builtin.parameters);
  std::vector<std::string_view> names;
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name);
  GivenArguments values = givenArguments(builtin.name, parameters, call);
  Value result = applyBuiltin(builtin, call.range, names, values);
  result.range = call.range;
  return result;
}

/// Element-wise functions apply to structs leaf by leaf, as operators do.
Value Emitter::applyBuiltin(const Builtin &builtin, Range range, const std::vector<std::string_view> &names,
                            const std::vector<std::optional<Value>> &values) {
  auto emit = [&](const std::vector<std::optional<Value>> &values) {
    Args args(*this, builtin.name, range, names, values);
    return builtin.emit(args);
  };
  // `max(x, y)` of two values, unlike that of one.
  bool isExtremeOfTwo = (builtin.name == "max" || builtin.name == "min") && values[1];
  if (!isElementwise(builtin) && !isExtremeOfTwo)
    return emit(values);
  std::vector<Value> given;
  for (const std::optional<Value> &value : values)
    if (value)
      given.push_back(*value);
  auto ofLeaf = [&](llvm::ArrayRef<Value> leaves) {
    std::vector<std::optional<Value>> parts = values;
    for (std::optional<Value> &part : parts)
      if (part) {
        part = leaves.front();
        leaves = leaves.drop_front();
      }
    return emit(parts);
  };
  std::optional<Value> tree = leafByLeaf(given, range, "'" + std::string(builtin.name) + "'", ofLeaf);
  return tree ? *tree : emit(values);
}

Value Emitter::callFunction(const FnDecl &fn, bool isPrelude, const CallExpr &call) {
  // Arguments are evaluated in the scope of the call.
  return applyFunction(fn, isPrelude, givenArguments(fn.name.text, parametersOf(fn), call), call.range);
}

/// If a generic size is undetermined, reports the argument whose rank differs from its type.
void Emitter::refuseRanks(const FnDecl &fn, std::string_view generic, llvm::ArrayRef<Value> arguments) {
  for (auto [param, argument] : llvm::zip(fn.params, arguments)) {
    if (!param.type || param.type->kind != TypeKind::Array)
      continue;
    bool hasSize = llvm::any_of(param.type->dims, [&](const DimSyntax &dim) {
      const auto *name = dynAs<NameExpr>(*dim.size);
      return name && name->name == generic;
    });
    if (!hasSize)
      continue;
    std::string ranks = argument.isData() ? " (rank " + std::to_string(argument.rank()) + " and " +
                                                std::to_string(param.type->dims.size()) + ")"
                                          : "";
    report(argument.range, "argument '" + std::string(param.name.text) + "' of '" + std::string(fn.name.text) +
                               "' is " + argument.describe() + ", but " + std::string(param.type->range.text()) +
                               " is declared" + ranks)
        .note(param.type->range, "declared here");
    throw Poisoned();
  }
}

Value Emitter::applyFunction(const FnDecl &fn, bool isPrelude, std::vector<std::optional<Value>> given, Range range) {
  visited.insert(&fn);
  std::string quoted = "'" + std::string(fn.name.text) + "'";
  if (isRecursive(fn, given)) {
    report(range, "recursion: " + quoted + " calls itself, and calls are inlined")
        .note(fn.name.range, quoted + " is declared here");
    throw Poisoned();
  }

  FrameScope scope(*this, fn, isPrelude, range);
  SizeMap sizes;
  std::vector<Value> arguments;
  for (auto [param, value] : llvm::zip(fn.params, given)) {
    arguments.push_back(value ? *value : need(*param.defaultValue));
    if (param.type)
      solveSizes(*param.type, arguments.back(), fn.generics, sizes);
    bindSizes(fn.generics, sizes);
  }
  for (const Identifier &generic : fn.generics)
    if (!sizes.count(generic.text)) {
      refuseRanks(fn, generic.text, arguments);
      fail(generic.range, "the size '" + std::string(generic.text) +
                              "' cannot be told from the arguments: no parameter has it alone as a dimension");
    }
  for (const Identifier &generic : fn.generics)
    note(generic.range, sizes[generic.text]);
  bool isBad = false;
  for (auto [param, argument] : llvm::zip(fn.params, arguments)) {
    try {
      currentRange = argument.range;
      Value value =
          param.type ? declaredAs(argument, *param.type, "argument '" + std::string(param.name.text) + "' of " + quoted)
                     : argument;
      value.origin = param.name.range;
      note(param.name.range, value);
      frame->bind(param.name.text, std::move(value));
    } catch (const Poisoned &) {
      isBad = true;
      noteSizes(*param.type, fn.generics, sizes);
    }
  }
  if (isBad)
    throw Poisoned();
  Value result = functionBody(fn);
  if (fn.result) {
    if (result.kind == ValueKind::None)
      fail(fn.name.range, "function " + quoted + " declares a result but returns nothing");
    try {
      result = declaredAs(result, *fn.result, "the result of " + quoted);
    } catch (const Poisoned &) {
      noteSizes(*fn.result, fn.generics, sizes);
      throw;
    }
  }
  result.range = range;
  return result;
}

} // namespace spmdc
