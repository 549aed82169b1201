//===- LaunchGroup.cpp - launches that run side by side -------------------===//

#include "runtime/exec/cpu/LaunchGroup.h"

#include <algorithm>
#include <limits>

namespace spmd {

/// Each launch is compared with all ranges of its group, so that preparing a plan takes time in proportion to its
/// steps.
static constexpr size_t kMaxRanges = 1024;

/// A few tasks per thread balance the load, as in ParallelFor.
static constexpr int64_t kTasksPerThread = 4;

LaunchGroup::Range LaunchGroup::rangeOf(BufferId id, bool isWritten) const {
  const BufferInfo &info = plan.buffers[static_cast<size_t>(id)];
  Range range{info.space, info.index, info.offset, info.offset + info.bytes(), isWritten};
  if (info.space != BufferInfo::Space::Result)
    return range;
  auto argument = std::find(plan.aliases.begin(), plan.aliases.end(), info.index);
  if (argument != plan.aliases.end()) {
    range.space = BufferInfo::Space::Argument;
    range.index = static_cast<int32_t>(argument - plan.aliases.begin());
  }
  return range;
}

bool LaunchGroup::add(const LaunchStep &step) {
  if (ranges.size() + step.operands.size() > kMaxRanges && !ranges.empty())
    return false;
  std::vector<Range> own;
  size_t inputs = step.operands.size() - static_cast<size_t>(step.outputs);
  for (size_t i = 0; i < step.operands.size(); ++i)
    own.push_back(rangeOf(step.operands[i], i >= inputs));
  for (const Range &mine : own)
    for (const Range &other : ranges)
      if ((mine.isWritten || other.isWritten) && mine.space == other.space && mine.index == other.index &&
          mine.begin < other.end && other.begin < mine.end)
        return false;
  ranges.insert(ranges.end(), own.begin(), own.end());
  return true;
}

LaunchTasks LaunchTasks::of(const std::vector<LaunchExtent> &launches, int threads) {
  auto workOf = [](const LaunchExtent &launch) {
    return static_cast<double>(launch.extent) / static_cast<double>(std::max<int64_t>(launch.grain, 1));
  };
  double work = std::numeric_limits<double>::min(); // All ranges may be empty.
  for (const LaunchExtent &launch : launches)
    work += workOf(launch);
  LaunchTasks result;
  for (size_t number = 0; number < launches.size(); ++number) {
    auto [extent, grain] = launches[number];
    auto wanted =
        static_cast<int64_t>(static_cast<double>(kTasksPerThread * threads) * workOf(launches[number]) / work);
    int64_t count = std::max<int64_t>(1, wanted);
    int64_t size = std::max({(extent + count - 1) / count, grain, int64_t(1)});
    for (int64_t begin = 0; begin < extent; begin += size)
      result.tasks.push_back({number, begin, std::min(begin + size, extent)});
  }
  auto count = static_cast<double>(result.tasks.size());
  result.grain = std::max<int64_t>(1, static_cast<int64_t>(work < 1 ? count : count / work));
  return result;
}

} // namespace spmd
