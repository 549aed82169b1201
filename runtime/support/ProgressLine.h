//===- ProgressLine.h - how far a long loop is, on one line ------*- C++ -*-===//
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace spmd {

/// For a person at a terminal. At most ten times a second; the last step leaves the line empty.
class ProgressLine {
public:
  /// `what` is counted.
  ProgressLine(std::ostream &out, std::string command, std::string what = "step")
      : out(out), command(std::move(command)), what(std::move(what)) {}
  void show(int64_t step, int64_t steps);

private:
  std::ostream &out;
  std::string command, what;
  std::chrono::steady_clock::time_point shownAt{};
};

} // namespace spmd
