//===- EagerPrograms.h - operations outside of any trace --------*- C++ -*-===//
#pragma once

#include "runtime/jit/Trace.h"

#include <functional>
#include <optional>
#include <source_location>
#include <vector>

namespace spmd {

/// The mesh of the arrays. Arrays that are replicated on all its devices fit, too. Returns nullopt if no array is
/// committed to a mesh; throws if they are on several.
std::optional<Mesh> meshOfArrays(const std::vector<Array> &arrays, const std::source_location &where);

/// A mesh of this process's first device, for programs without a mesh.
Mesh defaultMesh(const Job &job);
/// The arrays, marked as uncommitted: they are on the default mesh, and may move to the mesh of other arrays.
std::vector<Array> uncommitted(std::vector<Array> arrays);

/// The array as an array on this mesh, without communication. Returns nullopt if its data are not on the mesh's
/// devices.
std::optional<Array> onMesh(const Array &array, const Mesh &mesh);

/// Traces `body` into a program, and runs it. The program is cached by its text and by types and shardings.
std::vector<Array> runEagerly(const std::vector<Array> &arrays, const std::optional<Mesh> &mesh,
                              const std::source_location &where,
                              const std::function<std::vector<Array>(Trace &)> &body);

} // namespace spmd
