//===- StepTrace.cpp - the times of a run's steps on the device -----------===//

#include "runtime/exec/cuda/StepTrace.h"

#include <algorithm>
#include <utility>

namespace spmd {

void orderTimes(std::vector<int64_t> &times, const std::vector<bool> &fixed) {
  int64_t least = INT64_MIN, leastFixed = INT64_MIN;
  for (size_t i = 0; i < times.size(); ++i)
    if (fixed[i])
      leastFixed = least = times[i] = std::max(times[i], leastFixed);
    else
      least = times[i] = std::max(times[i], least);
  int64_t most = INT64_MAX;
  for (size_t i = times.size(); i-- > 0;)
    most = times[i] = std::min(times[i], most);
}

void StepTrace::enter(size_t step) {
  points.push_back({step, false});
  open.push_back(step);
}

void StepTrace::leave(size_t step) {
  points.push_back({step, true});
  open.pop_back();
  if (std::exchange(isInRegion, false))
    run.leave();
}

uint32_t StepTrace::enterRegion() {
  auto step = static_cast<uint32_t>(current());
  if (!std::exchange(isInRegion, true))
    run.enter(step);
  return step;
}

void StepTrace::compute() {
  uint32_t step = enterRegion();
  if (computing.empty() || computing.back() != step)
    computing.push_back(step);
}

void StepTrace::computeWithWork() {
  compute();
  if (working.empty() || working.back() != computing.back())
    working.push_back(computing.back());
}

size_t StepTrace::startTransfer() {
  transferring.push_back(enterRegion());
  return current();
}

std::string StepTrace::refine(std::vector<ProfileEvent> &events) {
  if (!open.empty())
    return "";
  std::vector<cuda::CuptiRun::Work> work;
  if (std::string why = run.finish(working, transferring, work); !why.empty())
    return why;
  std::vector<Span> spans(events.size());
  for (const cuda::CuptiRun::Work &each : work) {
    if (each.region >= spans.size())
      return "CUPTI's records have a step that is none";
    Span &span = spans[each.region];
    span.beginNs = std::min(span.beginNs, each.beginNs);
    span.endNs = std::max(span.endNs, each.endNs);
  }
  std::vector<const Span *> measured(events.size(), nullptr);
  for (uint32_t step : computing)
    measured[step] = &spans[step];
  for (const Wait &wait : waits)
    measured[wait.step] = &spans[wait.start];

  std::vector<int64_t> times;
  std::vector<bool> fixed;
  for (const Point &point : points) {
    const Span *span = measured[point.step];
    const ProfileEvent &event = events[point.step];
    fixed.push_back(span && !span->isEmpty());
    if (fixed.back())
      times.push_back(point.isEnd ? span->endNs : span->beginNs);
    else
      times.push_back(point.isEnd ? event.endNs : event.beginNs);
  }
  orderTimes(times, fixed);
  for (size_t i = 0; i < points.size(); ++i)
    (points[i].isEnd ? events[points[i].step].endNs : events[points[i].step].beginNs) = times[i];
  return "";
}

} // namespace spmd
