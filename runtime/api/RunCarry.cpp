//===- RunCarry.cpp - results fed back as parameters ----------------------===//

#include "runtime/api/RunCarry.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace spmd {
namespace {

std::string listNames(const std::vector<ValueInfo> &values) {
  std::string text;
  for (const ValueInfo &value : values)
    text += (text.empty() ? "" : ", ") + value.name;
  return text.empty() ? "none" : text;
}

std::string typeText(const ValueInfo &value) {
  std::string text = std::string(dtypeName(value.dtype)) + "[";
  for (size_t i = 0; i < value.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(value.shape[i]);
  return text + "]";
}

/// The name itself, or a leaf of the struct of that name.
bool belongsTo(const std::string &leaf, const std::string &name) {
  return leaf == name || leaf.rfind(name + ".", 0) == 0;
}

} // namespace

std::vector<CarriedValue> findCarries(const Plan &plan, const std::vector<std::string> &names) {
  std::vector<CarriedValue> carries;
  auto usage = [](const std::string &message) { return Error("--carry " + message, Error::Kind::Usage); };
  for (const std::string &name : names) {
    size_t before = carries.size();
    for (size_t p = 0; p < plan.params.size(); ++p) {
      const ValueInfo &param = plan.params[p];
      if (!belongsTo(param.name, name))
        continue;
      auto result = std::find_if(plan.results.begin(), plan.results.end(),
                                 [&](const ValueInfo &value) { return value.name == param.name; });
      if (result == plan.results.end())
        throw usage(name + ": no result is named '" + param.name + "'; there are " + listNames(plan.results));
      if (result->dtype != param.dtype || result->shape != param.shape)
        throw usage(name + ": the result '" + param.name + "' is " + typeText(*result) + ", the parameter " +
                    typeText(param));
      for (const CarriedValue &other : carries)
        if (other.parameter == p)
          throw usage(name + ": '" + param.name + "' is named twice");
      carries.push_back({static_cast<size_t>(result - plan.results.begin()), p});
    }
    if (carries.size() == before)
      throw usage(name + ": no parameter is named so; there are " + listNames(plan.params));
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
