//===- Transforms.cpp - derivatives, loops and branches -------------------===//

#include "runtime/api/include/spmd/transform.h"

#include "runtime/jit/EagerPrograms.h"
#include "runtime/jit/LanguageText.h"
#include "runtime/jit/Trace.h"

namespace spmd::detail {
namespace {

/// Traces `functions` and evaluates an expression of them, in the trace in progress or as a program of its own.
std::vector<Array> evaluateWith(const std::vector<Subprogram> &programs, const std::vector<Array> &operands,
                                const std::function<Operand(const std::vector<TracedSubfunction> &)> &expression,
                                const std::string &pattern = "") {
  auto record = [&](Trace &trace) {
    std::vector<TracedSubfunction> functions;
    for (const Subprogram &program : programs)
      functions.push_back(trace.addFunction(program.parameters, program.body, program.where));
    return trace.record(expression(functions), pattern);
  };
  if (Trace *trace = Trace::current())
    return record(*trace);
  return runEagerly(operands, std::nullopt, programs.front().where, record);
}

/// `prefix0, prefix1`, each followed by `behind`.
std::string namesOf(const std::string &prefix, size_t count, const std::string &behind = "") {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i) + behind;
  return text;
}

/// `traced_0(own, $, $)`: a call with the function's own arguments and its captured values.
std::string callText(const TracedSubfunction &function, const std::string &own) {
  std::string text = function.name + "(" + own;
  for (size_t i = 0; i < function.captured.size(); ++i)
    text += (i || !own.empty()) ? ", $" : "$";
  return text + ")";
}

std::string dollars(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += i ? ", $" : "$";
  return text;
}

void addAll(std::vector<Operand> &operands, const std::vector<Array> &arrays, const std::source_location &where) {
  for (const Array &array : arrays)
    operands.push_back(Operand(array, where));
}

} // namespace

std::vector<Array> applyTransform(const std::string &transform, const std::optional<std::vector<size_t>> &wrt,
                                  const Subprogram &program) {
  // The derivative with respect to one array is an array, with respect to several a tuple.
  std::string named, pattern;
  if (wrt) {
    if (wrt->empty())
      throw Error(placeText(program.where) + ": error: the arguments have no array to differentiate with respect to",
                  Error::Kind::Usage);
    for (size_t leaf : *wrt)
      named += (named.empty() ? "" : ", ") + std::to_string(leaf);
    bool isOne = wrt->size() == 1;
    named = isOne ? ", wrt=" + named : ", wrt=(" + named + ")";
    pattern = isOne ? "($, $)" : "($, (" + dollars(wrt->size()) + "))";
  }
  auto expression = [&](const std::vector<TracedSubfunction> &functions) {
    const TracedSubfunction &function = functions[0];
    std::vector<Operand> operands;
    addAll(operands, program.parameters, program.where);
    addAll(operands, function.captured, program.where);
    return Operand(transform + "(" + function.name + named + ")(" + dollars(operands.size()) + ")", operands,
                   program.where);
  };
  return evaluateWith({program}, program.parameters, expression, pattern);
}

Array counterOfLoop(const std::vector<Array> &carries, std::source_location where) {
  if (Trace *trace = Trace::current())
    return trace->record(Operand("cast(0, i32)", {}, where))[0];
  // Only its type matters, so it is created on the mesh of the carries.
  return runEagerly({}, carries.empty() ? std::nullopt : std::optional(carries[0].sharding().mesh()), where,
                    [&](Trace &trace) { return trace.record(Operand("cast(0, i32)", {}, where)); })[0];
}

std::vector<Array> applyFor(int64_t lower, int64_t upper, const Subprogram &body) {
  std::vector<Array> carries(body.parameters.begin() + 1, body.parameters.end());
  return evaluateWith({body}, carries, [&](const std::vector<TracedSubfunction> &functions) {
    std::string names = namesOf("k", carries.size()), next = callText(functions[0], "i, " + names);
    std::vector<Operand> operands;
    addAll(operands, carries, body.where);
    addAll(operands, functions[0].captured, body.where);
    return Operand("for i in " + std::to_string(lower) + ".." + std::to_string(upper) + " carry (" +
                       namesOf("k", carries.size(), " = $") + ") { yield " + next + "; }",
                   operands, body.where);
  });
}

std::vector<Array> applyWhile(const Subprogram &condition, const Subprogram &body) {
  const std::vector<Array> &carries = body.parameters;
  return evaluateWith({condition, body}, carries, [&](const std::vector<TracedSubfunction> &functions) {
    std::string names = namesOf("k", carries.size());
    std::vector<Operand> operands;
    addAll(operands, functions[0].captured, body.where);
    addAll(operands, carries, body.where);
    addAll(operands, functions[1].captured, body.where);
    return Operand("while " + callText(functions[0], names) + " carry (" + namesOf("k", carries.size(), " = $") +
                       ") { yield " + callText(functions[1], names) + "; }",
                   operands, body.where);
  });
}

std::vector<Array> applyIf(const Operand &predicate, const Subprogram &onTrue, const Subprogram &onFalse) {
  std::vector<Array> all = onTrue.parameters;
  all.insert(all.end(), predicate.get_arrays().begin(), predicate.get_arrays().end());
  return evaluateWith({onTrue, onFalse}, all, [&](const std::vector<TracedSubfunction> &functions) {
    std::vector<Operand> operands = {predicate};
    for (const TracedSubfunction &function : functions) {
      addAll(operands, onTrue.parameters, onTrue.where);
      addAll(operands, function.captured, onTrue.where);
    }
    std::string own = dollars(onTrue.parameters.size());
    return Operand("if $ { " + callText(functions[0], own) + " } else { " + callText(functions[1], own) + " }",
                   operands, onTrue.where);
  });
}

} // namespace spmd::detail
