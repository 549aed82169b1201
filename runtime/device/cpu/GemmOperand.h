//===- GemmOperand.h - lines of a product's operand -------------*- C++ -*-===//
//
// A product reads lines of k elements: rows of the left side, columns of the right side. Operands that are entire
// arrays and views (OperandView.h) look the same here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/MatmulShape.h"
#include "runtime/device/cpu/Gemm.h"

#include <vector>

namespace spmd {

class GemmOperand {
public:
  static GemmOperand ofLhs(const MatmulShape &shape);
  static GemmOperand ofRhs(const MatmulShape &shape);

  /// Whether lines, and the elements of a line, are at constant distances: then strides have one value for the operand.
  bool isMatrix() const { return lines.size() <= 1 && elements.size() <= 1; }
  int64_t getLineStride() const { return lines.empty() ? 1 : lines.back().stride; }
  int64_t getElementStride() const { return elements.empty() ? 1 : elements.back().stride; }
  /// Whether all runs have stride 1.
  bool isContiguous() const { return getElementStride() == 1; }

  int64_t startOfBatch(int64_t number) const { return offset + positionOf(batch, number); }
  int64_t startOfLine(int64_t line) const { return positionOf(lines, line); }
  /// The elements [begin, begin + count) of a line.
  std::vector<LineRun> runsOf(int64_t begin, int64_t count) const;

private:
  GemmOperand(const OperandView &view, bool isLhs);

  int64_t offset;
  ViewDigits batch, lines, elements; ///< No two adjacent digits could be one.
};

/// Lines of an operand: at most as many as a tile has rows or columns.
struct TileLines {
  static constexpr int64_t most = 64;
  int64_t starts[most];

  TileLines(const GemmOperand &operand, int64_t first, int64_t count) : count(count) {
    for (int64_t i = 0; i < count; ++i)
      starts[i] = operand.startOfLine(first + i);
  }
  Lines at(const void *data, const std::vector<LineRun> &runs) const {
    return {data, starts, count, runs.data(), static_cast<int64_t>(runs.size())};
  }
  int64_t count;
};

} // namespace spmd
