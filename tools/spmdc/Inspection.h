//===- Inspection.h - the report of a program, for people and scripts -*- C++ -*-===//
#pragma once

#include "passes/analysis/ProgramReport.h"
#include "runtime/jit/Compiler.h"
#include "runtime/support/ByteText.h"
#include "tools/spmdc/MeasuredTimes.h"

#include <optional>
#include <string>

namespace spmdc {

struct Inspection {
  ProgramReport report;
  /// Arguments, results, arena and constants together.
  int64_t peakBytesPerDevice = 0;
  std::vector<WorkReport> work;
  std::optional<MeasuredTimes> measured;

  double computeSeconds() const;
};

/// Compiles as far as the plan. Nothing where the program has errors.
std::optional<Inspection> inspectProgram(Compiler &compiler);

/// The schema of `inspect --json`; keys in a fixed order.
std::string inspectionJson(const Inspection &inspection);

/// The table that `inspect` prints.
std::string inspectionTable(const Inspection &inspection);

/// `all_reduce sum over b`.
std::string collectiveTitle(const CollectiveReport &collective);
/// Of one that goes around a ring: which way, and what runs under the product.
std::string ringText(const CollectiveReport &collective);
/// What is said of a collective that does not count.
inline constexpr const char *kOtherArmText = "in one arm of a branch: the other one counts, which sends more";

/// `f32[8, 4]`.
std::string shapeText(spmd::DType dtype, const std::vector<int64_t> &shape);

/// `mesh a=4 b=2 (8 devices)`.
std::string meshTitle(const spmd::MeshShape &mesh);

/// `8.59 G`.
std::string countText(double count);

using spmd::bytesText;

/// `3.37 ms`, `12.0 us`.
std::string timeText(double seconds);

} // namespace spmdc
