//===- NanAgreement.h - one answer of all devices about a NaN ---*- C++ -*-===//
//
// With --check-nans the devices of a run meet at its end and agree on whether a NaN was found and on the device that
// speaks for all: the first of the mesh that made one, else the first that has one. So either all processes throw, with
// the same message, or none does.
//
// Example: on a mesh of four, device 3 makes a NaN and an all_reduce brings it to all. Device 3 finds one of its own,
// the others a foreign one; the answer of all is device 3's text.
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

/// One device's side; used by that device's thread alone. The endpoint must outlive it.
class NanAgreement {
public:
  /// `site` stands for the end of the program; both collectives of the agreement bear it.
  NanAgreement(CommunicatorEndpoint &endpoint, const MeshShape &mesh, int64_t position, CallSite site);

  struct Answer {
    int64_t position; ///< Of the device that speaks for all.
    std::string text; ///< Its message, the last kTextBytes - 1 bytes of it.
  };

  /// Every device of the mesh calls it at the same place of a run; `message` is what this device says of `found`.
  /// Returns the same on all devices; nothing where no device found a NaN.
  std::optional<Answer> agree(const std::optional<NanCheck::Finding> &found, const std::string &message);

  /// A message has a step's name, a path and an index; paths are at most 4096 bytes (PATH_MAX), and most are a tenth.
  static constexpr size_t kTextBytes = 4096;

private:
  const int64_t deviceCount, position;
  std::unique_ptr<CollectiveCall> rank, text;
  std::vector<char> ownText, agreedText;
};

} // namespace spmd
