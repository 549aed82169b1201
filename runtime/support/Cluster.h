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
  enum class Standing : uint8_t {
    Absent,        ///< Its variables are not there, or say that this process is alone.
    Doubtful,      ///< Some of its variables are there; whether this process is one of several cannot be told.
    Contradictory, ///< It says that this process is one of several, and is wrong or contradicts itself about which.
    Found
  };

  /// What is wrong with one that is found without numProcesses.
  static constexpr const char *lacksCount = "they do not say how many processes there are";

  std::string name;
  Standing standing = Standing::Absent;
  /// What is missing, or what is wrong with a variable, where it was not found.
  std::string whyNot;
  std::optional<std::string> coordinatorAddress = {};
  std::optional<int32_t> numProcesses = {}, processId = {};
  std::optional<std::string> jobId = {};
  bool isFound() const { return standing == Standing::Found; }
};

/// What each kind of cluster has to say, in the order in which they are looked for; the first that is found counts.
/// `lookup` returns nullopt for a variable that is not set.
std::vector<Cluster> findClusters(const std::function<std::optional<std::string>(const char *)> &lookup);

} // namespace spmd
