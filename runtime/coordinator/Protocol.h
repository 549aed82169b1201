//===- Protocol.h - what travels between a process and the coordinator ---*- C++ -*-===//
//
// After the handshake (Handshake.h) both sides send frames: a 32-bit length, a byte that tells the kind, and the
// fields, all little-endian. The length is checked against maxFrameBytes before anything is allocated, and every
// string and list has its own limit. Decoding never trusts a count: it fails with ProtocolError.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/Verdict.h"
#include "runtime/coordinator/Vitals.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spmd::coordinator {

constexpr size_t frameHeaderBytes = 4;
constexpr size_t maxFrameBytes = size_t(8) << 20;
constexpr size_t maxColumnBytes = size_t(1) << 20; ///< Of all columns of one process together.
constexpr size_t maxDetailBytes = size_t(1) << 20; ///< Of one item of a program's details; longer ones are cut.
constexpr size_t maxDetails = 6;                   ///< So that all fit into a frame.
constexpr size_t maxKeyBytes = 1024;
constexpr size_t maxValueBytes = size_t(1) << 20;
constexpr size_t maxTextBytes = 16384; ///< Of a message to people; longer ones are cut.
constexpr int32_t maxProcesses = 16384;

/// The bytes are not what the protocol says.
class ProtocolError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Who a process is and how it was started.
struct Hello {
  int32_t processId = 0;
  int32_t numProcesses = 1;
  uint64_t incarnation = 0; ///< Random: tells two processes with one id apart.
  int64_t pid = 0;
  std::string host, bootId, jobId, build, backend;
  std::vector<int32_t> localDeviceIds;
  std::vector<JoinColumn> columns;
  std::string programDigest;
  int64_t remainingMs = 0; ///< Of its initialization timeout.
  std::string failure;     ///< Why it cannot take part, of which the others are to be told; empty: it can.
};

/// The hello is accepted; the roll call goes on. Says who serves, should it get lost.
struct Welcome {
  std::string host;
  int64_t pid = 0;
};

/// The newcomer may not join; the job is not affected.
struct Reject {
  std::string text;
};

/// All have come and agree.
struct TopologyMessage {
  Topology topology;
};

/// To the coordinator: where the sender is. From it: where process 0 is.
struct Heartbeat {
  Position position;
};

/// The end of the job. From a member only: process 0 has hung, and its members have gone.
struct VerdictMessage {
  Verdict verdict;
};

/// The sender has failed, or knows who has: all processes that were told report the same then.
struct Fail {
  std::string text;
  Position position;
  std::optional<int32_t> culprit = {}; ///< Where it is not the sender; -1: nobody.
  int32_t signal = 0;                  ///< Not a failure: it was asked to end, by this.
};

/// Something to tell people.
struct NoticeMessage {
  Notice notice;
};

struct SetRequest {
  uint64_t request = 0;
  std::string key, value;
};

struct WaitRequest {
  uint64_t request = 0;
  std::string key;
  int64_t timeoutMs = 0;
};

struct RemoveRequest {
  uint64_t request = 0;
  std::string prefix;
};

struct BarrierRequest {
  uint64_t request = 0;
  std::string name;
  int64_t timeoutMs = 0;
  /// The thread that waits is the only one of its process that has joined or come to a barrier: while it waits, the
  /// process comes to no other.
  bool isOnlyThread = false;
};

/// The answer to one of the four requests.
struct Reply {
  uint64_t request = 0;
  bool ok = true;
  std::string text; ///< The value, or what went wrong.
};

/// The sender has nothing more to do.
struct Goodbye {};

/// Everybody has said goodbye.
struct Farewell {};

/// What the sender has counted; beside its heartbeats.
struct VitalsMessage {
  Vitals vitals;
};

/// Of an observer, in place of a hello.
struct StatusRequest {
  bool ofOneJob = false;
  std::string jobId; ///< If so.
};

/// The answer to an observer.
struct StatusReply {
  JobStatus status;
};

/// To a process whose program's digest differs from another's: of what was it compiled?
struct ProgramDetailsRequest {};

/// The answer: JoinOptions::programDetails.
struct ProgramDetails {
  std::vector<JoinColumn> items;
};

/// The sender has waited for this process for as long as it may.
struct Missed {
  int32_t process = 0;
  std::string text;
};

/// The index of an alternative is its kind on the wire.
using Message = std::variant<Hello, Welcome, Reject, TopologyMessage, Heartbeat, VerdictMessage, Fail, NoticeMessage,
                             SetRequest, WaitRequest, RemoveRequest, BarrierRequest, Reply, Goodbye, Farewell,
                             VitalsMessage, StatusRequest, StatusReply, ProgramDetailsRequest, ProgramDetails, Missed>;

/// A whole frame, header included. Throws ProtocolError where a limit would be exceeded.
std::string encode(const Message &message);

/// The payload length that a header tells. Throws ProtocolError if it is 0 or beyond maxFrameBytes.
size_t decodeHeader(std::string_view header);

/// A frame without its header. Throws ProtocolError.
Message decode(std::string_view payload);

/// `text` cut to what a message may hold, at a character boundary.
std::string cutText(std::string text, size_t limit = maxTextBytes);

} // namespace spmd::coordinator
