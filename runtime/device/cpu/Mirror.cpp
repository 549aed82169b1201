//===- Mirror.cpp - the second half of a symmetric matrix -----------------===//

#include "runtime/device/cpu/Mirror.h"

#include <algorithm>

namespace spmd {
namespace {

/// Rows of the upper half that are read at a time: as many as an L1 cache has lines for addresses a page apart.
constexpr int64_t kSourceRows = 8;
/// Rows that are written at a time: a few lines of each source row.
constexpr int64_t kTargetRows = 64;

template <typename T> void mirror(T *matrix, int64_t n, int64_t begin, int64_t end) {
  for (int64_t first = begin; first < end; first += kTargetRows) {
    int64_t last = std::min(first + kTargetRows, end);
    for (int64_t source = 0; source < last; source += kSourceRows)
      for (int64_t row = std::max(first, source); row < last; ++row)
        for (int64_t column = source; column < std::min(source + kSourceRows, row); ++column)
          matrix[row * n + column] = matrix[column * n + row];
  }
}

} // namespace

void mirrorRows(void *matrix, int64_t n, int64_t elementBytes, int64_t begin, int64_t end) {
  switch (elementBytes) {
  case 1:
    return mirror(static_cast<uint8_t *>(matrix), n, begin, end);
  case 2:
    return mirror(static_cast<uint16_t *>(matrix), n, begin, end);
  case 4:
    return mirror(static_cast<uint32_t *>(matrix), n, begin, end);
  default:
    return mirror(static_cast<uint64_t *>(matrix), n, begin, end);
  }
}

} // namespace spmd
