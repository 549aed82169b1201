//===- MoveNumbers.h - moves as parts of keys -------------------*- C++ -*-===//
#pragma once

#include "runtime/sharding/DimMoves.h"

namespace spmdc {

/// All fields of the moves, one after the other: equal for equal moves.
inline std::vector<int64_t> listMoveNumbers(const std::vector<spmd::DimMove> &moves) {
  std::vector<int64_t> numbers;
  for (const spmd::DimMove &move : moves)
    numbers.insert(numbers.end(), {move.shift, move.stride, move.begin, move.end, move.length, move.step, move.base,
                                   move.block, move.wraps, move.dilation});
  return numbers;
}

} // namespace spmdc
