//===- Profile.cpp - the times of a GPU program's steps -------------------===//

#include "runtime/exec/cuda/CudaProgram.h"

#include <chrono>
#include <iostream>
#include <mutex>

namespace spmd {
namespace {

int64_t nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Says once that the times of short kernels are too long.
void warnOfEventTimes(const std::string &why) {
  static std::once_flag isSaid;
  std::call_once(isSaid, [&] {
    std::cerr
        << "spmd: warning: steps of the profile have the times of events, which are some microseconds longer than each "
           "kernel's: " +
               why + "\n";
  });
}

} // namespace

int64_t CudaProgram::recordTime() {
  if (eventCount == events.size()) {
    cuda::Event event = nullptr;
    check(driver.EventCreate(&event, 0), "cuEventCreate");
    events.push_back(event);
  }
  if (eventCount == 0) { // The run's arguments may still be copied. On an idle stream the event happens now.
    wait();
    firstTimeNs = nowNs();
  }
  check(driver.EventRecord(events[eventCount], stream), "cuEventRecord");
  return static_cast<int64_t>(++eventCount); // 0 means no event.
}

void CudaProgram::resolveTimes(std::vector<ProfileEvent> &profile) {
  auto resolve = [&](int64_t &time) {
    float milliseconds = 0;
    if (time <= 0 || time > static_cast<int64_t>(eventCount))
      return;
    if (driver.EventElapsedTime(&milliseconds, events[0], events[static_cast<size_t>(time) - 1]) == cuda::kSuccess)
      time = firstTimeNs + static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    else // The run failed before this event.
      time = nowNs();
  };
  for (ProfileEvent &event : profile) {
    resolve(event.beginNs);
    resolve(event.endNs);
  }
  endTrace(profile);
}

int64_t CudaProgram::beginStep(size_t index) {
  int64_t time = recordTime();
  if (index == 0)
    beginTrace();
  if (trace)
    trace->enter(index);
  return time;
}

int64_t CudaProgram::endStep(size_t index) {
  if (trace)
    trace->leave(index);
  return recordTime();
}

void CudaProgram::beginTrace() {
  trace.reset();
  std::shared_ptr<cuda::Cupti> cupti = device.getLibrary().getCupti();
  if (!cupti)
    return;
  std::string whyNot;
  if (!recording)
    recording = cupti->start(whyNot);
  if (recording)
    trace = std::make_unique<StepTrace>(recording, device.getGpu().getContext(), transfers);
  else
    warnOfEventTimes(whyNot);
}

void CudaProgram::endTrace(std::vector<ProfileEvent> &profile) {
  // A GPU with an error has no times; the error is reported.
  if (std::unique_ptr<StepTrace> ended = std::move(trace); ended && driver.StreamQuery(stream) == cuda::kSuccess)
    if (std::string why = ended->refine(profile); !why.empty())
      warnOfEventTimes(why);
  if (!context.profileLog)
    recording.reset();
}

} // namespace spmd
