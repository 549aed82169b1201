//===- ProgressLine.h - progress of a loop on one line ----------*- C++ -*-===//
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace spmd {

/// For terminals. Prints at most ten times a second; the last step clears the line.
class ProgressLine {
public:
  /// `what` is the counted unit.
  ProgressLine(std::ostream &out, std::string command, std::string what = "step")
      : out(out), command(std::move(command)), what(std::move(what)) {}
  void show(int64_t step, int64_t steps);

private:
  std::ostream &out;
  std::string command, what;
  std::chrono::steady_clock::time_point shownAt{};
};

} // namespace spmd
