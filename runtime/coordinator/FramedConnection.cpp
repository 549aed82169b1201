#include "runtime/coordinator/FramedConnection.h"

#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace spmd::coordinator {

constexpr std::chrono::milliseconds lingerTime{1000};
constexpr size_t readChunk = 65536; // Memory grows with what has arrived, not with what was announced.

asio::ip::tcp::socket openSocket(asio::io_context &io, const asio::ip::tcp &protocol) {
  int fd = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, protocol.protocol());
  if (fd < 0)
    throw asio::system_error(asio::error_code(errno, asio::system_category()));
  asio::ip::tcp::socket socket(io);
  asio::error_code error;
  socket.assign(protocol, fd, error);
  if (error) {
    ::close(fd);
    throw asio::system_error(error);
  }
  return socket;
}

FramedConnection::FramedConnection(asio::ip::tcp::socket given, std::vector<size_t> recordSizes, Handlers handlers)
    : socket(std::move(given)), lingerTimer(socket.get_executor()), recordSizes(std::move(recordSizes)),
      handlers(std::move(handlers)) {
  asio::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void FramedConnection::start() { readNext(); }

void FramedConnection::readNext() {
  if (finished)
    return;
  if (closing)
    return drain();
  input.clear();
  if (nextRecord != recordSizes.size())
    return readBytes(recordSizes[nextRecord++], [this] { handOver(); });
  readBytes(frameHeaderBytes, [this] { readFrame(); });
}

void FramedConnection::readFrame() {
  size_t size = 0;
  try {
    size = decodeHeader(input);
  } catch (const ProtocolError &error) {
    handlers.malformed(error.what());
    deaf = true; // There is no way back into step.
    return drain();
  }
  input.clear();
  readBytes(size, [this] { handOver(); });
}

void FramedConnection::handOver() {
  handlers.record(input);
  readNext();
}

/// Appends `size` bytes to the input, then calls.
void FramedConnection::readBytes(size_t size, std::function<void()> then) {
  if (size == 0)
    return then();
  size_t chunk = std::min(size, readChunk), old = input.size();
  input.resize(old + chunk);
  asio::async_read(socket, asio::buffer(input.data() + old, chunk),
                   [this, self = shared_from_this(), rest = size - chunk,
                    then = std::move(then)](const asio::error_code &error, size_t) mutable {
                     if (finished)
                       return;
                     if (error)
                       return finish(error.message());
                     if (closing || deaf)
                       return drain();
                     readBytes(rest, std::move(then));
                   });
}

void FramedConnection::drain() {
  if (finished)
    return;
  input.resize(4096);
  socket.async_read_some(asio::buffer(input), [this, self = shared_from_this()](const asio::error_code &error, size_t) {
    if (finished)
      return;
    if (error)
      return finish(error.message());
    drain();
  });
}

void FramedConnection::send(std::string bytes) {
  if (finished || closing)
    return;
  output.push_back(std::move(bytes));
  if (!writing)
    write();
}

void FramedConnection::write() {
  writing = true;
  asio::async_write(socket, asio::buffer(output.front()),
                    [this, self = shared_from_this()](const asio::error_code &error, size_t) {
                      writing = false;
                      if (finished)
                        return;
                      output.pop_front();
                      // The reading side reports the broken connection, after what is still to be read.
                      if (error)
                        output.clear();
                      if (!output.empty())
                        return write();
                      if (closing)
                        shutDownSending();
                    });
}

void FramedConnection::closeWhenSent() {
  if (finished || closing)
    return;
  closing = true;
  lingerTimer.expires_after(lingerTime);
  lingerTimer.async_wait([this, self = shared_from_this()](const asio::error_code &error) {
    if (!error && !finished)
      finish("closed");
  });
  if (!writing)
    shutDownSending();
}

void FramedConnection::shutDownSending() {
  asio::error_code ignored;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void FramedConnection::finish(const std::string &why) {
  finished = true;
  asio::error_code ignored;
  lingerTimer.cancel();
  socket.close(ignored);
  if (handlers.closed)
    handlers.closed(why);
  // The handlers may hold what holds this connection, and one of them may be running now.
  asio::post(socket.get_executor(), [last = std::exchange(handlers, {})] {});
}

void FramedConnection::abandon() {
  if (finished)
    return;
  handlers.closed = nullptr;
  finish("");
}

} // namespace spmd::coordinator
