//===- CollectiveIdentity.h - what tells collectives apart ------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <cstdint>
#include <string>

namespace spmd {

/// `all_reduce sum f32[1024, 4096] over (b)`: for messages.
std::string describeCollective(const CollectiveDesc &desc);

/// A number that differs where anything in the description differs: devices that meet compare it.
uint64_t fingerprintCollective(const MeshShape &mesh, const CollectiveDesc &desc);

} // namespace spmd
