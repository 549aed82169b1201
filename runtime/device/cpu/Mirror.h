//===- Mirror.h - the second half of a symmetric matrix ---------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace spmd {

/// Copies the elements above the diagonal of a row-major [n, n] matrix below it, in rows [begin, end).
/// `elementBytes` is 1, 2, 4 or 8. Calls for disjoint rows may run concurrently.
void mirrorRows(void *matrix, int64_t n, int64_t elementBytes, int64_t begin, int64_t end);

} // namespace spmd
