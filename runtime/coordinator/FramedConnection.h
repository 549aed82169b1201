//===- FramedConnection.h - records and frames over one TCP connection ---*- C++ -*-===//
//
// Used on the background thread only. Sockets are close-on-exec from the beginning: a program that a process starts
// must not keep the connection open after the death of the process.
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
    /// The bytes are not a frame. Nothing more is read; sending goes on.
    std::function<void(const std::string &why)> malformed;
    /// With TLS: one side does not trust the other. The handler closes the connection.
    std::function<void(const std::string &why)> refused;
    /// The connection ended. No handler is called after this one.
    std::function<void(const std::string &why)> closed;
  };

  /// The first records have the given sizes; frames follow. `tls` is the session of this socket, or null.
  FramedConnection(asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> tls, std::vector<size_t> recordSizes,
                   Handlers handlers);

  void start();
  void send(std::string bytes);
  /// Sends what is queued, for as long as the other side goes on reading, tells it that this is the end, and waits
  /// shortly for it to close too: to close a socket with unread data would destroy data that the other side has not
  /// read. Drops what still arrives.
  void closeWhenSent();
  /// Closes at once; no handler is called any more.
  void abandon();

private:
  void continueHandshake();
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
  /// Gives the other side lingerTime from now on.
  void linger();
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
  bool isOpen = false, writing = false, closing = false, hasLostFrames = false, finished = false;
};

/// A new TCP socket, close-on-exec, without delay.
asio::ip::tcp::socket openSocket(asio::io_context &io, const asio::ip::tcp &protocol);

} // namespace spmd::coordinator
