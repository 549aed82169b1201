//===- Wire.h - message formats between hosts -------------------*- C++ -*-===//
//
// After the handshake (runtime/coordinator/Handshake.h) a connection sends a greeting that names its purpose. Then it
// carries either messages of collectives (a header and its data) or questions and answers. All have fixed sizes except
// a message's data, whose size both sides know before: a peer cannot cause an allocation. Little-endian.
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
  int64_t from = 0, to = 0; ///< Channel: mesh positions of sender and receiver.
};

/// The listener's answer to the greeting of a channel, when it has accepted it: from then on the channel belongs to the
/// device.
constexpr char channelTaken = 'T';

/// Precedes the data of each message. The fields that identify the call are compared before the data is accepted.
struct MessageHeader {
  uint32_t magic = wireMagic;
  uint32_t phase = 0; ///< Orders the messages of one call from one device to another.
  uint64_t sequence = 0, launch = 0, fingerprint = 0;
  uint64_t bytes = 0;
  char text[shm::textBytes] = {}; ///< Description of the call.
};

/// Asks for the progress of the device whose message the sender waits for.
struct Question {
  uint32_t magic = wireMagic;
  int32_t process = 0; ///< The sender.
  uint64_t communicator = 0;
  int64_t position = 0;
  uint64_t sequence = 0;
  char text[shm::textBytes] = {}; ///< Description of the call in which the sender waits.
};

struct Answer {
  uint32_t magic = wireMagic;
  uint8_t isThere = 0;   ///< The process has this communicator.
  uint8_t isAborted = 0; ///< The communicator was aborted; `cause` says why.
  uint8_t isKnown = 0;   ///< As in shm::PeerState, like the following fields.
  uint8_t unused = 0;
  uint64_t announced = 0, launchesEnded = 0, fingerprint = 0, launch = 0;
  char text[shm::textBytes] = {};
  char cause[2048] = {};
};

template <typename Record> std::string bytesOf(const Record &record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  return std::string(reinterpret_cast<const char *>(&record), sizeof record);
}

/// Returns false if the bytes are not such a record. `bytes` has at least sizeof(Record).
template <typename Record> bool decodeRecord(const char *bytes, Record &result) {
  static_assert(std::is_trivially_copyable_v<Record>);
  std::memcpy(&result, bytes, sizeof result);
  return result.magic == wireMagic;
}

/// Text of a peer, which need not be terminated.
template <size_t N> std::string textOf(const char (&text)[N]) { return std::string(text, strnlen(text, N)); }

template <size_t N> void putText(char (&target)[N], const std::string &text) {
  size_t length = std::min(text.size(), N - 1);
  // As in the control page, long texts keep their end, which is the source location.
  std::memcpy(target, text.data() + (text.size() - length), length);
  target[length] = 0;
}

} // namespace spmd::net
