//===- ReshapedBoxes.h - what a device has of another's shape ---*- C++ -*-===//
#pragma once

#include "runtime/collective/Movement.h"

namespace spmd {

/// What device `from` of the mesh has of the array that `to` wants in another shape.
std::vector<Box> listReshapedBoxes(const MeshShape &mesh, const CollectiveDesc &desc, int64_t from, int64_t to);

} // namespace spmd
