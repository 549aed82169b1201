//===- LaunchGroup.h - launches that run side by side -----------*- C++ -*-===//
//
// Consecutive launches of which none reads or writes what another one writes may run in any order, and at the same
// time: an optimizer's step has one for each parameter. One parallel loop then runs all of them. It starts the threads
// of the device once, and launches that are too short to be split share them.
//
//   add(p0, g0, p0')   0.. 30000      tasks: add(p0..) 0..15000, 15000..30000, sum(p1..) 0..1
//   sum(p1, s1)        0..1
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstddef>
#include <vector>

namespace spmd {

/// Collects launches of one plan.
class LaunchGroup {
public:
  explicit LaunchGroup(const Plan &plan) : plan(plan) {}

  /// Adds the launch, unless it depends on one of the group. Time: the number of ranges of the group.
  bool add(const LaunchStep &step);

private:
  /// Memory in one space; an argument and the result that may overwrite it are one space.
  struct Range {
    BufferInfo::Space space;
    int32_t index;
    int64_t begin, end;
    bool isWritten;
  };

  Range rangeOf(BufferId id, bool isWritten) const;

  const Plan &plan;
  std::vector<Range> ranges;
};

/// A part of the range of a launch.
struct LaunchTask {
  size_t launch = 0; ///< Index in the group.
  int64_t begin = 0, end = 0;
};

/// The extent and the grain of a launch (Plan.h).
struct LaunchExtent {
  int64_t extent = 0, grain = 1;
};

/// The parallel loop of a group.
struct LaunchTasks {
  std::vector<LaunchTask> tasks;
  int64_t grain = 1; ///< Least number of tasks that is worth another thread.

  /// Splits launches for this many threads. The work of a launch is its extent in grains.
  static LaunchTasks of(const std::vector<LaunchExtent> &launches, int threads);
};

} // namespace spmd
