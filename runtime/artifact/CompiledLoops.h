//===- CompiledLoops.h - loops that one function runs -----------*- C++ -*-===//
//
// On a CPU a plan's code may have a function that runs a complete loop, with the same bits as its steps. The steps are
// in the plan as well: profiles and the search for NaNs run them one by one. Steps are numbered in the order of the
// plan, a loop or branch before those in it. The function of the loop with number 17 is the entry `loop.17` of
// Plan::kernels; names of kernels have no dot.
//
// Calling convention: see LoopFunction. It runs all iterations on the calling thread. `buffers` are the loop's operands
// (listLoopOperands). It calls `poll` with `context` each 100 us or so, and returns in the middle of the loop if the
// answer is true.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

using LoopFunction = void (*)(void *const *buffers, const int64_t *coordinates, bool (*poll)(void *context),
                              void *context);

struct CompiledLoop {
  const Step *step = nullptr; ///< Of the plan.
  int32_t function = -1;      ///< Index into Plan::kernels.
};

/// The name of the function of the loop with this number.
std::string getLoopFunctionName(int32_t number);
/// Whether this entry of Plan::kernels is the function of a loop.
bool isLoopFunction(std::string_view symbol);
/// The index of that function in Plan::kernels, or -1. Time: the number of kernels.
int32_t findLoopFunction(const Plan &plan, int32_t number);

/// The loops of the plan that have a function, in order.
std::vector<CompiledLoop> listCompiledLoops(const Plan &plan);

/// The lists of steps in a loop or branch, in order; none for other steps.
std::vector<const std::vector<Step> *> getInnerSteps(const Step &step);
/// The step and those in it, in the order of their numbers.
std::vector<const Step *> listSteps(const Step &step);

/// The operands of a loop's function: one buffer of each range of memory that the steps of the loop access (the arena,
/// the constants, each argument, each result), in the order of the first accesses. Others of the range are at offsets
/// from it.
std::vector<BufferId> listLoopOperands(const Plan &plan, const Step &loop);

} // namespace spmd
