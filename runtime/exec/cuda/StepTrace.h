//===- StepTrace.h - the times of a run's steps on the device ---*- C++ -*-===//
//
// A profile has the times of events on the stream, between which a kernel also waits for its launch. Where CUPTI
// records, the times of a step that computes become those of its kernels, copies and memsets: from the begin of the
// first to the end of the last. The end of a collective (its `done`) becomes the part of the transfer that no step
// before it covers. All other steps (control flow, collectives through the host, prints, steps without device work)
// keep their events, clipped between the steps beside them, so that the steps of a device never overlap and each one
// encloses its own.
//
// Example: events 100..130 and 130..160 around two kernels that ran from 112 to 115 and from 141 to 145 become
// 112..115 and 141..145.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Cupti.h"
#include "runtime/exec/Executor.h"

#include <string>
#include <vector>

namespace spmd {

/// One run of a program, on the thread of its device. Steps are called by their index in the profile.
class StepTrace {
public:
  /// `transfers` is the program's stream of transfers, or null. The GPU is current.
  StepTrace(std::shared_ptr<const cuda::Cupti::Session> session, cuda::Context context, cuda::Stream transfers)
      : run(std::move(session), context, transfers) {}

  /// Steps nest; an index is that of the profile's last event.
  void enter(size_t step);
  void leave(size_t step);

  /// The current step computes: called before it queues anything.
  void compute();
  /// The current step computes, and queues at least one kernel or copy.
  void computeWithWork();
  /// The current step starts a transfer: called before it queues anything. Returns the step.
  size_t startTransfer();
  /// The current step waits for that transfer.
  void awaitTransfer(size_t start) { waits.push_back({current(), start}); }

  /// Replaces the times of events, which are nanoseconds of the steady clock, at the end of a run. Returns an empty
  /// text, or one sentence about why all times are still those of events. Does nothing for a run that has failed in a
  /// step.
  std::string refine(std::vector<ProfileEvent> &events);

private:
  struct Span {
    int64_t beginNs = INT64_MAX, endNs = INT64_MIN;
    bool isEmpty() const { return beginNs > endNs; }
  };
  /// The begin or end of a step, in the order in which a device comes to them.
  struct Point {
    size_t step;
    bool isEnd;
  };
  struct Wait {
    size_t step, start;
  };

  size_t current() const { return open.back(); }
  /// Steps that compute or transfer have regions, which have no steps inside of them. Others have none: while they
  /// wait, they ask the stream again and again, and CUPTI would record each of these calls with its region.
  uint32_t enterRegion();

  cuda::CuptiRun run;
  bool isInRegion = false;
  std::vector<size_t> open; ///< The steps that the thread is in.
  std::vector<Point> points;
  std::vector<uint32_t> computing, working, transferring; ///< In ascending order.
  std::vector<Wait> waits;
};

/// Makes times ascend: each one that is not `fixed` moves between the fixed ones beside it, and a fixed one that is
/// less than a fixed one before it becomes equal. Both have the same size.
void orderTimes(std::vector<int64_t> &times, const std::vector<bool> &fixed);

} // namespace spmd
