//===- PeerLink.h - memory segments of a host's processes -------*- C++ -*-===//
//
// Passes memory segments between the processes of a host. A process serves its segments on a Unix socket with an
// abstract name (not in the file system; it disappears with the process), and publishes the name in the job's store.
// Peers of another user are refused by the credentials that the kernel reports. At first contact both sides prove that
// they see the same memory: each writes a nonce that the other reads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/collective/AcceptPause.h"
#include "runtime/device/cpu/Segment.h"
#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Process.h"
#include "runtime/support/Store.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace spmd::shm {

enum class SegmentKind : uint32_t { Proof, Device, Control };

/// The segment that a peer requests: (Device, device id, segment number) or (Control, key, 0).
struct SegmentName {
  SegmentKind kind = SegmentKind::Device;
  uint64_t a = 0, b = 0;
};

/// Serves this process's segments.
class SegmentServer {
public:
  /// `find` is called on the server's thread; it returns null if there is no such segment.
  using Find = std::function<std::shared_ptr<Segment>(const SegmentName &)>;
  /// Called on the server's thread when it cannot serve any more.
  using Fail = std::function<void(const std::string &why)>;

  SegmentServer(int32_t process, Store &store, Find find, Fail fail);
  ~SegmentServer();

private:
  void serve();
  int accept();
  bool answer(int connection);

  Find find;
  Fail fail;
  AcceptPause pause; ///< Only the server's thread uses it.
  std::shared_ptr<Segment> proof;
  UniqueFd listener, stopEvent;
  BackgroundThread thread;
};

/// Fetches segments of other processes. Thread-safe.
class SegmentClient {
public:
  SegmentClient(int32_t process, Store &store, Health *health) : process(process), store(store), health(health) {}
  ~SegmentClient();

  /// Throws spmd::Error, or the verdict when the job is over.
  std::shared_ptr<Segment> fetch(int32_t peer, const SegmentName &name, bool writable,
                                 std::chrono::milliseconds timeout);

private:
  struct Connection {
    std::mutex mutex;
    int fd = -1;
  };
  Connection &connectionTo(int32_t peer);
  void connect(Connection &connection, int32_t peer, std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void fail(int32_t peer, const std::string &what);

  const int32_t process;
  Store &store;
  Health *health;
  std::mutex mutex;
  std::map<int32_t, std::unique_ptr<Connection>> connections;
};

/// The store's key for the socket of a process.
std::string socketKey(int32_t process);

} // namespace spmd::shm
