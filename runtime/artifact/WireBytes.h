//===- WireBytes.h - what a collective sends --------------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// The bytes that one device sends, for a bandwidth-optimal algorithm, averaged over the devices where they differ: the
/// figure of `inspect --json`.
double wireBytesPerDevice(const CollectiveDesc &desc, const MeshShape &mesh);

} // namespace spmd
