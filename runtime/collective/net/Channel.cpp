//===- Channel.cpp - messages between two devices -------------------------===//

#include "runtime/collective/net/Channel.h"

namespace spmd::net {

bool Channel::sendSome() {
  if (!wantsToSend())
    return false;
  Outgoing &message = *outgoing.front();
  constexpr size_t headerBytes = sizeof message.header;
  iovec pieces[2];
  int count = 0;
  if (message.sent < headerBytes)
    pieces[count++] = {reinterpret_cast<char *>(&message.header) + message.sent, headerBytes - message.sent};
  size_t from = message.sent < headerBytes ? 0 : message.sent - headerBytes;
  if (from < message.ready)
    pieces[count++] = {const_cast<char *>(message.data) + from, message.ready - from};
  size_t n = stream->write(pieces, count);
  message.sent += n;
  if (message.sent == headerBytes + message.bytes)
    outgoing.pop_front();
  return n > 0;
}

bool Channel::receiveSome() {
  Incoming &message = *incoming.front();
  constexpr size_t headerBytes = sizeof message.header;
  size_t n = 0;
  if (message.received < headerBytes)
    n = stream->read(reinterpret_cast<char *>(&message.header) + message.received, headerBytes - message.received);
  else
    n = stream->read(message.data + (message.received - headerBytes), headerBytes + message.bytes - message.received);
  message.received += n;
  return n > 0;
}

} // namespace spmd::net
