//===- FunctionValue.cpp - functions as values ----------------------------===//

#include "frontend/emit/FunctionValue.h"
#include "frontend/builtins/Builtins.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

std::vector<Parameter> parametersOf(const FnDecl &fn) {
  std::vector<Parameter> result;
  for (const ParamDecl &param : fn.params)
    result.push_back(
        {.name = param.name.text, .isOptional = param.defaultValue != nullptr, .mayBeFunction = param.type == nullptr});
  return result;
}

std::vector<Parameter> FunctionValue::parameters() const {
  const FunctionValue &f = innermost();
  return f.builtin ? parseParameters(f.builtin->parameters) : parametersOf(*f.fn);
}

std::string FunctionValue::str() const { return std::string(name) + (of ? "(" + of->str() + ")" : ""); }

bool isSameFunction(const FunctionValue &a, const FunctionValue &b) {
  if (a.depth() != b.depth())
    return false;
  const FunctionValue *x = &a, *y = &b;
  for (; x->of; x = x->of.get(), y = y->of.get())
    if (x->name != y->name || x->wrt != y->wrt || x->isWrtTuple != y->isWrtTuple)
      return false;
  return x->fn == y->fn && x->builtin == y->builtin;
}

//===----------------------------------------------------------------------===//
// Functions as arguments
//===----------------------------------------------------------------------===//

/// True if the name refers to a function, and no value in scope hides it.
bool Emitter::isFunctionName(const Expr &e) const {
  const auto *name = dynAs<NameExpr>(e);
  if (!name || !frame)
    return false;
  const NameUse &use = resolution.at(name->name);
  return !use.local && !use.constant && !use.structDecl && (use.fn || use.builtin);
}

/// The value of an argument. A parameter without a type may take a function: its name, or grad(f) of one. Calls are
/// inlined and checked anew, so that the parameter is called as the function would be.
Value Emitter::argumentValue(const Expr &e, bool mayBeFunction) {
  if (!mayBeFunction || !(isFunctionName(e) || isTransformCall(e)))
    return expr(e);
  Value value;
  try {
    value.function = std::make_shared<FunctionValue>(functionValue(e, "an argument"));
    value.kind = ValueKind::Function;
    value.range = e.range;
  } catch (const Poisoned &) {
  }
  return value;
}

/// A call `g(x)` of a parameter g whose value is a function.
Value Emitter::callValue(const FunctionValue &f, const CallExpr &call) {
  return applyValue(f, givenArguments(f.innermost().name, f.parameters(), call), call.range);
}

/// True if a call would never end: calls are inlined, and a call of the same function on the same functions is being
/// inlined. Numbers do not matter: a branch on them is taken at run time, or by a constant that the next call has, too.
bool Emitter::isRecursive(const FnDecl &fn, llvm::ArrayRef<std::optional<Value>> given) const {
  // A function that calls itself with ever larger functions (f with grad(f)) never repeats a call, so depth is limited,
  // too. Programs pass functions through a handful of levels.
  constexpr int maxActive = 100;
  int active = 0;
  for (const Frame *at = frame; at; at = at->caller) {
    if (at->fn != &fn)
      continue;
    bool isSame = true;
    for (auto [param, value] : llvm::zip(fn.params, given)) {
      if (!value || !value->isFunction())
        continue;
      const Value *known = at->find(param.name.text);
      isSame &= known && known->isFunction() && isSameFunction(*known->function, *value->function);
    }
    if (isSame || ++active == maxActive)
      return true;
  }
  return false;
}

} // namespace spmdc
