//===- WorkReport.h - the computation of one device -------------*- C++ -*-===//
//
// The kernels, matrix products, library calls and copies of a plan, each with its FLOP, its memory traffic, and the
// time that the cost model predicts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"
#include "runtime/artifact/Plan.h"

#include <string>
#include <vector>

namespace spmdc {

/// A `while` around some work.
struct WhileAround {
  std::string location; ///< Empty if unknown.
  int64_t runs = 1;     ///< How often the loop starts, as far as known.
};

struct WorkReport {
  std::string kind;            ///< `matmul`, `kernel`, `library`, `copy`.
  std::string name;            ///< The kernel's name, or the library function's.
  std::string location;        ///< `mlp.spmd:5:7`.
  double contractionFlops = 0; ///< FLOP of matrix products in one execution; 0 for other work.
  double memoryBytes = 0;      ///< Bytes read and written in one execution.
  int64_t tripCount = 1;       ///< Number of executions. The body of a `while` counts once: its iterations are unknown.
  double predictedSeconds = 0; ///< Of one execution.
  bool allowsTf32 = false;     ///< Of a matrix product of f32: its factors may be rounded to TF32.
  std::vector<WhileAround> whileLoops = {}; ///< From the outermost to the innermost.
  bool isCounted = true; ///< False in the branch of a conditional that takes less time than the other.

  double totalSeconds() const { return predictedSeconds * static_cast<double>(tripCount); }
};

/// The work of a kernel of a plan, which knows only the sizes of the inputs (passes/kernel/KernelReads.h).
struct KernelWork {
  std::vector<int64_t> readBytes; ///< By input.
  double productFlops = 0;
};

/// The work of one device, in the order of the plan.
std::vector<WorkReport> reportWork(const spmd::Plan &plan, const std::vector<KernelWork> &kernels,
                                   const CostModel &model);

} // namespace spmdc
