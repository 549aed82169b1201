//===- Env.h - the environment, read in one place ---------------*- C++ -*-===//
//
// The only place of the tree that reads environment variables. What was found is returned as plain data; explicit
// arguments win over it, item by item, where the two are put together (the API and the command line).
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

/// What the environment says. An unset or empty variable is nullopt. The variable of each member stands beside it.
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
  /// What the clusters' own variables say; the first that is found has filled in what SPMD_* left open above.
  std::vector<Cluster> clusters;
  /// Why none was found although one says that this process is one of several: to run alone would be wrong. Empty:
  /// there is no such one, or what is given makes up for it.
  std::string clusterError;
  /// The same where it may as well be alone.
  std::string clusterWarning;
  /// SPMD_HOST_ID: stands for this machine: processes with different ones share no memory and use the network.
  std::optional<std::string> hostId;
  std::optional<std::string> token;     ///< SPMD_TOKEN
  std::optional<std::string> tokenFile; ///< SPMD_TOKEN_FILE
  std::optional<std::string> tlsCert;   ///< SPMD_TLS_CERT
  std::optional<std::string> tlsKey;    ///< SPMD_TLS_KEY
  std::optional<std::string> tlsCa;     ///< SPMD_TLS_CA
  /// SPMD_STATUS_TOKEN: set by our launcher: what observers of the job prove to know.
  std::optional<std::string> statusToken;
  /// SPMD_COORDINATOR_FD: set by our launcher for process 0: the coordinator's listening socket, already bound.
  std::optional<int> coordinatorFd;
  /// SPMD_LAUNCHER_FD: set by our launcher: a socket on which it tells how other processes ended.
  std::optional<int> launcherFd;
  /// SPMD_RESUME: set by our launcher: the job has saved checkpoints before it was restarted, and goes on from the
  /// newest.
  bool resumes = false;
  /// SPMD_RESTART_COUNT: set by our launcher: how often the job has been restarted after a fault.
  std::optional<int32_t> restartCount;
  std::optional<std::string> cacheDirectory; ///< SPMD_CACHE_DIR, else `spmd` in XDG_CACHE_HOME or in ~/.cache.
  bool isCacheDirectoryNamed = false;        ///< By SPMD_CACHE_DIR.
  bool noCache = false;                  ///< SPMD_NO_CACHE: compiled programs are kept only where an option says so.
  int64_t cacheLimit = int64_t(1) << 30; ///< SPMD_CACHE_LIMIT: bytes that compiled programs take at most.
  /// `spmd` in XDG_CONFIG_HOME or in ~/.config, the home being HOME or else the one of the user database.
  std::optional<std::string> configDirectory;
  bool noColor = false;                ///< NO_COLOR
  std::optional<std::string> platform; ///< SPMD_PLATFORM: cpu or cuda, the devices of this process.
  /// SPMD_SHARE_GPUS: several devices may work on one GPU: to test programs for more devices than there are.
  bool sharesGpus = false;
  /// NCCL_HOSTID is set: NCCL then takes processes with different ones for different hosts, which makes it connect
  /// several on one GPU.
  bool hasNcclHostId = false;
  /// CUDA_HOME, else CUDA_PATH: the folder of the CUDA toolkit; without it the usual places are searched.
  std::optional<std::string> cudaToolkit;

  /// Of SPMD_* variables that nobody reads, with the known one that was probably meant; for the user, once. Empty in
  /// children of our launcher, which has said it.
  std::vector<std::string> misspelt;

  /// The environment of this process. Throws spmd::Error (usage) naming the variable, its value and what it should
  /// be. `isAlone`: the caller said that the job has one process, as SPMD_NUM_PROCESSES=1 does; then no cluster's
  /// variables count. `problems`: see parse.
  static Environment read(bool isAlone = false, std::vector<std::string> *problems = nullptr);

  /// The same from any source of variables; `lookup` returns nullopt for one that is not set. With `problems` nothing
  /// is thrown: all that is wrong is listed there, and counts as not set.
  static Environment parse(const std::function<std::optional<std::string>(const char *)> &lookup,
                           std::vector<std::string> *problems = nullptr, bool isAlone = false);

  /// Those of `names` that nobody reads and that are near to a known one, in words: see `misspelt`.
  static std::vector<std::string> findMisspelt(const std::vector<std::string> &names);

  /// What was found in words, for people: values, clusters, what is wrong or contradicts itself, and what follows.
  static std::string explain(const std::function<std::optional<std::string>(const char *)> &lookup,
                             const std::vector<std::string> &names = {});
  /// The same of the environment of this process.
  static std::string explain();
};

/// The environment of this process as execve wants it (`NAME=value`), with `changes` made: a nullopt value removes.
std::vector<std::string>
environmentWith(const std::vector<std::pair<std::string, std::optional<std::string>>> &changes);

} // namespace spmd
