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

/// A connected socket that never blocks. Each function throws StreamEnded when the connection is no more.
class Stream {
public:
  explicit Stream(UniqueFd fd);
  virtual ~Stream() = default;

  /// Bytes moved; 0: none at the moment.
  virtual size_t read(char *data, size_t bytes);
  virtual size_t write(const iovec *pieces, int count);
  /// True once both sides may send. To be called again when the socket is ready.
  virtual bool open() { return true; }

  int getFd() const { return fd.get(); }
  /// What poll has to wait for where the caller wants to read or to write.
  virtual short eventsFor(bool reading, bool writing) const;
  /// Waits for the socket: until it is ready, or `limit`.
  void wait(bool forReading, bool forWriting, std::chrono::milliseconds limit) const;

protected:
  UniqueFd fd;
};

struct StreamEnded {
  std::string why;
  bool isFinal = false; ///< Trying again will not help.
};

/// Called often while something waits; throws what should end the waiting.
using StopWaiting = std::function<void()>;

/// All of it, by the deadline. Throws StreamEnded, also at the deadline.
void readAll(Stream &stream, char *data, size_t bytes, Clock::time_point deadline, const StopWaiting &check);
void writeAll(Stream &stream, const std::string &bytes, Clock::time_point deadline, const StopWaiting &check);

/// A numeric address and a port, as the kernel wants them. Throws spmd::Error for what is no address.
struct SocketAddress {
  alignas(8) char storage[128] = {};
  unsigned length = 0;
  int family = 0;
  static SocketAddress make(const std::string &address, uint16_t port);
};

bool isLoopback(const std::string &address);

/// Throws StreamEnded where nobody answers.
UniqueFd connectSocket(const SocketAddress &address, Clock::time_point deadline, const StopWaiting &check);

} // namespace spmd::net
