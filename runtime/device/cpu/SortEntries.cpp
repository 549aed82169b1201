//===- SortEntries.cpp ----------------------------------------------------===//

#include "runtime/device/cpu/SortEntries.h"

#include <array>
#include <cstring>
#include <utility>

namespace spmd {

// Long lines are sorted digit by digit, the last one first: a pass over 1,024 entries takes as long as one and a half
// levels of a sort by comparisons.
template <typename Entry> void sortEntries(Entry *entries, Entry *scratch, int64_t count, int keyBytes) {
  constexpr int64_t leastRadix = 256;
  if (count < leastRadix) {
    std::sort(entries, entries + count);
    return;
  }
  constexpr int digits = 256;
  auto digitOf = [](Entry entry, int pass) {
    return static_cast<size_t>(entry >> (positionBits<Entry> + 8 * pass)) % digits;
  };
  std::array<std::array<int64_t, digits>, 8> starts;
  for (int pass = 0; pass < keyBytes; ++pass)
    starts[pass].fill(0);
  for (int64_t i = 0; i < count; ++i)
    for (int pass = 0; pass < keyBytes; ++pass)
      ++starts[pass][digitOf(entries[i], pass)];
  Entry *source = entries, *target = scratch;
  for (int pass = 0; pass < keyBytes; ++pass) {
    std::array<int64_t, digits> &next = starts[pass];
    if (next[digitOf(source[0], pass)] == count)
      continue; // All entries have the same digit.
    int64_t sum = 0;
    for (int64_t &start : next)
      sum += std::exchange(start, sum);
    for (int64_t i = 0; i < count; ++i)
      target[next[digitOf(source[i], pass)]++] = source[i];
    std::swap(source, target);
  }
  if (source != entries)
    std::memcpy(entries, source, static_cast<size_t>(count) * sizeof(Entry));
}

template <typename Entry> void sortFewEntries(Entry *begin, Entry *end) { std::sort(begin, end); }

template <typename Entry> void separateEntries(Entry *begin, Entry *place, Entry *end) {
  std::nth_element(begin, place, end);
}

template <typename Entry> void mergeEntries(const Entry *begin, const Entry *middle, const Entry *end, Entry *target) {
  std::merge(begin, middle, middle, end, target);
}

template void sortEntries(NarrowEntry *, NarrowEntry *, int64_t, int);
template void sortEntries(WideEntry *, WideEntry *, int64_t, int);
template void sortFewEntries(NarrowEntry *, NarrowEntry *);
template void sortFewEntries(WideEntry *, WideEntry *);
template void separateEntries(NarrowEntry *, NarrowEntry *, NarrowEntry *);
template void separateEntries(WideEntry *, WideEntry *, WideEntry *);
template void mergeEntries(const NarrowEntry *, const NarrowEntry *, const NarrowEntry *, NarrowEntry *);
template void mergeEntries(const WideEntry *, const WideEntry *, const WideEntry *, WideEntry *);

} // namespace spmd
