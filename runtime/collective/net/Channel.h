//===- Channel.h - messages between two devices -----------------*- C++ -*-===//
//
// Each pair of devices that exchange data has a connection of its own. Both make the same calls in the same order, so
// messages arrive in the order in which they are expected: directly from the operand into the result, without queues or
// other threads, and the connection itself holds up a device that is ahead. Only the thread that runs the device's
// calls uses a channel (CallQueue.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/net/Stream.h"
#include "runtime/collective/net/Wire.h"

#include <deque>
#include <memory>

namespace spmd::net {

class Channel;

struct Outgoing {
  int64_t member = 0; ///< The receiver, a member of the group.
  Channel *channel = nullptr;
  MessageHeader header;
  const char *data = nullptr;
  size_t bytes = 0;
  size_t ready = 0; ///< Bytes of the data that may be sent already.
  size_t sent = 0;  ///< Bytes sent, with the header.
};

struct Incoming {
  int64_t member = 0; ///< The sender, a member of the group.
  Channel *channel = nullptr;
  MessageHeader header; ///< The received header.
  uint32_t phase = 0;
  char *data = nullptr;
  size_t bytes = 0;
  size_t received = 0; ///< Bytes received, with the header.
  /// Bytes of the data that have been received.
  size_t available() const { return received <= sizeof header ? 0 : received - sizeof header; }
};

class Channel {
public:
  /// `position`: mesh position of the device at the other end.
  Channel(int64_t position, std::unique_ptr<Stream> stream) : position(position), stream(std::move(stream)) {}

  void send(Outgoing &message) { outgoing.push_back(&message); }
  void receive(Incoming &message) { incoming.push_back(&message); }
  /// Sends and receives without blocking; returns whether any bytes moved. Calls `check` with each received header
  /// before it accepts the message's data.
  template <typename Check> bool progress(const Check &check) {
    bool moved = false;
    while (sendSome())
      moved = true;
    while (!incoming.empty() && receiveSome()) {
      moved = true;
      Incoming &message = *incoming.front();
      if (message.received == sizeof message.header)
        check(*this, message);
      if (message.received == sizeof message.header + message.bytes)
        incoming.pop_front();
    }
    return moved;
  }
  bool wantsToSend() const { return !outgoing.empty() && outgoing.front()->sent < limitOf(*outgoing.front()); }
  bool wantsToReceive() const { return !incoming.empty(); }
  bool isIdle() const { return outgoing.empty() && incoming.empty(); }
  void forget() {
    outgoing.clear();
    incoming.clear();
  }
  int64_t getPosition() const { return position; }
  const Stream &getStream() const { return *stream; }

private:
  static size_t limitOf(const Outgoing &message) { return sizeof message.header + message.ready; }
  bool sendSome();
  bool receiveSome();

  const int64_t position;
  std::unique_ptr<Stream> stream;
  std::deque<Outgoing *> outgoing;
  std::deque<Incoming *> incoming;
};

} // namespace spmd::net
