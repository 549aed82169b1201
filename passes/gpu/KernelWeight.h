//===- KernelWeight.h - how much a thread of a kernel does ------*- C++ -*-===//
//
// Estimates from which GpuMapping takes how many elements a thread computes at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

namespace spmdc {

/// The calls of mathematical functions for one element, those with long code counted four times.
unsigned weightOf(const KernelBody &body);

/// From this weight on a thread computes one element at a time, since more code costs more than wide accesses give; and
/// from this one on, half as many as without calls.
inline constexpr unsigned kHeavy = 8, kHalfHeavy = 4;

/// True where a thread holds few values at a time: then a row is given more threads, and a thread more elements.
bool isSimple(const KernelBody &body, const KernelSchedule &schedule);

} // namespace spmdc
