//===- HostList.h - lists of hosts as Slurm writes them ---------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// The hosts of a list as Slurm writes it, in its order: `gpu[007-008,12]-a,login1` gives gpu007-a, gpu008-a, gpu12-a
/// and login1; of several brackets the last counts fastest. nullopt: it is none, or has more hosts than `limit`.
std::optional<std::vector<std::string>> expandHostList(const std::string &list, size_t limit = 65536);

} // namespace spmd
