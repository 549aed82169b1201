//===- Carry.cpp - results fed back as parameters -------------------------===//

#include "runtime/runner/Carry.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/ResultNames.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cctype>

namespace spmd {
namespace {

std::string listNames(const std::vector<ValueInfo> &values) {
  std::string text;
  for (const ValueInfo &value : values)
    text += (text.empty() ? "" : ", ") + value.name;
  return text.empty() ? "none" : text;
}

bool haveSameType(const ValueInfo &x, const ValueInfo &y) {
  return x.dtype == y.dtype && x.format == y.format && x.shape == y.shape;
}

/// The parameters whose place a result takes, which has their name and type: those that an export donates
/// (frontend/stablehlo).
std::vector<size_t> donatedParameters(const Plan &plan) {
  std::vector<size_t> parameters;
  for (size_t p = 0; p < plan.params.size(); ++p) {
    const ValueInfo &param = plan.params[p];
    if (std::any_of(plan.results.begin(), plan.results.end(),
                    [&](const ValueInfo &result) { return result.name == param.name && haveSameType(result, param); }))
      parameters.push_back(p);
  }
  if (parameters.empty())
    throw Error("--carry donated: no result takes the place of a parameter; in JAX, jit(..., donate_argnums=...) names "
                "the arguments whose place results take",
                Error::Kind::Usage);
  return parameters;
}

/// Returns the parameters that `name` means: those of this name (all arrays of a struct), or, if it is the index of a
/// result, those with the result's name; `donated`, which is no parameter's name, those that results replace.
std::vector<size_t> parametersOf(const Plan &plan, const std::string &name) {
  std::vector<size_t> parameters;
  for (const NamedLeaf &leaf : findLeavesByName(plan.params, name))
    parameters.push_back(leaf.index);
  if (parameters.empty() && name == "donated")
    return donatedParameters(plan);
  // No identifier begins with a digit.
  bool isIndex = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0]));
  if (!parameters.empty() || !isIndex)
    return parameters;
  for (const NamedLeaf &leaf : findLeaves(plan.results, name)) {
    const std::string &result = plan.results[leaf.index].name;
    auto same = std::find_if(plan.params.begin(), plan.params.end(),
                             [&](const ValueInfo &param) { return param.name == result; });
    if (same == plan.params.end())
      throw Error("--carry " + name + ": the result '" + result + "' is carried to the parameter of its name, and " +
                      "there is none; there are " + listNames(plan.params),
                  Error::Kind::Usage);
    parameters.push_back(static_cast<size_t>(same - plan.params.begin()));
  }
  return parameters;
}

} // namespace

std::vector<CarriedValue> findCarries(const Plan &plan, const std::vector<std::string> &names) {
  std::vector<CarriedValue> carries;
  auto usage = [](const std::string &message) { return Error("--carry " + message, Error::Kind::Usage); };
  for (const std::string &name : names) {
    std::vector<size_t> parameters = parametersOf(plan, name);
    for (size_t p : parameters) {
      const ValueInfo &param = plan.params[p];
      auto result = std::find_if(plan.results.begin(), plan.results.end(),
                                 [&](const ValueInfo &value) { return value.name == param.name; });
      if (result == plan.results.end())
        throw usage(name + ": there is no result '" + param.name + "'; there are " + listNames(plan.results));
      if (!haveSameType(*result, param))
        throw usage(name + ": the result '" + param.name + "' is " + typeText(*result) + ", the parameter " +
                    typeText(param));
      for (const CarriedValue &other : carries)
        if (other.parameter == p)
          throw usage(name + ": '" + param.name + "' is named twice");
      carries.push_back({static_cast<size_t>(result - plan.results.begin()), p});
    }
    if (parameters.empty())
      throw usage(name + ": there is no parameter of that name; there are " + listNames(plan.params));
  }
  return carries;
}

void carryOver(const std::vector<CarriedValue> &carries, const std::vector<Array> &results,
               std::vector<Array> &inputs) {
  for (const CarriedValue &carry : carries) {
    const NamedSharding &wanted = inputs[carry.parameter].get_impl()->sharding;
    inputs[carry.parameter] = device_put(results[carry.result], wanted);
  }
}

std::vector<Array> takeCarried(const std::vector<CarriedValue> &carries, const std::vector<Array> &inputs,
                               size_t resultCount) {
  std::vector<Array> results(resultCount);
  for (const CarriedValue &carry : carries)
    results[carry.result] = inputs[carry.parameter];
  return results;
}

} // namespace spmd
