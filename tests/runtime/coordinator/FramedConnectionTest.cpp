// The end of a connection: what is queued arrives, however slowly the other side reads, unless it stands still.

#include "runtime/coordinator/FramedConnection.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace spmd::coordinator;
using namespace spmd::test;
using namespace std::chrono_literals;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

/// A connection of two sockets with small buffers, of which a FramedConnection has one.
struct ClosingConnection {
  ClosingConnection() {
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    acceptor.set_option(asio::socket_base::receive_buffer_size(16384)); // Before the connection: its window.
    tcp::socket own(io);
    own.open(tcp::v4());
    own.set_option(asio::socket_base::send_buffer_size(16384));
    own.connect(acceptor.local_endpoint());
    acceptor.accept(other);
    FramedConnection::Handlers handlers;
    handlers.record = [](std::string_view) {};
    handlers.closed = [this](const std::string &) { closedAt = Clock::now(); };
    connection = std::make_shared<FramedConnection>(std::move(own), nullptr, std::vector<size_t>(), handlers);
    connection->start();
  }

  /// Queues these messages, small and large ones by turns, and closes; returns all bytes.
  std::string sendAndClose(int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      std::string message(i % 3 == 2 ? 200'000 : i % 50 + 1, static_cast<char>('a' + i % 26));
      all += message;
      connection->send(std::move(message));
    }
    connection->closeWhenSent();
    return all;
  }

  asio::io_context io;
  tcp::socket other{io};
  std::shared_ptr<FramedConnection> connection;
  Clock::time_point closedAt;
};

/// The messages that a slow reader gets, and the longest time between two of its reads.
struct SlowRead {
  std::string expected, received;
  asio::error_code end;
  Clock::duration longestGap{};
};

SlowRead readSlowly() {
  ClosingConnection closing;
  SlowRead result;
  result.expected = closing.sendAndClose(48);
  std::thread sender([&] { closing.io.run(); });
  for (Clock::time_point last = Clock::now(); !result.end;) {
    std::this_thread::sleep_for(10ms);
    std::string part(16384, ' ');
    part.resize(closing.other.read_some(asio::buffer(part), result.end));
    result.received += part;
    result.longestGap = std::max(result.longestGap, Clock::now() - last);
    last = Clock::now();
  }
  closing.other.close();
  sender.join();
  return result;
}

TEST(ClosingConnections, SendAllToASlowReader) {
  // A machine that stands still looks like a reader that does, for which the connection may close: then once more.
  constexpr int mostRuns = 20;
  for (int run = 0; run < mostRuns; ++run) {
    SlowRead read = readSlowly();
    bool isAll = read.end == asio::error::eof && read.received == read.expected;
    if (!isAll && read.longestGap > 500ms)
      continue;
    EXPECT_EQ(read.end, asio::error::eof);
    EXPECT_EQ(read.received.size(), read.expected.size());
    EXPECT_TRUE(read.received == read.expected);
    return;
  }
  FAIL() << "the machine stood still in each of " << mostRuns << " runs";
}

TEST(ClosingConnections, GiveUpAReaderThatStandsStill) {
  ClosingConnection closing;
  closing.sendAndClose(48);
  Clock::time_point begin = Clock::now();
  closing.io.run(); // Until nothing is left to do.
  EXPECT_GE(closing.closedAt - begin, 900ms);
  EXPECT_LT(closing.closedAt - begin, timeLimit(5s));
}

} // namespace
