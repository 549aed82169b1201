//===- RunCarry.h - results fed back as parameters --------------*- C++ -*-===//
//
// `--carry p,m --steps K`: a program that computes one step of a loop is called K times, and the results named `p` and
// `m` (of a struct, every leaf `p.w`, `p.b`) are the parameters of the same name at the next call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/artifact/Plan.h"

#include <string>
#include <utility>
#include <vector>

namespace spmd {

/// One result that becomes a parameter.
struct CarriedValue {
  size_t result = 0, parameter = 0;
};

/// What the names stand for. Throws usage errors: a name that is no parameter or no result (all of them listed), a
/// result of another dtype or shape than the parameter, or the same value twice.
std::vector<CarriedValue> findCarries(const Plan &plan, const std::vector<std::string> &names);

/// Puts the results in the parameters' places, under the parameters' shardings. Every process calls it.
void carryOver(const std::vector<CarriedValue> &carries, const std::vector<Array> &results, std::vector<Array> &inputs);

/// The results of a loop whose last step an earlier job did: those that are carried; the others are empty.
std::vector<Array> takeCarried(const std::vector<CarriedValue> &carries, const std::vector<Array> &inputs,
                               size_t resultCount);

} // namespace spmd
