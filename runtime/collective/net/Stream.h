//===- Stream.h - bytes over one connection ---------------------*- C++ -*-===//
#pragma once

#include "runtime/support/Process.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <sys/uio.h>

namespace spmd::net {

using Clock = std::chrono::steady_clock;

/// A connected, non-blocking socket. Each function throws StreamEnded when the connection is closed.
class Stream {
public:
  explicit Stream(UniqueFd fd);
  virtual ~Stream() = default;

  /// Returns the number of bytes moved; 0: none at the moment.
  virtual size_t read(char *data, size_t bytes);
  virtual size_t write(const iovec *pieces, int count);
  /// Advances the handshake; returns true once both sides may send. Call it again when the socket is ready.
  virtual bool open() { return true; }

  int getFd() const { return fd.get(); }
  /// Returns the events for which poll has to wait if the caller wants to read or to write.
  virtual short eventsFor(bool reading, bool writing) const;
  /// Waits until the socket is ready, or until `limit`.
  void wait(bool forReading, bool forWriting, std::chrono::milliseconds limit) const;

protected:
  UniqueFd fd;
};

struct StreamEnded {
  std::string why;
  bool isFinal = false; ///< Another attempt cannot succeed.
};

/// Called often during a wait; throws if the wait should end.
using StopWaiting = std::function<void()>;

/// Reads all bytes by the deadline. Throws StreamEnded, also at the deadline.
void readAll(Stream &stream, char *data, size_t bytes, Clock::time_point deadline, const StopWaiting &check);
void writeAll(Stream &stream, const std::string &bytes, Clock::time_point deadline, const StopWaiting &check);

/// A numeric address and a port, in the kernel's format. Throws spmd::Error for other text.
struct SocketAddress {
  alignas(8) char storage[128] = {};
  unsigned length = 0;
  int family = 0;
  static SocketAddress make(const std::string &address, uint16_t port);
};

bool isLoopback(const std::string &address);

/// Throws StreamEnded if no process answers.
UniqueFd connectSocket(const SocketAddress &address, Clock::time_point deadline, const StopWaiting &check);

} // namespace spmd::net
