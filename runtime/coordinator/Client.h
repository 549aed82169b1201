//===- Client.h - a process's membership in a job ---------------*- C++ -*-===//
//
// Joining a job, the list of its processes, reporting and learning of failures, and leaving in order. One background
// thread keeps the connection to the coordinator; in process 0 it serves the coordinator too. See docs/coordinator.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/coordinator/ProcessStatistics.h"
#include "runtime/coordinator/Verdict.h"
#include "runtime/support/Store.h"
#include "runtime/support/tls/Tls.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

class Client;

/// A value that must be the same on all processes: an option, the mesh, the program's text. If a value of several lines
/// differs, the message names the first line that differs.
struct JoinColumn {
  std::string name;
  std::string value;
};

/// A line for stderr or for a log.
struct Notice {
  enum class Level : uint8_t { Info, Warning };
  Level level = Level::Info;
  std::string text;
};

/// One process of the job.
struct ProcessInfo {
  int32_t index = 0;
  std::string host;    ///< For messages.
  std::string bootId;  ///< machineId(), or JoinOptions::hostId if it is given.
  std::string address; ///< The address from which it connected to the coordinator: `10.0.0.7`.
  int64_t pid = 0;
  std::vector<int32_t> localDeviceIds;
  int64_t firstDevice = 0; ///< Global id of its first device; ids are dense in process order.
  int64_t deviceCount() const { return static_cast<int64_t>(localDeviceIds.size()); }
};

/// All processes, indexed by process id.
struct Topology {
  std::vector<ProcessInfo> processes;
  int64_t deviceCount() const {
    return processes.empty() ? 0 : processes.back().firstDevice + processes.back().deviceCount();
  }
};

struct JoinOptions {
  /// Process 0, as `host:port` or `[ipv6]:port`. It may be empty if numProcesses is 1; then nothing is opened.
  std::string address;
  /// Process 0 only: the address to listen at, with or without a port. Default: the interface of `address`.
  std::string bindAddress;
  int32_t numProcesses = 1;
  int32_t processId = 0;
  std::chrono::milliseconds initializationTimeout{300'000}; ///< One time limit for all of join.
  std::chrono::milliseconds heartbeatTimeout{10'000};
  std::chrono::milliseconds collectiveTimeout{300'000}; ///< 0: no limit.
  /// Processes with different job ids do not join, so that jobs do not mix that meet at one address.
  std::string jobId;
  /// Identifies this machine (Environment::hostId): processes with different host ids share no memory. Empty:
  /// machineId().
  std::string hostId;
  /// The secret that all processes know (findToken). Empty: only processes of this user on this machine join, over
  /// loopback.
  std::string token;
  /// The reason why there is no token, for messages.
  std::string whyNoToken;
  /// Encrypts all connections of the job; null: none.
  std::shared_ptr<const TlsIdentity> tls;
  /// The token that observers of the job (`spmdc status`) must know; empty: `token`.
  std::string statusToken;
  /// `cpu` or `cuda`; the same on all processes.
  std::string backend = "cpu";
  /// From Environment::sharesGpus.
  bool sharesGpus = false;
  /// NCCL also connects devices that share a GPU.
  bool forcesNccl = false;
  /// One entry per local device: its number on this machine.
  std::vector<int32_t> localDeviceIds = {0};
  /// All processes compare these, in this order. A difference ends the job with a verdict that names both sides.
  std::vector<JoinColumn> columns;
  /// A digest of everything that the columns do not say in words; compared after them. May be empty.
  std::string programDigest;
  /// Returns items that explain a difference of programDigest; the verdict names the first item that differs. Called on
  /// the background thread, during join, only if digests differ. May be empty. At most six items are used, and 1 MiB of
  /// each.
  std::function<std::vector<JoinColumn>()> programDetails;
  /// The reason why this process cannot take part; empty: it can. For Client::tellFailure.
  std::string failure;
  /// A listening socket that process 0 inherits (Environment::coordinatorFd) and uses instead of binding `address`.
  /// Ignored, and not touched, unless it listens on the port of `address`.
  std::optional<int> listenFd;
  /// The launcher's socket (Environment::launcherFd). Ignored if it is not a socket of our launcher.
  std::optional<int> launcherFd;
  /// Returns the statistics of this process. Called at each heartbeat on the background thread. May be empty.
  std::function<ProcessStatistics()> statistics;
  /// Called on the notification thread, so it may wait for a slow reader: progress of the roll call every 5 s, refused
  /// connections, stuck processes. Must not throw. The client's destructor waits until all notifications are passed on.
  std::function<void(const Notice &)> notice;
  /// Called with the client while join waits, so that another thread can report an interruption; called with null
  /// before that client is destroyed, if join fails. May be empty. Not called if numProcesses is 1.
  std::function<void(Client *)> joining;
  /// Called on a thread of its own if the client still exists some time after the verdict: the program has not returned
  /// to the client to learn of it, and perhaps never will. May be empty.
  std::function<void(const Topology &, const Verdict &)> unheeded;
};

/// The two ends of this process's connection to the coordinator, as numeric addresses: other processes reach these
/// machines there. Also the token that both sides have proven to know: JoinOptions::token or, without one, the token of
/// this user's job.
struct ConnectionEnds {
  std::string own, coordinator, token;
};

/// A process's membership in a job. Thread-safe. If a client is destroyed without goodbye() while the job runs, this
/// counts as a failure of this process: all others get a verdict.
class Client : public Store, public Health {
public:
  /// Joins a job; returns when all processes have joined and agree. Processes may start in any order. Throws
  /// spmd::Error: usage (bad address, id out of range; before any socket is opened), failed (port taken, wrong token,
  /// no coordinator found before the deadline), or the job's verdict.
  static std::unique_ptr<Client> join(JoinOptions options);

  /// For a process that cannot take part and has already reported why: the other processes get this as the job's
  /// verdict, and do not wait until their initialization timeout. Takes at most 10 s, or the time for which the
  /// coordinator makes it wait. Throws nothing: if it fails, no process is there to be told.
  static void tellFailure(JoinOptions options, const std::string &why);

  virtual int32_t getProcessId() const = 0;
  virtual const Topology &topology() const = 0;

  /// Returns empty strings if the job needs no connection.
  virtual ConnectionEnds coordinatorConnection() const { return {}; }

  /// Waits until all processes have called barrier with this name. A name may be used again afterwards. At the time
  /// limit all waiting processes get an error that lists the absent ones.
  virtual void barrier(const std::string &name, std::chrono::milliseconds timeout) = 0;

  /// Leaves the job in order: waits until every process has called goodbye, so that no process loses data or the
  /// coordinator that it still needs. Throws the verdict if a process does not get there. May be called again.
  virtual void goodbye() = 0;

  /// `find` returns the calls in which other processes wait for this one (CollectiveBackend::findAwaitedCalls). It is
  /// called from time to time while the only thread of this process waits and no launch of it runs: if the thread waits
  /// for such a process, both wait in vain, and the job ends. An empty function ends the use of the previous one.
  virtual void setAwaitedCalls(std::function<std::vector<AwaitedCall>()> /*find*/) {}

  /// As reportFailure, for a failure that all processes have learned of and report alike. `culprit` is the process that
  /// met the cause, or -1 if it is no single process.
  virtual void reportSharedFailure(const std::string &message, int32_t culprit) = 0;
  /// Reports that this process was asked to end by this signal, which ends the job. Returns when all processes know, or
  /// after a second.
  virtual void reportInterruption(int signal) = 0;

  /// Returns the status of all processes, from their heartbeats, on process 0; of this process alone elsewhere.
  virtual JobStatus status() = 0;

  /// Returns the verdict, or nullopt while there is none; for reports.
  virtual std::optional<Verdict> verdict() const = 0;
};

} // namespace spmd
