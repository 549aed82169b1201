//===- MeshOverride.h - a mesh given by an option ---------------*- C++ -*-===//
#pragma once

#include "frontend/Frontend.h"
#include "runtime/sharding/Sharding.h"

namespace spmdc {

/// `--mesh a=8,b=1` (`FrontendOptions::meshOverride`): replaces the sizes of the program's axes, or declares the mesh
/// if `axes` is empty. Errors name the option. `declaration` is where the program declares the mesh, if it has a text.
void overrideMesh(const FrontendOptions &options, std::vector<spmd::MeshAxis> &axes, Range declaration,
                  Diagnostics &diagnostics);

} // namespace spmdc
