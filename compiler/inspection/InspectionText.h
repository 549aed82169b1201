//===- InspectionText.h - the report of a program, for people and scripts -*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"
#include "compiler/inspection/MeasuredTimes.h"
#include "runtime/support/ByteText.h"

#include <optional>
#include <string>

namespace spmdc {

/// The schema of `inspect --json`; keys in a fixed order. With `measured`: times of a run beside the predicted ones.
std::string inspectionJson(const Inspection &inspection, const std::optional<MeasuredTimes> &measured = std::nullopt);

/// The table that `inspect` prints.
std::string inspectionTable(const Inspection &inspection, const std::optional<MeasuredTimes> &measured = std::nullopt);

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

/// `8.59 G operations`, `1 operation`.
std::string operationsText(double count);

using spmd::bytesText;

/// `3.37 ms`, `12.0 us`.
std::string timeText(double seconds);

} // namespace spmdc
