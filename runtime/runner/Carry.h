//===- Carry.h - results fed back as parameters -----------------*- C++ -*-===//
//
// `--carry p,m --steps K`: a program that computes one step of a loop is called K times, and the results named `p` and
// `m` (for a struct, every leaf `p.w`, `p.b`) become the parameters of the same name in the next call. `--carry
// donated` means all results that have a parameter's name and type.
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

/// Returns the values that the names mean. Throws usage errors: a name that is no parameter or no result (the error
/// lists all), a result whose dtype or shape differs from the parameter's, or the same value twice.
std::vector<CarriedValue> findCarries(const Plan &plan, const std::vector<std::string> &names);

/// Sets the parameters to the results, resharded to the parameters' shardings. Every process calls it.
void carryOver(const std::vector<CarriedValue> &carries, const std::vector<Array> &results, std::vector<Array> &inputs);

/// Returns the results of a loop whose last step an earlier job ran: the carried ones; the others are empty.
std::vector<Array> takeCarried(const std::vector<CarriedValue> &carries, const std::vector<Array> &inputs,
                               size_t resultCount);

} // namespace spmd
