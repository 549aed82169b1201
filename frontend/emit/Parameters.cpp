//===- Parameters.cpp - matches arguments and parameters ------------------===//

#include "frontend/emit/Parameters.h"
#include "frontend/sema/Suggest.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

std::vector<Parameter> parseParameters(std::string_view text) {
  std::vector<Parameter> parameters;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t equal = item.find('=');
    bool isRest = item.front() == '*', isAxes = item.front() == '@';
    size_t mark = isRest || isAxes;
    parameters.push_back(
        {item.substr(mark, equal == item.npos ? item.npos : equal - mark), equal != item.npos, isRest, isAxes});
  }
  return parameters;
}

/// ` (x, axis, keepdims)`, or empty if there are none.
static std::string listed(const std::vector<std::string_view> &names, std::string_view before, std::string_view after) {
  std::string list;
  for (std::string_view name : names)
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list.empty() ? "" : std::string(before) + list + std::string(after);
}

std::vector<std::vector<const Argument *>>
matchArguments(Emitter &e, std::string_view function, const std::vector<Parameter> &parameters, const CallExpr &call) {
  std::vector<std::vector<const Argument *>> matched(parameters.size());
  std::string quoted = "'" + std::string(function) + "'";
  std::vector<std::string_view> names;
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name);
  size_t next = 0;
  bool sawName = false;
  for (const Argument &argument : call.arguments) {
    if (argument.name.text.empty()) {
      if (sawName)
        e.fail(argument.value->range, "arguments without a name must come before those with one");
      if (next == parameters.size())
        e.fail(argument.value->range, quoted + " takes " + std::to_string(parameters.size()) +
                                          (parameters.size() == 1 ? " argument" : " arguments") +
                                          listed(names, " (", ")") + ", this is one more");
      matched[next].push_back(&argument);
      next += !parameters[next].isRest;
      continue;
    }
    sawName = true;
    auto parameter = llvm::find_if(parameters, [&](const Parameter &p) { return p.name == argument.name.text; });
    if (parameter == parameters.end()) {
      std::string hint = didYouMean(argument.name.text, names);
      if (argument.name.text == "preferred_element_type") // Of jax.lax.dot_general and jnp.matmul.
        hint = "; convert the operands instead, which costs nothing: cast(x, f32) @ cast(y, f32)";
      e.fail(argument.name.range, quoted + " has no parameter '" + std::string(argument.name.text) + "'" +
                                      (hint.empty() ? listed(names, "; it has ", "") : hint));
    }
    auto &slot = matched[parameter - parameters.begin()];
    if (!slot.empty())
      e.fail(argument.name.range, "'" + std::string(argument.name.text) + "' is given twice");
    slot.push_back(&argument);
  }
  for (auto [parameter, slot] : llvm::zip(parameters, matched))
    if (slot.empty() && !parameter.isOptional && !parameter.isRest)
      e.fail(call.range, quoted + " needs an argument for '" + std::string(parameter.name) + "'" +
                             (names.size() > 1 ? listed(names, "; it takes ", "") : ""));
  return matched;
}

} // namespace spmdc
