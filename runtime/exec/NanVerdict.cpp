//===- NanVerdict.cpp - what follows when a run meets a NaN ---------------===//

#include "runtime/exec/DeviceProgram.h"
#include "runtime/support/NanError.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace spmd {

std::vector<BufferId> DeviceProgram::idsIn(BufferInfo::Space space) const {
  std::vector<BufferId> ids;
  for (size_t id = 0; id < plan.buffers.size(); ++id)
    if (plan.buffers[id].space == space)
      ids.push_back(static_cast<BufferId>(id));
  return ids;
}

std::optional<NanAgreement::Answer> DeviceProgram::findNan(std::optional<NanCheck::Finding> &found) {
  found = nanCheck->find(view(idsIn(BufferInfo::Space::Result)));
  std::string message = found ? device.str() + ": " + found->text : "";
  if (nanAgreement)
    return nanAgreement->agree(found, message);
  return found ? std::optional(NanAgreement::Answer{position, message}) : std::nullopt;
}

void DeviceProgram::failForNan(const NanAgreement::Answer &answer, const std::optional<NanCheck::Finding> &found) {
  if (!context.nansEndJob)
    throw NanError(answer.text);
  const std::vector<int64_t> &locals = context.localPositions;
  if (answer.position == position && context.health && found->location)
    context.health->reportFailureAt(answer.text, launch, found->step, *found->location);
  bool isHere = std::find(locals.begin(), locals.end(), answer.position) != locals.end();
  if (isHere && answer.position != position)
    return; // That device fails the run of this process with the location.
  if (!isHere && context.health) {
    // The device that made the NaN is on another process, which reports to the coordinator first and ends the job. A
    // second is long for that: without a verdict by then the coordinator is gone, and this process throws the answer
    // itself.
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!context.health->isOver() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    checkVerdict();
  }
  throw Error(answer.text);
}

} // namespace spmd
