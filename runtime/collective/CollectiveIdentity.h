//===- CollectiveIdentity.h - description and hash of calls -----*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <string>

namespace spmd {

/// Returns `all_reduce sum f32[1024, 4096] over (b)`, for messages.
std::string describeCollective(const CollectiveDesc &desc);

/// Returns a hash of all fields of the description, which the devices of a group compare.
uint64_t fingerprintCollective(const MeshShape &mesh, const CollectiveDesc &desc);

} // namespace spmd
