//===- WorkReport.h - what one device computes ------------------*- C++ -*-===//
//
// The kernels, matrix products and library calls of a plan, each with its operations, the memory it touches, and how
// long the cost model says it takes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"
#include "runtime/artifact/Plan.h"

#include <string>
#include <vector>

namespace spmdc {

struct WorkReport {
  std::string kind;            ///< `matmul`, `kernel`, `library`, `copy`.
  std::string name;            ///< The kernel's name, or the library function's.
  std::string location;        ///< `mlp.spmd:5:7`.
  double contractionFlops = 0; ///< Of one trip; of matrix products.
  double memoryBytes = 0;      ///< Of one trip: what is read and written.
  int64_t tripCount = 1;       ///< Iterations of a `while` are known to nobody and count once.
  double predictedSeconds = 0; ///< Of one trip.
  bool isCounted = true;       ///< Not in an arm of a branch whose other arm takes longer.

  double totalSeconds() const { return predictedSeconds * static_cast<double>(tripCount); }
};

/// For each kernel of a plan the bytes of each input that it reads (passes/kernel/KernelReads.h): the plan itself says
/// only what it is given.
using KernelReads = std::vector<std::vector<int64_t>>;

/// In the order of the plan.
std::vector<WorkReport> reportWork(const spmd::Plan &plan, const KernelReads &reads, const CostModel &model);

} // namespace spmdc
