#include "runtime/coordinator/FramedConnection.h"

#include "runtime/coordinator/Handshake.h"

#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace spmd::coordinator {

/// How long a connection that closes waits for the other side to read more, or to close too. The queue has no limit of
/// its own: after the goodbyes of n processes, n^2 messages are under way.
constexpr std::chrono::milliseconds lingerTime{1000};
// Reads in steps, so that memory grows with what has arrived, not with the announced size.
constexpr size_t readChunk = 65536;
/// Bytes of a write. Many small messages are one: a system call takes as long as copying some thousand bytes.
constexpr size_t writeChunk = 65536;

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

FramedConnection::FramedConnection(asio::ip::tcp::socket given, std::unique_ptr<TlsSession> tls,
                                   std::vector<size_t> recordSizes, Handlers handlers)
    : socket(std::move(given)), tls(std::move(tls)), lingerTimer(socket.get_executor()),
      recordSizes(std::move(recordSizes)), handlers(std::move(handlers)) {
  asio::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void FramedConnection::start() {
  auto self = shared_from_this(); // A handler may release its reference to this connection.
  continueHandshake();
}

//===----------------------------------------------------------------------===//
// TLS
//===----------------------------------------------------------------------===//

void FramedConnection::continueHandshake() {
  try {
    if (tls && !tls->handshake())
      return whenTlsIsReady([this] { continueHandshake(); });
  } catch (const TlsEnded &ended) {
    return onTlsEnded(ended);
  }
  isOpen = true;
  if (!output.empty())
    write();
  readNext();
}

void FramedConnection::onTlsEnded(const TlsEnded &ended) {
  // Answers a peer without TLS in clear text, so that it learns the reason. The answer means nothing to other programs.
  if (ended.isPlain) {
    tls.reset();
    isOpen = true;
    output.assign(1, tlsMismatch());
    write();
  }
  if (ended.isFinal)
    handlers.refused(ended.why);
  if (finished)
    return;
  // closeWhenSent: the other side reads the reason before the connection ends.
  if (closing)
    return drain();
  finish(ended.why);
}

void FramedConnection::waitFor(asio::ip::tcp::socket::wait_type what, std::function<void()> then) {
  socket.async_wait(what, [this, self = shared_from_this(), then = std::move(then)](const asio::error_code &error) {
    if (finished)
      return;
    if (error)
      return finish(error.message());
    then();
  });
}

/// Continues with reading or the TLS handshake unless the connection ends.
void FramedConnection::whenTlsIsReady(std::function<void()> then) {
  waitFor(tls->waitsToWrite() ? asio::ip::tcp::socket::wait_write : asio::ip::tcp::socket::wait_read,
          [this, then = std::move(then)] { closing || hasLostFrames ? drain() : then(); });
}

void FramedConnection::readEncrypted(char *data, size_t size, std::function<void()> then) {
  try {
    while (size != 0) {
      size_t count = tls->read(data, size);
      if (count == 0)
        return whenTlsIsReady([this, data, size, then = std::move(then)] { readEncrypted(data, size, then); });
      data += count;
      size -= count;
    }
  } catch (const TlsEnded &ended) {
    return onTlsEnded(ended);
  }
  // One decrypted record may hold thousands of frames, and each handler may ask for the next: post avoids deep
  // recursion.
  asio::post(socket.get_executor(), [this, self = shared_from_this(), then = std::move(then)] {
    if (!finished)
      closing || hasLostFrames ? drain() : then();
  });
}

void FramedConnection::writeEncrypted(size_t done) {
  const std::string &bytes = output.front();
  try {
    while (done != bytes.size()) {
      iovec piece{const_cast<char *>(bytes.data()) + done, bytes.size() - done};
      size_t count = tls->write(&piece, 1);
      if (count == 0)
        return waitFor(asio::ip::tcp::socket::wait_write, [this, done] { writeEncrypted(done); });
      done += count;
      if (closing)
        linger();
    }
  } catch (const TlsEnded &) {
    // The reading side reports the broken connection after it has read what arrived before.
    writing = false;
    output.clear();
    return;
  }
  onWritten();
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

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
    hasLostFrames = true; // The stream lost its frames and cannot find them again.
    return drain();
  }
  input.clear();
  readBytes(size, [this] { handOver(); });
}

void FramedConnection::handOver() {
  handlers.record(input);
  readNext();
}

/// Appends `size` bytes to the input, then calls `then`.
void FramedConnection::readBytes(size_t size, std::function<void()> then) {
  if (size == 0)
    return then();
  size_t chunk = std::min(size, readChunk), old = input.size();
  input.resize(old + chunk);
  if (tls)
    return readEncrypted(input.data() + old, chunk, [this, rest = size - chunk, then = std::move(then)]() mutable {
      readBytes(rest, std::move(then));
    });
  asio::async_read(socket, asio::buffer(input.data() + old, chunk),
                   [this, self = shared_from_this(), rest = size - chunk,
                    then = std::move(then)](const asio::error_code &error, size_t) mutable {
                     if (finished)
                       return;
                     if (error)
                       return finish(error.message());
                     if (closing || hasLostFrames)
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
  if (isOpen && !writing)
    write();
}

void FramedConnection::write() {
  writing = true;
  std::string bytes;
  do {
    bytes += output.front();
    output.pop_front();
  } while (!output.empty() && bytes.size() + output.front().size() <= writeChunk);
  output.push_front(std::move(bytes));
  if (tls)
    return writeEncrypted(0);
  auto partDone = [this](const asio::error_code &error, size_t) {
    if (closing && !finished)
      linger();
    return error ? size_t(0) : writeChunk;
  };
  asio::async_write(socket, asio::buffer(output.front()), partDone,
                    [this, self = shared_from_this()](const asio::error_code &error, size_t) {
                      if (finished)
                        return;
                      // The reading side reports the broken connection after it has read what arrived before.
                      if (error)
                        output.resize(1);
                      onWritten();
                    });
}

void FramedConnection::onWritten() {
  writing = false;
  output.pop_front();
  if (!output.empty())
    return write();
  if (closing)
    shutDownSending();
}

void FramedConnection::closeWhenSent() {
  if (finished || closing)
    return;
  closing = true;
  linger();
  if (!writing)
    shutDownSending();
}

void FramedConnection::linger() {
  lingerTimer.expires_after(lingerTime);
  lingerTimer.async_wait([this, self = shared_from_this()](const asio::error_code &error) {
    if (!error && !finished)
      finish("closed");
  });
}

void FramedConnection::shutDownSending() {
  if (tls)
    tls->close();
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
  // The handlers may own this connection's owner, and one of them may be running now.
  asio::post(socket.get_executor(), [last = std::exchange(handlers, {})] {});
}

void FramedConnection::abandon() {
  if (finished)
    return;
  handlers.closed = nullptr;
  finish("");
}

} // namespace spmd::coordinator
