//===- Channel.h - messages between two devices -----------------*- C++ -*-===//
//
// A connection of its own for each pair of devices that exchange data. Both make the same calls in the same order, so
// messages come in the order in which they are expected: straight from the operand into the result, no queues, no
// thread in between, and a device that is ahead is held up by the connection itself. Used by who runs the device's
// calls (CallQueue.h).
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
  int64_t member = 0; ///< Of the group: to whom.
  Channel *channel = nullptr;
  MessageHeader header;
  const char *data = nullptr;
  size_t bytes = 0;
  size_t ready = 0; ///< Bytes of the data that may be sent already.
  size_t sent = 0;  ///< With the header.
};

struct Incoming {
  int64_t member = 0; ///< From whom.
  Channel *channel = nullptr;
  MessageHeader header; ///< What came.
  uint32_t phase = 0;
  char *data = nullptr;
  size_t bytes = 0;
  size_t received = 0; ///< With the header.
  /// Bytes of the data that are there.
  size_t available() const { return received <= sizeof header ? 0 : received - sizeof header; }
};

class Channel {
public:
  /// `position`: the device at the other end.
  Channel(int64_t position, std::unique_ptr<Stream> stream) : position(position), stream(std::move(stream)) {}

  void send(Outgoing &message) { outgoing.push_back(&message); }
  void receive(Incoming &message) { incoming.push_back(&message); }
  /// Moves what can be moved; true if something was. `check` is called with each header that has come, before its data
  /// is accepted.
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
