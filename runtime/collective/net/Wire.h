//===- Wire.h - what travels between hosts ----------------------*- C++ -*-===//
//
// After the handshake (runtime/coordinator/Handshake.h) a connection greets with what it is for, and then carries
// either messages of collectives (a header and its data) or questions and answers. All are of fixed size but a
// message's data, whose size both sides know before: nothing is allocated on the word of a peer. Little-endian.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/shm/ControlPage.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace spmd::net {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t wireMagic = 0x54454e53; // "SNET"

struct Greeting {
  enum Kind : uint32_t { Channel = 1, Questions = 2 };
  uint32_t magic = wireMagic;
  uint32_t kind = Channel;
  uint64_t communicator = 0;
  int64_t from = 0, to = 0; ///< Channel: mesh positions.
};

/// What the door says to who greets with a channel, when it has taken it: from then on it is the device's.
constexpr char channelTaken = 'T';

/// In front of the data of each message. What says which call it belongs to is compared before the data is accepted.
struct MessageHeader {
  uint32_t magic = wireMagic;
  uint32_t phase = 0; ///< A call may have several messages from one device to another, in this order.
  uint64_t sequence = 0, launch = 0, fingerprint = 0;
  uint64_t bytes = 0;
  char text[shm::textBytes] = {}; ///< The call in words.
};

/// How far has the device come that my message is to come from?
struct Question {
  uint32_t magic = wireMagic;
  uint32_t unused = 0;
  uint64_t communicator = 0;
  int64_t position = 0;
  uint64_t sequence = 0;
};

struct Answer {
  uint32_t magic = wireMagic;
  uint8_t isThere = 0;   ///< The process has this communicator.
  uint8_t isAborted = 0; ///< For the cause.
  uint8_t isKnown = 0;   ///< As in shm::PeerState, as are those that follow.
  uint8_t unused = 0;
  uint64_t announced = 0, launchesEnded = 0, fingerprint = 0, launch = 0;
  char text[shm::textBytes] = {};
  char cause[2048] = {};
};

template <typename Record> std::string bytesOf(const Record &record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  return std::string(reinterpret_cast<const char *>(&record), sizeof record);
}

/// False if the bytes are none of ours. `bytes` has at least sizeof(Record).
template <typename Record> bool decodeRecord(const char *bytes, Record &result) {
  static_assert(std::is_trivially_copyable_v<Record>);
  std::memcpy(&result, bytes, sizeof result);
  return result.magic == wireMagic;
}

/// Text of a peer, which need not end where it should.
template <size_t N> std::string textOf(const char (&text)[N]) { return std::string(text, strnlen(text, N)); }

template <size_t N> void putText(char (&target)[N], const std::string &text) {
  size_t length = std::min(text.size(), N - 1);
  // As in the control page: the place in the source stands at the end of the text.
  std::memcpy(target, text.data() + (text.size() - length), length);
  target[length] = 0;
}

} // namespace spmd::net
