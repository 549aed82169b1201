//===- Scatter.cpp - combines updates with elements at indices -------------===//
//
// One thread owns a block of the result: some columns of some rows. It walks all indices and combines the updates of
// its block in their order: the same bits for any number of threads, and no atomics. Half precision is combined in f32
// and rounded once, in scratch memory as large as the block.
//
// Threads divide columns if each has many, because two threads that write neighboring cache lines delay each other, and
// else rows. A test whether an index is in a range of rows is predicted wrongly half of the time, which takes 5 ns; so
// the updates of the range are listed first, without branches. That takes as long as the addition to a narrow row in a
// cache (0.5 ns): such rows are shared only if the order does not matter, and each thread combines a range of the
// updates in a copy of its own. benchmarks/RESULTS.md has figures.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Library.h"
#include "runtime/support/Elements.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

namespace spmd {
namespace {

/// Number of updated elements that is worth another thread.
constexpr int64_t kGrainElements = 1 << 14;
constexpr int64_t kLineBytes = 64;
/// Elements of a block in scratch memory: those of narrow rows fill a part of the second cache, so that indices are
/// read few times; wide rows are worth the reading.
constexpr int64_t kWideBlock = 1 << 16, kNarrowBlock = 1 << 19;
/// Bytes of a row for each thread that divides columns: two threads took three times as long as one for 128.
constexpr int64_t kColumnBytes = 1024;
/// Bytes of a result beyond which a thread waits for memory at each update of a narrow row.
constexpr int64_t kCachedBytes = 1 << 20;
/// Two threads gain little, since one reads at half of the rate of memory or more, and lose much if one of them has to
/// wait for a core: for 100,000 rows of 256 bytes one thread took 3.1 ms, two took 2.0 on idle cores and 15 on busy
/// ones.
constexpr int64_t kLeastThreads = 3;
/// Updates that are listed at a time.
constexpr int64_t kListed = 1024;
/// The most bytes of a copy of the result for each thread: as large as half of a first cache.
constexpr int64_t kCopyBytes = 1 << 15;

struct Sizes {
  int64_t outer, rows, count, inner;
};

/// The first NaN wins, with its bits, and of two zeros the positive one is larger. Without branches, so that loops
/// become vectors.
template <bool isMax, typename T> T extremeOf(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  // Of equal numbers, one of them each: they differ in the sign of zeros only.
  T first = (isMax ? x > y : x < y) ? x : y, second = (isMax ? y > x : y < x) ? y : x;
  auto one = std::bit_cast<Bits>(first), other = std::bit_cast<Bits>(second);
  T extreme = std::bit_cast<T>(static_cast<Bits>(isMax ? one & other : one | other));
  extreme = y != y ? y : extreme;
  return x != x ? x : extreme;
}

template <ScatterKind kind, typename T> T combine(T x, T y) {
  if constexpr (kind == ScatterKind::Replace)
    return y;
  else if constexpr (std::is_same_v<T, bool>)
    return kind == ScatterKind::Sum || kind == ScatterKind::Max || kind == ScatterKind::Or ? x || y : x && y;
  else if constexpr (kind == ScatterKind::Sum || kind == ScatterKind::Prod) {
    // Integers wrap; those of 16 bits would be promoted to signed ones.
    using Wide =
        std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
    auto a = static_cast<Wide>(x), b = static_cast<Wide>(y);
    return static_cast<T>(kind == ScatterKind::Sum ? a + b : a * b);
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(kind == ScatterKind::Max || kind == ScatterKind::Min);
    return extremeOf < kind == ScatterKind::Max > (x, y);
  } else if constexpr (kind == ScatterKind::Max || kind == ScatterKind::Min) {
    return (kind == ScatterKind::Max) == (x > y) ? x : y;
  } else {
    return static_cast<T>(kind == ScatterKind::And ? x & y : x | y);
  }
}

/// The element that changes no other one; only for kinds whose order does not matter.
template <ScatterKind kind, typename T> T identityOf() {
  using Limits = std::numeric_limits<T>;
  if constexpr (kind == ScatterKind::Max)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  else if constexpr (kind == ScatterKind::Min)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  else if constexpr (kind == ScatterKind::Prod)
    return T(1);
  else
    return static_cast<T>(kind == ScatterKind::And ? -1 : 0);
}

/// Whether any order of the updates gives the same bits. The first of several NaN wins in copies, too, because they are
/// combined in their order.
template <ScatterKind kind, typename T> constexpr bool isUnordered() {
  return kind == ScatterKind::Max || kind == ScatterKind::Min ||
         (kind != ScatterKind::Replace && std::is_integral_v<T>);
}

/// A block of the result [outer, rows, inner]: rows [first, last), columns [begin, end) of line `outer`.
struct Block {
  int64_t outer, first, last, begin, end;
};

/// The updates of one call. `Stored` is an element in memory, and `Value` one that is computed with.
template <ScatterKind kind, typename Element, typename Index> class Updates {
public:
  using Stored = typename Element::Stored;
  using Value = std::conditional_t<std::is_same_v<Element, BoolElement>, bool, typename Element::Value>;
  static constexpr bool isHalf = sizeof(Value) > sizeof(Stored);
  using Source = std::conditional_t<isHalf, Stored, Value>;

  Updates(const Sizes &sizes, bool isAlong, const void *indices, const void *updates)
      : sizes(sizes), isAlong(isAlong), indices(static_cast<const Index *>(indices)),
        updates(static_cast<const Source *>(updates)) {}

  /// Combines updates [from, to) in this block. `target` is its first element, rows are `pitch` elements apart.
  void apply(const Block &block, int64_t from, int64_t to, Value *target, int64_t pitch) const {
    int64_t line = block.outer * sizes.count * sizes.inner;
    const Source *source = updates + line;
    const Index *places = indices + (isAlong ? line : 0);
    auto first = static_cast<uint64_t>(block.first), height = static_cast<uint64_t>(block.last - block.first);
    auto rowOf = [=](Index index) { return static_cast<uint64_t>(static_cast<int64_t>(index)) - first; };
    int64_t width = block.end - block.begin;
    auto combineRow = [=, this](int64_t m, uint64_t row) {
      const Source *__restrict values = source + m * sizes.inner + block.begin;
      Value *__restrict elements = target + static_cast<int64_t>(row) * pitch;
      for (int64_t c = 0; c < width; ++c)
        elements[c] = combine<kind>(elements[c], load(values[c]));
    };
    auto combineOne = [=](int64_t m, uint64_t row) {
      Value element = target[row], update = load(source[m]);
      // Of two numbers that differ, an extreme is one instruction. A branch on which one it is would be predicted
      // wrongly for each third of ten updates of an element, which takes 3 ns; equal ones and NaN are rare.
      if constexpr (std::is_floating_point_v<Value> && (kind == ScatterKind::Max || kind == ScatterKind::Min))
        if (element < update || element > update) {
          target[row] = (kind == ScatterKind::Max) == (element > update) ? element : update;
          return;
        }
      target[row] = combine<kind>(element, update);
    };
    if (isAlong && sizes.inner > 1) {
      for (int64_t m = from; m < to; ++m)
        for (int64_t c = block.begin; c < block.end; ++c)
          if (uint64_t row = rowOf(places[m * sizes.inner + c]); row < height) {
            Value &element = target[static_cast<int64_t>(row) * pitch + c - block.begin];
            element = combine<kind>(element, load(source[m * sizes.inner + c]));
          }
    } else if (block.last - block.first < sizes.rows) {
      uint32_t list[kListed];
      for (int64_t base = from; base < to; base += kListed) {
        int64_t listed = 0, end = std::min(to - base, kListed);
        for (int64_t j = 0; j < end; ++j) {
          list[listed] = static_cast<uint32_t>(j);
          listed += rowOf(places[base + j]) < height;
        }
        for (int64_t j = 0; j < listed; ++j) {
          int64_t m = base + list[j];
          sizes.inner == 1 ? combineOne(m, rowOf(places[m])) : combineRow(m, rowOf(places[m]));
        }
      }
    } else if (sizes.inner == 1) {
      for (int64_t m = from; m < to; ++m)
        if (uint64_t row = rowOf(places[m]); row < height)
          combineOne(m, row);
    } else {
      for (int64_t m = from; m < to; ++m)
        if (uint64_t row = rowOf(places[m]); row < height)
          combineRow(m, row);
    }
  }

  /// Combines all updates of the block in scratch memory.
  void applyRounded(const Block &block, Stored *result) const {
    int64_t width = block.end - block.begin;
    int64_t height = std::max<int64_t>(1, (width * int64_t(sizeof(Value)) < kLineBytes ? kNarrowBlock : kWideBlock) /
                                              std::max<int64_t>(1, width));
    std::vector<Value> values;
    for (int64_t first = block.first; first < block.last; first += height) {
      Block part{block.outer, first, std::min(first + height, block.last), block.begin, block.end};
      values.resize((part.last - first) * width);
      auto rowOf = [&](int64_t row) { return result + (block.outer * sizes.rows + row) * sizes.inner + block.begin; };
      for (int64_t row = first; row < part.last; ++row)
        std::transform(rowOf(row), rowOf(row) + width, values.begin() + (row - first) * width, Element::load);
      apply(part, 0, sizes.count, values.data(), width);
      for (int64_t row = first; row < part.last; ++row)
        std::transform(values.begin() + (row - first) * width, values.begin() + (row - first + 1) * width, rowOf(row),
                       [](Value value) { return Element::store(value); });
    }
  }

  /// Each thread combines a range of the updates in a copy of the result, which is one line.
  void applyInCopies(ParallelFor &parallelFor, Value *result) const {
    int64_t copies = parallelFor.getThreadCount(), elements = sizes.rows * sizes.inner;
    // One cache line apart at least.
    int64_t pitch = elements + kLineBytes / int64_t(sizeof(Value));
    std::vector<std::conditional_t<std::is_same_v<Value, bool>, uint8_t, Value>> values(copies * pitch);
    auto *all = reinterpret_cast<Value *>(values.data());
    Block block{0, 0, sizes.rows, 0, sizes.inner};
    parallelFor.run(copies, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t copy = begin; copy < end; ++copy) {
        std::fill_n(all + copy * pitch, elements, identityOf<kind, Value>());
        apply(block, sizes.count * copy / copies, sizes.count * (copy + 1) / copies, all + copy * pitch, sizes.inner);
      }
    });
    if (parallelFor.shouldStop())
      return;
    for (int64_t copy = 0; copy < copies; ++copy)
      for (int64_t i = 0; i < elements; ++i)
        result[i] = combine<kind>(result[i], all[copy * pitch + i]);
  }

  void run(ParallelFor &parallelFor, void *result) const {
    int64_t elements = sizes.outer * sizes.count * sizes.inner, threads = parallelFor.getThreadCount();
    int64_t rowBytes = sizes.inner * int64_t(sizeof(Stored)), columnParts = 1, rowParts = 1;
    auto isEnough = [&] { return sizes.outer * columnParts * rowParts >= threads; };
    if (elements > kGrainElements && threads >= kLeastThreads && !isEnough()) {
      if constexpr (!isHalf && isUnordered<kind, Value>())
        if (sizes.outer == 1 && sizes.rows * rowBytes <= kCopyBytes && sizes.count >= 4 * threads * sizes.rows)
          return applyInCopies(parallelFor, static_cast<Value *>(result));
      columnParts = std::clamp<int64_t>(rowBytes / kColumnBytes, 1, (threads + sizes.outer - 1) / sizes.outer);
      bool isSlow = rowBytes >= kLineBytes || sizes.rows * rowBytes > kCachedBytes;
      if (!isEnough() && isSlow && (!isAlong || sizes.inner == 1)) {
        // Several ranges for each thread, where a row takes longer than to read its index again: a thread that has
        // to wait for a core leaves some to others.
        int64_t tasks = threads * std::clamp<int64_t>(rowBytes / 128, 1, 4), shared = sizes.outer * columnParts;
        rowParts = std::clamp<int64_t>((tasks + shared - 1) / shared, 1, sizes.rows);
      }
    }
    int64_t parts = columnParts * rowParts;
    int64_t grain = std::max<int64_t>(1, kGrainElements * sizes.outer * parts / elements);
    parallelFor.run(sizes.outer * parts, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t number = begin; number < end; ++number) {
        int64_t row = number % parts / columnParts, column = number % columnParts;
        Block block{number / parts, sizes.rows * row / rowParts, sizes.rows * (row + 1) / rowParts,
                    sizes.inner * column / columnParts, sizes.inner * (column + 1) / columnParts};
        if constexpr (isHalf)
          applyRounded(block, static_cast<Stored *>(result));
        else
          apply(block, 0, sizes.count,
                static_cast<Value *>(result) + (block.outer * sizes.rows + block.first) * sizes.inner + block.begin,
                sizes.inner);
      }
    });
  }

private:
  static Value load(Source source) {
    if constexpr (isHalf)
      return Element::load(source);
    else
      return source;
  }

  const Sizes sizes;
  const bool isAlong;
  const Index *indices;
  const Source *updates;
};

/// Calls `use` with a value of a type of this size, for elements that are only moved.
template <typename Use> void visitBits(DType dtype, const Use &use) {
  switch (byteSize(dtype)) {
  case 1:
    return use(PlainElement<uint8_t>());
  case 2:
    return use(PlainElement<uint16_t>());
  case 4:
    return use(PlainElement<uint32_t>());
  default:
    return use(PlainElement<uint64_t>());
  }
}

/// Calls `use` with the kind as a constant.
template <typename Use> void visitKind(ScatterKind kind, const Use &use) {
  using enum ScatterKind;
  switch (kind) {
  case Sum:
    return use(std::integral_constant<ScatterKind, Sum>());
  case Replace:
    return use(std::integral_constant<ScatterKind, Replace>());
  case Prod:
    return use(std::integral_constant<ScatterKind, Prod>());
  case Max:
    return use(std::integral_constant<ScatterKind, Max>());
  case Min:
    return use(std::integral_constant<ScatterKind, Min>());
  case And:
    return use(std::integral_constant<ScatterKind, And>());
  case Or:
    return use(std::integral_constant<ScatterKind, Or>());
  }
}

} // namespace

void scatter(const LibraryCall &call, ParallelFor &parallelFor, const void *indices, const void *updates,
             void *result) {
  Sizes sizes{call.sizes[0], call.sizes[1], call.sizes[2], call.sizes[3]};
  // Not their product, which may be larger than an integer although each array fits.
  if (sizes.outer == 0 || sizes.rows == 0 || sizes.count == 0 || sizes.inner == 0)
    return;
  visitKind(getScatterKind(call.function), [&](auto kind) {
    visitIndexType(call.indexTypes[0], [&](auto index) {
      auto run = [&](auto element) {
        using Element = decltype(element);
        constexpr bool isFloat = std::is_floating_point_v<typename Element::Value>;
        if constexpr (!isFloat || (kind != ScatterKind::And && kind != ScatterKind::Or))
          Updates<kind, Element, decltype(index)>(sizes, isAlong(call.function), indices, updates)
              .run(parallelFor, result);
      };
      if constexpr (kind == ScatterKind::Replace)
        visitBits(call.dtype, run);
      else
        visitElement(call.dtype, [&](auto element) {
          using Value = typename decltype(element)::Value;
          // Other kinds are the same for signed and unsigned integers: less code.
          if constexpr (std::is_integral_v<Value> && std::is_signed_v<Value> && kind != ScatterKind::Max &&
                        kind != ScatterKind::Min)
            run(PlainElement<std::make_unsigned_t<Value>>());
          else
            run(element);
        });
    });
  });
}

} // namespace spmd
