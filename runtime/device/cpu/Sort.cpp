//===- Sort.cpp - sorts along a dimension ---------------------------------===//
//
// A call returns all places of the sorted lines, or a range of them. The first or the last places, if they are few, are
// selected in one pass over the line; any other range is separated from the rest and sorted. Entries are all different
// (SortOrder.h), so neither the algorithm nor a split of lines between threads changes a result.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/device/cpu/SortEntries.h"

#include <memory>

namespace spmd {
namespace {

/// A line is split between threads into parts of at least so many elements: sorting them takes 0.2 ms.
constexpr int64_t kLeastPart = 1 << 15;

/// Sorts the lines of one call. `Entry` holds the key and the position of an element.
template <typename Order, typename Entry> class LineSort {
public:
  using Stored = typename Order::Stored;

  LineSort(const LibraryCall &call, ParallelFor &parallelFor, const Stored *elements)
      : parallelFor(parallelFor), elements(elements), size(call.sizes[1]), inner(call.sizes[2]),
        range(getSortedRange(call.sizes)), lines(call.sizes[0] * inner) {
    int64_t places = range.end - range.begin;
    // Selecting more than a quarter takes as long as sorting.
    selects = 4 * places <= size && (range.begin == 0 || range.end == size);
    fromEnd = selects && range.begin > 0;
    int64_t threads = parallelFor.getThreadCount();
    parts = lines >= threads ? 1 : std::clamp<int64_t>(size / kLeastPart, 1, threads);
  }

  /// `write(i, first, position)` stores, as element i of the result, what is at `position` of the line whose first
  /// element is `first`.
  template <typename Write> void run(const Write &write) const {
    int64_t places = range.end - range.begin;
    if (lines == 0 || places == 0)
      return;
    if (parts > 1) {
      Scratch scratch(*this, parts);
      for (int64_t line = 0; line < lines && !parallelFor.shouldStop(); ++line)
        writeLine(line, sortInParts(line, scratch), write);
      return;
    }
    std::vector<std::unique_ptr<Scratch>> scratches(parallelFor.getThreadCount());
    int64_t grain = std::max<int64_t>(1, 4096 / size);
    parallelFor.run(lines, grain, [&](int64_t begin, int64_t end, int thread) {
      if (!scratches[thread])
        scratches[thread] = std::make_unique<Scratch>(*this, 1);
      for (int64_t line = begin; line < end; ++line)
        writeLine(line, sortLine(line, *scratches[thread]), write);
    });
  }

private:
  using Key = typename Order::Key;

  /// Memory for one line.
  struct Scratch {
    Scratch(const LineSort &sort, int64_t parts) {
      int64_t count = sort.selects ? parts * (sort.range.end - sort.range.begin) : sort.size;
      entries.resize(count);
      spare.resize(count);
      if (sort.selects)
        for (int64_t part = 0; part < parts; ++part)
          selections.emplace_back(sort.range.end - sort.range.begin, static_cast<Key>(sort.fromEnd ? ~Key(0) : Key(0)));
    }
    std::vector<Entry> entries, spare;
    std::vector<Selection<Order, Entry>> selections; // One for each part.
  };

  const Stored *findLine(int64_t line) const { return elements + line / inner * size * inner + line % inner; }

  /// Selects from the elements in [begin, end) of a line; returns how many entries it stored in `target`.
  int64_t select(int64_t line, int64_t begin, int64_t end, Selection<Order, Entry> &selection, Entry *target) const {
    selection.clear();
    selection.add(findLine(line), inner, begin, end, size);
    return selection.take(target);
  }

  void readEntries(int64_t line, int64_t begin, int64_t end, Entry *target) const {
    const Stored *first = findLine(line);
    for (int64_t i = begin; i < end; ++i)
      target[i] = makeEntry<Entry>(Order::keyOf(first[i * inner]), i);
  }

  /// Returns the entries of the range, in order.
  const Entry *sortLine(int64_t line, Scratch &scratch) const {
    Entry *entries = scratch.entries.data();
    if (selects) {
      select(line, 0, size, scratch.selections[0], entries);
      sortFewEntries(entries, entries + (range.end - range.begin));
      return entries;
    }
    readEntries(line, 0, size, entries);
    if (4 * (range.end - range.begin) > size) {
      sortEntries(entries, scratch.spare.data(), size, sizeof(Key));
      return entries + range.begin;
    }
    separateEntries(entries, entries + range.begin, entries + size);
    separateEntries(entries + range.begin, entries + range.end, entries + size);
    sortFewEntries(entries + range.begin, entries + range.end);
    return entries + range.begin;
  }

  /// The same, with the threads of the device.
  const Entry *sortInParts(int64_t line, Scratch &scratch) const {
    Entry *entries = scratch.entries.data(), *spare = scratch.spare.data();
    std::vector<int64_t> bounds(parts + 1);
    for (int64_t part = 0; part <= parts; ++part)
      bounds[part] = size * part / parts;
    if (selects) {
      int64_t places = range.end - range.begin;
      std::vector<int64_t> counts(parts);
      forEachPart(parts, [&](int64_t part) {
        counts[part] = select(line, bounds[part], bounds[part + 1], scratch.selections[part], entries + part * places);
      });
      Entry *end = entries + counts[0];
      for (int64_t part = 1; part < parts; ++part)
        end = std::copy_n(entries + part * places, counts[part], end);
      sortFewEntries(entries, end);
      return entries;
    }
    forEachPart(parts, [&](int64_t part) {
      readEntries(line, bounds[part], bounds[part + 1], entries);
      sortEntries(entries + bounds[part], spare + bounds[part], bounds[part + 1] - bounds[part], sizeof(Key));
    });
    for (int64_t width = 1; width < parts; width *= 2) {
      int64_t pairs = (parts + 2 * width - 1) / (2 * width);
      forEachPart(pairs, [&](int64_t pair) {
        auto at = [&](int64_t part) { return bounds[std::min(part, parts)]; };
        int64_t begin = at(2 * width * pair), middle = at(2 * width * pair + width), end = at(2 * width * (pair + 1));
        mergeEntries(entries + begin, entries + middle, entries + end, spare + begin);
      });
      std::swap(entries, spare);
    }
    return entries + range.begin;
  }

  template <typename Body> void forEachPart(int64_t count, const Body &body) const {
    parallelFor.run(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t part = begin; part < end; ++part)
        body(part);
    });
  }

  template <typename Write> void writeLine(int64_t line, const Entry *entries, const Write &write) const {
    int64_t places = range.end - range.begin;
    int64_t first = line / inner * size * inner + line % inner;
    int64_t target = line / inner * places * inner + line % inner;
    for (int64_t i = 0; i < places; ++i) {
      int64_t position = positionOf(entries[fromEnd ? places - 1 - i : i]);
      write(target + i * inner, first, fromEnd ? size - 1 - position : position);
    }
  }

  ParallelFor &parallelFor;
  const Stored *elements;
  int64_t size, inner;
  SortedRange range;
  int64_t lines, parts;
  bool selects, fromEnd;
};

template <typename Order>
void sortInOrder(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result) {
  using Stored = typename Order::Stored;
  auto *elements = static_cast<const Stored *>(operand);
  auto sortAndWrite = [&](const auto &write) {
    if constexpr (sizeof(Stored) <= 4)
      if (call.sizes[1] <= int64_t(1) << positionBits<NarrowEntry>)
        return LineSort<Order, NarrowEntry>(call, parallelFor, elements).run(write);
    LineSort<Order, WideEntry>(call, parallelFor, elements).run(write);
  };
  if (returnsSortedValues(call.function)) {
    auto *values = static_cast<Stored *>(result);
    int64_t inner = call.sizes[2];
    return sortAndWrite(
        [=](int64_t i, int64_t first, int64_t position) { values[i] = elements[first + position * inner]; });
  }
  visitIndexType(call.indexTypes[0], [&](auto index) {
    auto *positions = static_cast<decltype(index) *>(result);
    sortAndWrite([=](int64_t i, int64_t, int64_t position) { positions[i] = static_cast<decltype(index)>(position); });
  });
}

} // namespace

void sort(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result) {
  visitElement(call.dtype, [&](auto element) {
    if (isDescending(call.function))
      sortInOrder<SortOrder<decltype(element), true>>(call, parallelFor, operand, result);
    else
      sortInOrder<SortOrder<decltype(element), false>>(call, parallelFor, operand, result);
  });
}

} // namespace spmd
