//===- GpuShadowHelper.h - the last accesses to each byte -------*- C++ -*-===//
//
// For each word of memory that a launch accesses, the accesses that a later one may conflict with: those that do not
// come before another kept one which conflicts with at least as much.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuClocksHelper.h"

#include <array>
#include <unordered_map>

namespace spmdc {

/// An access to some bytes of a word.
struct GpuTrace {
  static constexpr uint32_t kWordBytes = 4;

  GpuAgent agent = 0;
  uint32_t time = 0;
  uint32_t site : 24 = 0; ///< The instruction, as in GpuMemory.
  uint32_t bytes : 4 = 0; ///< A bit for each.
  uint32_t isWrite : 1 = 0, isAtomic : 1 = 0;
  uint32_t isOfBlock : 1 = 0; ///< Atomic for threads of its block alone (scope .cta).

  bool isSameAs(const GpuTrace &other) const {
    return agent == other.agent && time == other.time && bytes == other.bytes && isWrite == other.isWrite &&
           isAtomic == other.isAtomic && isOfBlock == other.isOfBlock;
  }
  /// Whether no access can conflict with the one before and not with this one, which comes after it.
  bool replaces(const GpuTrace &before) const {
    return (before.bytes & ~bytes) == 0 && (isWrite || !before.isWrite) &&
           (!isAtomic || (before.isAtomic && (isOfBlock || !before.isOfBlock)));
  }
};

class GpuShadow {
public:
  /// All reads of a word by so many threads are kept, and then those of the last lane of each warp, up to the second
  /// number. All threads of a block often read the same word, and a write that misses a barrier is not ordered after
  /// most of them.
  static constexpr size_t kKeptOfWarp = 4, kKept = 16;

  struct More {
    std::vector<GpuTrace> writes, reads;

    /// Whether a read takes the place of the last one. Lanes of a warp are adjacent agents, and mostly read a word one
    /// after the other.
    bool replacesLast(const GpuTrace &read) const {
      constexpr uint32_t kWarp = 32;
      return !reads.empty() &&
             (reads.back().isSameAs(read) ||
              (reads.size() >= kKeptOfWarp && (reads.back().agent - 1) / kWarp == (read.agent - 1) / kWarp));
    }
  };
  /// A word's accesses: two, and more of them.
  struct Word {
    std::array<GpuTrace, 2> first;
    uint32_t more = 0; ///< Of `lists`; 0: none.
  };

  Word &at(uint64_t address) {
    uint64_t page = address / kPageBytes;
    auto &[number, words] = recent[page % recent.size()];
    if (number != page) {
      words = findPage(page);
      number = page;
    }
    return words[address % kPageBytes / GpuTrace::kWordBytes];
  }

  /// Calls `isOrdered` for each kept access to the word; it says whether that one comes before `now`, and reports
  /// conflicts. Then keeps `now`. Traces of agents below `floor` are of no block that runs.
  template <typename IsOrdered> void keep(Word &word, const GpuTrace &now, GpuAgent floor, IsOrdered isOrdered) {
    GpuTrace *free = nullptr;
    for (GpuTrace &old : word.first) {
      if (old.agent < floor) {
        free = &old;
      } else if (old.isSameAs(now)) {
        return;
      } else if (isOrdered(old) && now.replaces(old)) {
        old.agent = 0;
        free = &old;
      }
    }
    if (word.more == 0) {
      if (free)
        *free = now;
      else
        addMore(word, now);
      return;
    }
    More &more = lists[word.more];
    auto isGone = [&](const GpuTrace &old) { return old.agent < floor || (isOrdered(old) && now.replaces(old)); };
    std::erase_if(more.writes, isGone);
    // Reads do not conflict with each other: they are only searched if there is no place for another one.
    if (now.isWrite || (more.reads.size() >= kKept && !more.replacesLast(now)))
      std::erase_if(more.reads, isGone);
    if (free)
      *free = now;
    else
      addMore(word, now);
  }

private:
  static constexpr uint64_t kPageBytes = 4096;

  Word *findPage(uint64_t page);
  void addMore(Word &word, const GpuTrace &now);

  std::unordered_map<uint64_t, std::unique_ptr<Word[]>> pages;
  /// Pages that were used last, by the rest of their number.
  std::array<std::pair<uint64_t, Word *>, 1024> recent{};
  std::vector<More> lists{{}};
};

} // namespace spmdc
