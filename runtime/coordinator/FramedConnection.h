//===- FramedConnection.h - records and frames over one TCP connection ---*- C++ -*-===//
//
// Used on the background thread only. Sockets are close-on-exec from the beginning: a program that a process starts
// must not keep its connection alive after its death.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Protocol.h"
#include "runtime/support/tls/Tls.h"

#include <asio.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spmd::coordinator {

class FramedConnection : public std::enable_shared_from_this<FramedConnection> {
public:
  struct Handlers {
    std::function<void(std::string_view)> record;
    /// Nothing more will be read; sending goes on.
    std::function<void(const std::string &why)> malformed;
    /// With TLS: the two sides do not trust one another. To be closed.
    std::function<void(const std::string &why)> refused;
    /// The last call.
    std::function<void(const std::string &why)> closed;
  };

  /// The first records have the given sizes; what follows are frames. `tls`: of this socket, or null.
  FramedConnection(asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> tls, std::vector<size_t> recordSizes,
                   Handlers handlers);

  void start();
  void send(std::string bytes);
  /// Sends what is queued, says so to the other side, and waits shortly for it to close too: closing with unread data
  /// would destroy what it has not read yet. What still comes in is dropped.
  void closeWhenSent();
  /// At once; no handler is called any more.
  void abandon();

private:
  void shake();
  void onTlsEnded(const TlsEnded &ended);
  void waitFor(asio::ip::tcp::socket::wait_type what, std::function<void()> then);
  void whenTlsIsReady(std::function<void()> then);
  void readNext();
  void readBytes(size_t size, std::function<void()> then);
  void readEncrypted(char *data, size_t size, std::function<void()> then);
  void writeEncrypted(size_t done);
  void onWritten();
  void readFrame();
  void drain();
  void write();
  void shutDownSending();
  void finish(const std::string &why);
  void handOver();

  asio::ip::tcp::socket socket;
  std::unique_ptr<TlsSession> tls;
  asio::steady_timer lingerTimer;
  std::vector<size_t> recordSizes;
  size_t nextRecord = 0;
  Handlers handlers;
  std::string input;
  std::deque<std::string> output;
  bool isOpen = false, writing = false, closing = false, deaf = false, finished = false;
};

/// A new TCP socket, close-on-exec, without delay.
asio::ip::tcp::socket openSocket(asio::io_context &io, const asio::ip::tcp &protocol);

} // namespace spmd::coordinator
