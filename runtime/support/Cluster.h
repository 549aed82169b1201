//===- Cluster.h - variables of cluster launchers ---------------*- C++ -*-===//
//
// Slurm, Open MPI, MPICH, Kubernetes, torchrun and Cloud TPU tell each process of a job its number, each in variables
// of its own. The user has to give the other items (SPMD_*, or options). Items that the user gives have precedence, one
// by one.
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
    Absent,   ///< Its variables are not set, or say that this process is alone.
    Doubtful, ///< Some of its variables are set; whether this process is one of several is unknown.
    /// Its variables say that this process is one of several, but its number or count is wrong or inconsistent.
    Contradictory,
    Found
  };

  /// The reason why a cluster that is found without numProcesses is not used.
  static constexpr const char *lacksCount = "they do not say how many processes there are";

  std::string name;
  Standing standing = Standing::Absent;
  /// If it was not found: the missing or wrong variable.
  std::string whyNot;
  std::optional<std::string> coordinatorAddress = {};
  std::optional<int32_t> numProcesses = {}, processId = {};
  std::optional<std::string> jobId = {};
  bool isFound() const { return standing == Standing::Found; }
};

/// Reads the variables of each kind of cluster, in the order of precedence; the first that is found counts. `lookup`
/// returns nullopt for a variable that is not set.
std::vector<Cluster> findClusters(const std::function<std::optional<std::string>(const char *)> &lookup);

} // namespace spmd
