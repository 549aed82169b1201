//===- Cluster.h - what a cluster's own variables say -----------*- C++ -*-===//
//
// Slurm, Open MPI, MPICH, Kubernetes, torchrun and Cloud TPU tell each process of a job who it is, each by variables of
// its own. What they do not tell has to be given (SPMD_*, or options), and what is given wins, item by item.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

struct Cluster {
  std::string name;
  /// Empty: it was found. Else what is missing, or what is wrong with a variable.
  std::string whyNot;
  std::optional<std::string> coordinatorAddress;
  std::optional<int32_t> numProcesses, processId;
  std::optional<std::string> jobId;
  bool isFound() const { return whyNot.empty(); }
};

/// What each kind of cluster has to say, in the order in which they are looked for; the first that is found counts.
/// `lookup` returns nullopt for a variable that is not set.
std::vector<Cluster> findClusters(const std::function<std::optional<std::string>(const char *)> &lookup);

/// The hosts of a list as Slurm writes it, in its order: `gpu[007-008,12]-a,login1` gives gpu007-a, gpu008-a, gpu12-a
/// and login1; of several brackets the last counts fastest. nullopt: it is none, or has more hosts than `limit`.
std::optional<std::vector<std::string>> expandHostList(const std::string &list, size_t limit = 65536);

} // namespace spmd
