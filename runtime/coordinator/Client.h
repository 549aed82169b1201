//===- Client.h - a process's membership in a job ---------------*- C++ -*-===//
//
// Joining a job, knowing who else is in it, telling and learning of failures, and leaving in order. One background
// thread keeps the connection to the coordinator; in process 0 it serves the coordinator too. See docs/coordinator.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/coordinator/Verdict.h"
#include "runtime/coordinator/Vitals.h"
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

/// Something that must be the same on all processes: an option, the mesh, the program's text. Where a value of several
/// lines differs, the message names the first line that does.
struct JoinColumn {
  std::string name;
  std::string value;
};

/// Something worth a line on stderr or in a log.
struct Notice {
  enum class Level : uint8_t { Info, Warning };
  Level level = Level::Info;
  std::string text;
};

/// One process of the job.
struct ProcessInfo {
  int32_t index = 0;
  std::string host;    ///< For messages.
  std::string bootId;  ///< machineId(), or what was given in its place.
  std::string address; ///< As seen on its connection to the coordinator: `10.0.0.7`.
  int64_t pid = 0;
  std::vector<int32_t> localDeviceIds;
  int64_t firstDevice = 0; ///< Global id of its first device; ids are dense in process order.
  int64_t deviceCount() const { return static_cast<int64_t>(localDeviceIds.size()); }
};

/// All processes, by index.
struct Topology {
  std::vector<ProcessInfo> processes;
  int64_t deviceCount() const {
    return processes.empty() ? 0 : processes.back().firstDevice + processes.back().deviceCount();
  }
};

struct JoinOptions {
  /// `host:port` or `[ipv6]:port` of process 0. Where numProcesses is 1 it may be empty, and nothing is opened.
  std::string address;
  /// Process 0 only: where to listen, with or without a port. Default: the interface of `address`.
  std::string bindAddress;
  int32_t numProcesses = 1;
  int32_t processId = 0;
  std::chrono::milliseconds initializationTimeout{300'000}; ///< One limit for all of join, end to end.
  std::chrono::milliseconds heartbeatTimeout{10'000};
  std::chrono::milliseconds collectiveTimeout{300'000}; ///< 0: never.
  /// Keeps jobs on one address apart.
  std::string jobId;
  /// What stands for this machine, from Environment::hostId: processes of different ones share no memory. Empty: found.
  std::string hostId;
  /// From findToken. Empty: only processes of this user on this machine join, over loopback.
  std::string token;
  /// Why there is no token, for messages.
  std::string whyNoToken;
  /// Encrypts all connections of the job; null: none.
  std::shared_ptr<const TlsIdentity> tls;
  /// What observers of the job prove to know; empty: `token`.
  std::string statusToken;
  /// `cpu` or `cuda`; the same on all processes.
  std::string backend = "cpu";
  /// From Environment::sharesGpus.
  bool sharesGpus = false;
  /// NCCL connects also devices on one GPU.
  bool forcesNccl = false;
  /// One entry per local device: its number on this machine.
  std::vector<int32_t> localDeviceIds = {0};
  /// Compared among all processes, in this order; a difference ends the job with a verdict that names both sides.
  std::vector<JoinColumn> columns;
  /// Compared after the columns: what they cannot say in words. May be empty.
  std::string programDigest;
  /// What explains a difference of programDigest: the first item that differs is named. Asked for on the background
  /// thread, during join, and only where digests differ; may be empty. At most six items, of which 1 MiB each counts.
  std::function<std::vector<JoinColumn>()> programDetails;
  /// Why this process cannot take part; empty: it can. For Client::tellFailure.
  std::string failure;
  /// From Environment::coordinatorFd: process 0 listens there instead of binding `address`. Ignored (and not touched)
  /// when it is not a listening socket on the port of `address`.
  std::optional<int> listenFd;
  /// From Environment::launcherFd. Ignored when it is not what our launcher makes.
  std::optional<int> launcherFd;
  /// What this process has counted, asked for at each heartbeat on the background thread. May be empty.
  std::function<Vitals()> vitals;
  /// Called on a thread of its own, which may wait for who reads: progress of the roll call every 5 s, strays refused,
  /// stuck processes. Must not throw. The client's destructor waits until all is told.
  std::function<void(const Notice &)> notice;
  /// Called with the client while join waits, so that another thread can report an interruption, and with null before
  /// it goes where join fails. May be empty; it is not called where numProcesses is 1.
  std::function<void(Client *)> joining;
  /// Called on a thread of its own when the job has had a verdict for a while and the client is still there: whatever
  /// the program does, it has not come back to learn of it, and perhaps never will. May be empty.
  std::function<void(const Topology &, const Verdict &)> unheeded;
};

/// The two ends of this process's connection to the coordinator, as numeric addresses: how others reach it. And the
/// token that both have proven to know: JoinOptions::token, or, without one, that of this user's job.
struct ConnectionEnds {
  std::string own, coordinator, token;
};

/// A process's membership in a job. Thread-safe. Destroying a client without goodbye() while the job runs is an
/// abnormal end of this process: all others get a verdict.
class Client : public Store, public Health {
public:
  /// Returns when all processes have come and agree. Processes may start in any order. Throws spmd::Error: usage (bad
  /// address, id out of range; before any socket is opened), failed (port taken, wrong token, nobody there by the
  /// deadline), or the job's verdict.
  static std::unique_ptr<Client> join(JoinOptions options);

  /// For a process that cannot take part, and has said why: the others learn it as the job's verdict, and need not wait
  /// until their time to join is over. Takes 10 s at most, or as long as the others' coordinator lets it wait; throws
  /// nothing, as there is nobody to tell where it fails.
  static void tellFailure(JoinOptions options, const std::string &why);

  virtual int32_t getProcessId() const = 0;
  virtual const Topology &topology() const = 0;

  /// Empty where no connection was needed.
  virtual ConnectionEnds coordinatorConnection() const { return {}; }

  /// As wait, for a thread that works beside the program: where the process is stays what the program does.
  virtual std::string waitInBackground(const std::string &key, std::chrono::milliseconds timeout) {
    return wait(key, timeout);
  }

  /// Waits until all processes have called it with this name. A name may be used again afterwards. At the time limit
  /// all waiting processes get an error that lists exactly those absent.
  virtual void barrier(const std::string &name, std::chrono::milliseconds timeout) = 0;

  /// The ordered end: waits until every process has said goodbye, so that nobody's data or coordinator goes away under
  /// another. Throws the verdict if one does not get there. May be called again.
  virtual void goodbye() = 0;

  /// As reportFailure, of what all processes have learned and report alike: `culprit` is who met the cause, or -1 where
  /// that is no single process.
  virtual void reportSharedFailure(const std::string &message, int32_t culprit) = 0;
  /// This process was asked to end, by this signal: the job ends with that. Returns when all know, or after a second.
  virtual void reportInterruption(int signal) = 0;

  /// On process 0: of all processes, as their heartbeats have told. Elsewhere: of this process alone.
  virtual JobStatus status() = 0;

  /// The verdict, once there is one; for reports.
  virtual std::optional<Verdict> verdict() const = 0;
};

} // namespace spmd
