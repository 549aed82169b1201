//===- job.h - joining a job, and its devices -------------------*- C++ -*-===//
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

/// Ids of devices on this machine: `2`, or `{0, 1}`.
class DeviceIds {
public:
  DeviceIds() = default;
  DeviceIds(int id) : ids(std::vector<int32_t>{id}) {}
  DeviceIds(std::initializer_list<int> list) : ids(std::vector<int32_t>(list.begin(), list.end())) {}
  DeviceIds(std::vector<int32_t> list) : ids(std::move(list)) {}
  const std::optional<std::vector<int32_t>> &get() const { return ids; }

private:
  std::optional<std::vector<int32_t>> ids;
};

/// The options of initialize(). Missing options are taken from the environment (SPMD_COORDINATOR_ADDRESS,
/// SPMD_NUM_PROCESSES, SPMD_PROCESS_ID, ...: `SPMD_` and the name in capitals).
struct InitializeOptions {
  std::optional<std::string> coordinator_address = {}; ///< Host and port of process 0.
  /// The address at which process 0 listens; default: the interface of coordinator_address.
  std::optional<std::string> coordinator_bind_address = {};
  std::optional<int> num_processes = {};
  std::optional<int> process_id = {};
  DeviceIds local_device_ids = {};
  /// `cpu` (the default) or `cuda`: the devices of this process, the same on all processes. SPMD_PLATFORM.
  std::optional<std::string> platform = {};
  std::optional<std::chrono::milliseconds> initialization_timeout = {}; ///< Default: 300 s, for all of initialize().
  std::optional<int> devices_per_process = {};                          ///< Devices of this process; default 1.
  std::optional<std::chrono::milliseconds> heartbeat_timeout = {};      ///< Default: 10 s.
  /// How long a collective, device_put or make_array_from_process_local_data waits for another process. Default: 300 s;
  /// 0: forever.
  std::optional<std::chrono::milliseconds> collective_timeout = {};
  std::optional<std::string> job_id = {};
  std::optional<std::string> token_file = {};
  /// All connections use TLS: this process's certificate, its key, and the authority that has signed the certificates
  /// of all processes (PEM files). All three, or none.
  std::optional<std::string> tls_cert = {}, tls_key = {}, tls_ca = {};
  /// Receives messages while the job joins and runs: which processes have not joined (every 5 s), processes that do not
  /// move (after 2 s), connections that were refused, a misspelt variable. Called on a thread of its own or within
  /// initialize(); must not throw. Default: a line on stderr, `spmd: process 2: warning: ...`.
  std::function<void(const std::string &text, bool is_warning)> notice = {};
};

/// Joins the job; must be called before any use of devices. Returns when all processes have joined. With one process,
/// or if neither the options nor the environment name a job, it opens no port. A second call, or a call after devices
/// were used, is an error that says where the first was, and changes nothing.
void initialize(const InitializeOptions &options = {}, std::source_location where = std::source_location::current());

/// Leaves the job in order: waits for all calls of this process, also those without results, and until every process
/// has called it; throws the error of a call that the program has not waited for. No other thread may use the job then.
/// Without shutdown(), a process leaves in the same way when it ends, unless one of its calls had failed: then the job
/// ends with that error.
void shutdown();

int process_index(std::source_location where = std::source_location::current());
int process_count(std::source_location where = std::source_location::current());

/// A device: one executor of programs.
struct DeviceInfo {
  int64_t id = 0;        ///< Dense over the job, in process order.
  int process_index = 0; ///< The process that owns it.
  std::string platform;  ///< `cpu` or `cuda`.
  int32_t local_id = 0;  ///< Its number on its machine.
  bool operator==(const DeviceInfo &) const = default;
  /// Returns `CpuDevice(id=3)`.
  std::string str() const;
};

/// Returns all devices of the job, in process order.
std::vector<DeviceInfo> devices(std::source_location where = std::source_location::current());
/// Returns the devices of this process.
std::vector<DeviceInfo> local_devices(std::source_location where = std::source_location::current());
int64_t device_count(std::source_location where = std::source_location::current());
int64_t local_device_count(std::source_location where = std::source_location::current());

/// Waits until all processes have called it with this name; at the time limit an error lists those that have not. If
/// two processes wait for one another at different names, both get an error at once, unless they call from several
/// threads.
void sync_processes(const std::string &name, std::chrono::milliseconds timeout = std::chrono::seconds(300),
                    std::source_location where = std::source_location::current());

} // namespace spmd
