//===- HostList.h - Slurm's lists of hosts ----------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Expands a list of hosts in Slurm's notation, in its order: `gpu[007-008,12]-a,login1` gives gpu007-a, gpu008-a,
/// gpu12-a and login1; with several brackets the last one varies fastest. nullopt: not a list, or more hosts than
/// `limit`.
std::optional<std::vector<std::string>> expandHostList(const std::string &list, size_t limit = 65536);

} // namespace spmd
