//===- KernelWeight.h - the work of one thread ------------------*- C++ -*-===//
//
// Estimates from which GpuMapping chooses how many elements a thread computes at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

namespace spmdc {

/// The number of calls of mathematical functions for one element. A call with long code (f64, sin, cos, tan, power,
/// atan2, a division in 64 bits) counts as four; the list is in KernelWeight.cpp.
unsigned weightOf(const KernelBody &body);

/// From weight kHeavy on, a thread computes one element at a time, since more code costs more than wide accesses gain;
/// from kHalfHeavy on, half as many elements as without calls.
inline constexpr unsigned kHeavy = 8, kHalfHeavy = 4;

/// True if a thread holds few values at a time: then a row gets more threads, and a thread more elements.
bool isSimple(const KernelBody &body, const KernelSchedule &schedule);

} // namespace spmdc
