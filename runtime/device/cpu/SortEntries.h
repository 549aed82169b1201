//===- SortEntries.h - sorts of keys with positions -------------*- C++ -*-===//
#pragma once

#include "runtime/device/cpu/SortOrder.h"

#include <algorithm>
#include <vector>

namespace spmd {

// Every order sorts the same two kinds of entries, so these are compiled once, in SortEntries.cpp.

/// Sorts `count` entries whose keys have `keyBytes` bytes and whose positions ascend; `scratch` has as many.
template <typename Entry> void sortEntries(Entry *entries, Entry *scratch, int64_t count, int keyBytes);

/// Sorts few entries, in any order of positions.
template <typename Entry> void sortFewEntries(Entry *begin, Entry *end);

/// Moves the entries that belong before `place` before it, and the others behind it.
template <typename Entry> void separateEntries(Entry *begin, Entry *place, Entry *end);

/// Writes the sorted entries in [begin, middle) and [middle, end) to `target`, sorted.
template <typename Entry> void mergeEntries(const Entry *begin, const Entry *middle, const Entry *end, Entry *target);

/// The `count` least entries of those added, in the order in which elements are added. Once `count` are known, an
/// element is compared with the largest of them: few of a long line pass, and they are collected until there are twice
/// as many as needed.
template <typename Order, typename Entry> class Selection {
public:
  using Stored = typename Order::Stored;
  using Key = typename Order::Key;

  /// `flip` is all ones to select the greatest elements, and 0 otherwise.
  Selection(int64_t count, Key flip) : count(count), flip(flip), entries(2 * count + block) {}

  void clear() {
    size = 0;
    hasLimit = false;
  }

  /// Adds an element of each position from `begin` to `end`, in ascending order or, for the greatest, in descending
  /// order of positions, counted from the end `length`.
  void add(const Stored *line, int64_t stride, int64_t begin, int64_t end, int64_t length) {
    for (int64_t done = 0; done < end - begin; done += block) {
      int64_t number = std::min(block, end - begin - done);
      int64_t first = flip ? end - done - number : begin + done;
      const Stored *elements = line + first * stride;
      if (hasLimit && !(stride == 1 ? isAnyBelow(elements, 1, number) : isAnyBelow(elements, stride, number)))
        continue;
      for (int64_t j = 0; j < number; ++j) {
        int64_t i = flip ? number - 1 - j : j;
        Key key = keyOf(elements[i * stride]);
        entries[size] = makeEntry<Entry>(key, flip ? length - 1 - (first + i) : first + i);
        // A later element with the same key comes after those before it.
        size += !hasLimit || key < limit;
      }
      if (size >= 2 * count)
        prune();
    }
  }

  /// Moves the least entries, in no order, to `target`, and returns how many they are.
  int64_t take(Entry *target) {
    prune();
    std::copy_n(entries.begin(), size, target);
    return size;
  }

private:
  static constexpr int64_t block = 128;

  Key keyOf(Stored stored) const { return static_cast<Key>(Order::keyOf(stored) ^ flip); }

  bool isAnyBelow(const Stored *elements, int64_t stride, int64_t number) const {
    bool isAny = false;
    for (int64_t i = 0; i < number; ++i)
      isAny |= keyOf(elements[i * stride]) < limit;
    return isAny;
  }

  void prune() {
    if (size < count)
      return;
    separateEntries(entries.data(), entries.data() + (count - 1), entries.data() + size);
    size = count;
    limit = static_cast<Key>(entries[count - 1] >> positionBits<Entry>);
    hasLimit = true;
  }

  const int64_t count;
  const Key flip;
  std::vector<Entry> entries;
  int64_t size = 0;
  bool hasLimit = false;
  Key limit = 0;
};

} // namespace spmd
