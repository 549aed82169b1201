//===- InspectionText.h - the report as a table ----------------*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"
#include "compiler/inspection/MeasuredTimes.h"
#include "runtime/support/ByteText.h"

#include <optional>
#include <string>

namespace spmdc {

/// The table that `inspect` prints by default. `joinsLayers`: three or more values whose names differ in a number only,
/// and equal collectives of one line, have one row, as the layers of an exported program.
std::string inspectionTable(const Inspection &inspection, const std::optional<MeasuredTimes> &measured = std::nullopt,
                            bool joinsLayers = false);

/// `all_reduce sum over b`.
std::string collectiveTitle(const CollectiveReport &collective);
/// For `count` equal collective matmuls: the direction of their ring, and how much of the transfer overlaps with the
/// product.
std::string collectiveMatmulText(const CollectiveReport &collective, size_t count);
/// The remark on a collective with CollectiveReport::isCounted false.
inline constexpr const char *kUncountedText = "not counted: the other branch of this conditional sends more";

/// The remark on a collective in a `while`; empty for any other.
std::string whileText(const CollectiveReport &collective);
/// The number of calls that combining makes of the collectives, and the time that this saves; empty if none is
/// combined.
std::string combiningText(const FunctionReport &function);
/// For each `while`, a line that says that the sums count one of its iterations, and the amounts of each further one.
std::vector<std::string> whileTexts(const Inspection &inspection, const FunctionReport &function);

/// `f32[8, 4]`.
std::string shapeText(spmd::DType dtype, const std::vector<int64_t> &shape);
/// The same for a value's shape or local shape; `c64[8]` for complex numbers, `f8E5M2[8]` for narrow ones.
std::string shapeText(const ValueReport &value, const std::vector<int64_t> &shape);

/// `mesh a=4 b=2 (8 devices)`.
std::string meshTitle(const spmd::MeshShape &mesh);

/// Pads columns to their widest cell, separates them by two spaces, and indents each line by two.
std::string tableText(const std::vector<std::vector<std::string>> &rows);

/// `8.59 G`.
std::string countText(double count);

/// `8.59 GFLOP`, `1 FLOP`.
std::string operationsText(double count);

using spmd::bytesText;

/// `3.37 ms`, `12.0 us`.
std::string timeText(double seconds);

} // namespace spmdc
