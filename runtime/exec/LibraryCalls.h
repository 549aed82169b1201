//===- LibraryCalls.h - library steps with their types ----------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/MatmulShape.h"

namespace spmd {

LibraryCall makeCall(const LibraryStep &step, const Plan &plan);
/// Throws spmd::Error if the operands have different types.
MatmulShape makeShape(const MatmulStep &step, const Plan &plan);

} // namespace spmd
