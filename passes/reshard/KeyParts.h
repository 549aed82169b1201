//===- KeyParts.h - numbers and moves as parts of keys ----------*- C++ -*-===//
#pragma once

#include "runtime/sharding/DimMoves.h"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace spmdc {

/// A number as a part of a key of pointers (OperationKey): equal for numbers with the same bits.
template <typename Number> const void *asKeyPart(Number number) {
  if constexpr (std::is_floating_point_v<Number>)
    return reinterpret_cast<const void *>(std::bit_cast<uintptr_t>(static_cast<double>(number)));
  else
    return reinterpret_cast<const void *>(static_cast<uintptr_t>(number));
}

/// All fields of the moves, one after the other: equal for equal moves.
inline std::vector<int64_t> listMoveNumbers(const std::vector<spmd::DimMove> &moves) {
  std::vector<int64_t> numbers;
  for (const spmd::DimMove &move : moves)
    numbers.insert(numbers.end(), {move.shift, move.stride, move.begin, move.end, move.length, move.step, move.base,
                                   move.block, move.wraps, move.dilation});
  return numbers;
}

} // namespace spmdc
