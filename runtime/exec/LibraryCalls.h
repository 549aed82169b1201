//===- LibraryCalls.h - library steps with their types ----------*- C++ -*-===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/MatmulShape.h"

namespace spmd {

/// The call of a library step, with the element types of the plan's buffers.
LibraryCall toLibraryCall(const LibraryStep &step, const Plan &plan);
/// The shape of a matrix product, with the element type of the plan's buffers. Throws spmd::Error if the operands have
/// different types.
MatmulShape toMatmulShape(const MatmulStep &step, const Plan &plan);

} // namespace spmd
