//===- Budget.h - what a program may cost -----------------------*- C++ -*-===//
//
// Limits on what each device sends, on the number of collectives and on memory, from `--budget` or from `budget` lines
// of the program (attribute `spmd.budget` of the module). A compile that exceeds one fails, and says where most of it
// comes from.
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
  std::string what; ///< `wire` and `memory` (bytes of each device), `collectives` (how many there are).
  int64_t limit = 0;
  std::string place; ///< `mlp.spmd:2:8`, of a line in the program; empty for the command line.
};

/// `wire=64MiB,collectives=3,memory=2GiB`. On a mistake nothing, and `error` says which.
std::optional<std::vector<BudgetLimit>> parseBudget(std::string_view text, std::string &error);

/// What the program itself sets. What `overrides` name it does not decide.
std::vector<BudgetLimit> getBudget(mlir::ModuleOp module, const std::vector<BudgetLimit> &overrides);

/// A limit that is exceeded: an error, and notes on the largest contributors. Places are `mlp.spmd:5:7` or empty.
struct BudgetExcess {
  struct Line {
    std::string place, message;
  };
  std::vector<Line> lines; ///< The error first.
};

std::vector<BudgetExcess> checkBudget(const std::vector<BudgetLimit> &limits, const ProgramReport &report,
                                      const spmd::Plan &plan, int64_t bytesPerDevice);

} // namespace spmdc
