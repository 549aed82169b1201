//===- RowOrder.cpp - the rows of each batch ------------------------------===//

#include "runtime/api/RowOrder.h"

#include <algorithm>

namespace spmd {
namespace {

/// The finalizer of SplitMix64.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

} // namespace

RowOrder::RowOrder(int64_t rows, int64_t batch, std::optional<uint64_t> seed, LastBatch last)
    : rows(rows), batch(batch), seed(seed), last(last) {
  while (halfBits < 31 && (int64_t(1) << (2 * halfBits)) < rows)
    ++halfBits;
}

int64_t RowOrder::batchesPerEpoch() const {
  return last == LastBatch::drop ? rows / batch : (rows + batch - 1) / batch;
}

int64_t RowOrder::sizeOf(int64_t number) const {
  if (last != LastBatch::keep)
    return batch;
  return std::min(batch, rows - number % batchesPerEpoch() * batch);
}

int64_t RowOrder::rowOf(int64_t number, int64_t place) const {
  int64_t epoch = 0, within = 0;
  if (last == LastBatch::wrap) {
    epoch = (number * batch + place) / rows;
    within = (number * batch + place) % rows;
  } else {
    epoch = number / batchesPerEpoch();
    within = number % batchesPerEpoch() * batch + place;
  }
  return seed ? permute(within, epoch) : within;
}

int64_t RowOrder::permute(int64_t place, int64_t epoch) const {
  uint64_t key = mix(*seed ^ mix(static_cast<uint64_t>(epoch)));
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  auto value = static_cast<uint64_t>(place);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t round = 0; round != 8; ++round) {
      uint64_t next = left ^ (mix(key + (round << 32) + right) & mask);
      left = right;
      right = next;
    }
    value = left << halfBits | right;
  } while (value >= static_cast<uint64_t>(rows));
  return static_cast<int64_t>(value);
}

} // namespace spmd
