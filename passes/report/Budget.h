//===- BudgetAttr.h - limits on the cost of a program ---------------*- C++ -*-===//
//
// Limits on the bytes that each device sends, on the number of collectives, and on memory. They come from `--budget` or
// from `budget` lines of the program (attribute `spmd.budget` of the module). A compile that exceeds a limit fails with
// an error that names the largest contributors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/report/ProgramReport.h"
#include "runtime/artifact/Plan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

struct BudgetLimit {
  std::string what; ///< `wire` and `memory` (bytes of each device), `collectives` (their number).
  int64_t limit = 0;
  std::string place; ///< `mlp.spmd:2:8`, the source position; empty for a limit of the command line.
};

/// Parses `wire=64MiB,collectives=3,memory=2GiB`. On a mistake, returns nullopt and sets `error`.
std::optional<std::vector<BudgetLimit>> parseBudget(std::string_view text, std::string &error);

/// The limits in force: `overrides`, and those limits of the program that `overrides` does not name.
std::vector<BudgetLimit> getBudget(mlir::ModuleOp module, const std::vector<BudgetLimit> &overrides);

/// An exceeded limit: an error, and notes on the largest contributors. Or a limit that more than some number of
/// iterations of a `while` exceed, since one is counted: a warning. Source positions are `mlp.spmd:5:7`, or empty.
struct BudgetExcess {
  struct Line {
    std::string place, message;
  };
  std::vector<Line> lines; ///< The error or warning first.
  bool isWarning = false;
};

/// The limits that the program exceeds or may exceed. `bytesPerDevice`: the memory of one device.
std::vector<BudgetExcess> checkBudget(const std::vector<BudgetLimit> &limits, const ProgramReport &report,
                                      const spmd::Plan &plan, int64_t bytesPerDevice);

} // namespace spmdc
