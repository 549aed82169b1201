//===- NanAgreement.h - agreement of devices on a NaN -----------*- C++ -*-===//
//
// With --check-nans the devices of a run meet at its end. They agree on whether a NaN was found and on the device that
// reports it: the first of the mesh that made one, else the first that has one. So either all processes throw, with the
// same message, or none does.
//
// Example: on a mesh of four, device 3 makes a NaN and an all_reduce distributes it. Device 3 finds its own NaN, the
// others a foreign one; the answer on all devices is device 3's text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Collective.h"
#include "runtime/exec/NanCheck.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// One device's endpoint; only that device's thread uses it. The communicator endpoint must outlive it.
class NanAgreement {
public:
  /// `site` is the end of the program; both collectives of the agreement use it.
  NanAgreement(CommunicatorEndpoint &endpoint, const MeshShape &mesh, int64_t position, CallSite site);

  struct Answer {
    int64_t position; ///< Position of the device that reports.
    std::string text; ///< Its message, the last kTextBytes - 1 bytes of it.
  };

  /// Every device of the mesh calls it at the same point of a run; `message` is this device's text for `found`. Returns
  /// the same on all devices; nothing if no device found a NaN.
  std::optional<Answer> agree(const std::optional<NanCheck::Finding> &found, const std::string &message);

  /// A message contains a step's name, a path and an index; paths have at most 4096 bytes (PATH_MAX), usually a tenth
  /// of that.
  static constexpr size_t kTextBytes = 4096;

private:
  const int64_t deviceCount, position;
  std::unique_ptr<CollectiveCall> rank, text;
  std::vector<char> ownText, agreedText;
};

} // namespace spmd
