//===- PositionCell.h - lock-free position of this process ------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/coordinator/Verdict.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace spmd::coordinator {

/// Device threads write the position at every step (some 10 ns), the background thread reads it at every heartbeat. A
/// sequence lock whose data are atomics too. If two threads write at once, one of the two positions is kept.
class PositionCell {
public:
  void write(uint64_t launch, int32_t step, const SourceLocation &location);
  /// Returns the last position; `Joining` before the first write.
  Position read() const;

private:
  void writeFile(std::string_view name);

  static constexpr size_t words = 24; ///< 192 bytes for the file's name; of a longer name, the end is kept.

  std::atomic<uint32_t> sequence{0}; ///< Odd while a thread writes.
  std::atomic<uint64_t> launch{0};
  std::atomic<int32_t> step{-1}, line{0}, column{0};
  std::atomic<uint32_t> fileBytes{0};
  std::array<std::atomic<uint64_t>, words> file = {};

  /// The same text as `file`, for the thread that writes: successive steps are mostly of one file, and comparing is
  /// cheaper than writing word by word.
  std::array<char, words * 8> written = {};
  size_t writtenBytes = 0;
};

} // namespace spmd::coordinator
