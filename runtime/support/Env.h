//===- Env.h - the environment, read in one place ---------------*- C++ -*-===//
//
// The only code that reads environment variables. It returns plain data; explicit arguments have precedence, item by
// item, where the API and the command line combine the two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Cluster.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// The values of environment variables. An unset or empty variable is nullopt. The comment of each member names its
/// variable.
struct Environment {
  std::optional<std::string> coordinatorAddress;                  ///< SPMD_COORDINATOR_ADDRESS
  std::optional<std::string> coordinatorBindAddress;              ///< SPMD_COORDINATOR_BIND_ADDRESS
  std::optional<int32_t> numProcesses;                            ///< SPMD_NUM_PROCESSES
  std::optional<int32_t> processId;                               ///< SPMD_PROCESS_ID
  std::optional<std::vector<int32_t>> localDeviceIds;             ///< SPMD_LOCAL_DEVICE_IDS, `0,1`
  std::optional<int32_t> devicesPerProcess;                       ///< SPMD_DEVICES_PER_PROCESS
  std::optional<std::chrono::milliseconds> initializationTimeout; ///< SPMD_INITIALIZATION_TIMEOUT, seconds
  std::optional<std::chrono::milliseconds> heartbeatTimeout;      ///< SPMD_HEARTBEAT_TIMEOUT, seconds
  std::optional<std::chrono::milliseconds> collectiveTimeout;     ///< SPMD_COLLECTIVE_TIMEOUT, seconds; 0 = never
  std::optional<std::string> jobId;                               ///< SPMD_JOB_ID
  /// The clusters' own variables; the first cluster that is found fills the items above that SPMD_* variables leave
  /// open.
  std::vector<Cluster> clusters;
  /// If no cluster is found although its variables say that this process is one of several: why. Running alone would be
  /// wrong then. Empty if there is no such cluster, or if the given items suffice.
  std::string clusterError;
  /// Like clusterError, if this process may also be alone.
  std::string clusterWarning;
  /// SPMD_HOST_ID: replaces the identity of this machine. Processes with different ids share no memory and use the
  /// network.
  std::optional<std::string> hostId;
  std::optional<std::string> token;     ///< SPMD_TOKEN
  std::optional<std::string> tokenFile; ///< SPMD_TOKEN_FILE
  std::optional<std::string> tlsCert;   ///< SPMD_TLS_CERT
  std::optional<std::string> tlsKey;    ///< SPMD_TLS_KEY
  std::optional<std::string> tlsCa;     ///< SPMD_TLS_CA
  /// SPMD_STATUS_TOKEN, set by our launcher: the secret that observers of the job prove to know.
  std::optional<std::string> statusToken;
  /// SPMD_COORDINATOR_FD, set by our launcher for process 0: the coordinator's listening socket, already bound.
  std::optional<int> coordinatorFd;
  /// SPMD_LAUNCHER_FD, set by our launcher: a socket on which the launcher reports how other processes ended.
  std::optional<int> launcherFd;
  /// SPMD_RESUME, set by our launcher: the job saved checkpoints before it was restarted, and resumes from the newest.
  bool resumes = false;
  /// SPMD_RESTART_COUNT, set by our launcher: how often the job has been restarted after a fault.
  std::optional<int32_t> restartCount;
  std::optional<std::string> cacheDirectory; ///< SPMD_CACHE_DIR, else `spmd` in XDG_CACHE_HOME or in ~/.cache.
  bool isCacheDirectoryNamed = false;        ///< By SPMD_CACHE_DIR.
  bool noCache = false;                      ///< SPMD_NO_CACHE: compiled programs are only cached if an option says so.
  int64_t cacheLimit = int64_t(1) << 30;     ///< SPMD_CACHE_LIMIT: the largest size of the compile cache, in bytes.
  /// `spmd` in XDG_CONFIG_HOME or in ~/.config. The home is HOME, or else that of the user database.
  std::optional<std::string> configDirectory;
  bool noColor = false;                ///< NO_COLOR
  std::optional<std::string> platform; ///< SPMD_PLATFORM: cpu or cuda, the devices of this process.
  /// SPMD_SHARE_GPUS: several devices may use one GPU, to test programs for more devices than there are.
  bool sharesGpus = false;
  /// NCCL_HOSTID is set: NCCL then treats processes with different ids as different hosts, and connects several on one
  /// GPU.
  bool hasNcclHostId = false;
  /// CUDA_HOME, else CUDA_PATH: the folder of the CUDA toolkit; without it the usual places are searched.
  std::optional<std::string> cudaToolkit;

  /// Warnings about unknown SPMD_* variables that are similar to a known one, for the user, once. Empty in children of
  /// our launcher, which has printed them.
  std::vector<std::string> misspelt;

  /// Reads the environment of this process. Throws spmd::Error (usage) that names the variable, its value and what it
  /// should be. `isAlone`: the caller said that the job has one process, like SPMD_NUM_PROCESSES=1; then clusters'
  /// variables are ignored. `problems`: see parse.
  static Environment read(bool isAlone = false, std::vector<std::string> *problems = nullptr);

  /// Reads any source of variables; `lookup` returns nullopt for one that is not set. With `problems` nothing is
  /// thrown: all wrong variables are listed there, and count as not set.
  static Environment parse(const std::function<std::optional<std::string>(const char *)> &lookup,
                           std::vector<std::string> *problems = nullptr, bool isAlone = false);

  /// Returns warnings about those of `names` that are unknown and similar to a known name: see `misspelt`.
  static std::vector<std::string> findMisspelt(const std::vector<std::string> &names);

  /// Returns a readable report: values, clusters, wrong or inconsistent variables, and the conclusion.
  static std::string explain(const std::function<std::optional<std::string>(const char *)> &lookup,
                             const std::vector<std::string> &names = {});
  /// The report for the environment of this process.
  static std::string explain();
};

/// Returns the environment of this process in execve's format (`NAME=value`), with `changes` applied: nullopt removes a
/// variable.
std::vector<std::string>
environmentWith(const std::vector<std::pair<std::string, std::optional<std::string>>> &changes);

} // namespace spmd
