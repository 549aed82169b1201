//===- CompiledLoops.cpp - loops that one function runs -------------------===//

#include "runtime/artifact/CompiledLoops.h"

#include <set>
#include <utility>

namespace spmd {
namespace {

constexpr std::string_view kPrefix = "loop.";

void appendSteps(const Step &step, std::vector<const Step *> &steps) {
  steps.push_back(&step);
  for (const std::vector<Step> *inner : getInnerSteps(step))
    for (const Step &one : *inner)
      appendSteps(one, steps);
}

/// The buffers that a step itself accesses, without those of steps in it.
std::vector<BufferId> listBuffers(const Step &step) {
  if (auto *launch = std::get_if<LaunchStep>(&step.op))
    return launch->operands;
  if (auto *copy = std::get_if<CopyStep>(&step.op))
    return {copy->source, copy->target};
  if (auto *call = std::get_if<LibraryStep>(&step.op)) {
    std::vector<BufferId> ids = call->inputs;
    ids.push_back(call->result);
    return ids;
  }
  if (auto *branch = std::get_if<IfStep>(&step.op))
    return {branch->predicate};
  if (auto *loop = std::get_if<WhileStep>(&step.op))
    return {loop->predicate};
  if (auto *loop = std::get_if<ForStep>(&step.op); loop && loop->counter >= 0)
    return {loop->counter};
  return {};
}

} // namespace

std::string getLoopFunctionName(int32_t number) { return std::string(kPrefix) + std::to_string(number); }

bool isLoopFunction(std::string_view symbol) { return symbol.starts_with(kPrefix); }

int32_t findLoopFunction(const Plan &plan, int32_t number) {
  std::string name = getLoopFunctionName(number);
  // Functions of loops come last.
  for (size_t i = plan.kernels.size(); i-- > 0 && isLoopFunction(plan.kernels[i].symbol);)
    if (plan.kernels[i].symbol == name)
      return static_cast<int32_t>(i);
  return -1;
}

std::vector<CompiledLoop> listCompiledLoops(const Plan &plan) {
  std::vector<CompiledLoop> loops;
  std::vector<const Step *> all;
  for (const Step &step : plan.steps)
    appendSteps(step, all);
  for (size_t number = 0; number < all.size(); ++number)
    if (!getInnerSteps(*all[number]).empty())
      if (int32_t function = findLoopFunction(plan, static_cast<int32_t>(number)); function >= 0)
        loops.push_back({all[number], function});
  return loops;
}

std::vector<const std::vector<Step> *> getInnerSteps(const Step &step) {
  if (auto *branch = std::get_if<IfStep>(&step.op))
    return {&branch->thenSteps, &branch->elseSteps};
  if (auto *loop = std::get_if<WhileStep>(&step.op))
    return {&loop->condition, &loop->body};
  if (auto *loop = std::get_if<ForStep>(&step.op))
    return {&loop->body};
  return {};
}

std::vector<const Step *> listSteps(const Step &step) {
  std::vector<const Step *> steps;
  appendSteps(step, steps);
  return steps;
}

std::vector<BufferId> listLoopOperands(const Plan &plan, const Step &loop) {
  std::set<std::pair<BufferInfo::Space, int32_t>> known;
  std::vector<BufferId> operands;
  for (const Step *step : listSteps(loop))
    for (BufferId id : listBuffers(*step)) {
      const BufferInfo &info = plan.buffers[static_cast<size_t>(id)];
      if (known.emplace(info.space, info.index).second)
        operands.push_back(id);
    }
  return operands;
}

} // namespace spmd
