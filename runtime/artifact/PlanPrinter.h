//===- PlanPrinter.h - the plan as text -------------------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>

namespace spmd {

/// Returns the text of `--emit=plan`: mesh, parameters, results, buffers, kernels, and the steps in order, each with
/// its source line as a comment. For reading and for tests; no tool parses it.
std::string printPlan(const Plan &plan);
/// The same without the source lines.
std::string printPlanWithoutLocations(const Plan &plan);

/// `f32[4, 8]`; `f32[]` for a scalar.
std::string typeText(DType dtype, const std::vector<int64_t> &shape);
/// The same with this shape, the value's own or its local one: `c64[8]` of the parts f32[8, 2] of complex numbers,
/// `f8E5M2[8]` of the bytes u8[8] of narrow ones.
std::string typeText(const ValueInfo &value, std::vector<int64_t> shape);
inline std::string typeText(const ValueInfo &value) { return typeText(value, value.shape); }

/// `all_reduce sum over (b)`: a collective without its buffers.
std::string collectiveText(const CollectiveDesc &desc);

} // namespace spmd
