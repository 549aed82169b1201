//===- EagerPrograms.h - operations outside of any trace --------*- C++ -*-===//
#pragma once

#include "runtime/jit/Trace.h"

#include <functional>
#include <optional>
#include <source_location>
#include <vector>

namespace spmd {

/// The mesh that all arrays are on, or hold a whole copy for; nothing where none of them says so. Throws where they are
/// on several.
std::optional<Mesh> meshOfArrays(const std::vector<Array> &arrays, const std::source_location &where);

/// This process's first device: where programs run that nothing says the mesh of.
Mesh defaultMesh(const Job &job);
/// Marks what has come about there.
std::vector<Array> uncommitted(std::vector<Array> arrays);

/// The array as one on this mesh, without communication; nothing where it is not there.
std::optional<Array> onMesh(const Array &array, const Mesh &mesh);

/// Traces `body` and runs what it wrote: a program of its own, kept for the next time that the same text comes with the
/// same types and shardings.
std::vector<Array> runEagerly(const std::vector<Array> &arrays, const std::optional<Mesh> &mesh,
                              const std::source_location &where,
                              const std::function<std::vector<Array>(Trace &)> &body);

} // namespace spmd
