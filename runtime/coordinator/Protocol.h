//===- Protocol.h - messages of the coordinator -----------------*- C++ -*-===//
//
// After the handshake (Handshake.h) both sides send frames: a 32-bit length, a byte for the kind, and the fields, all
// little-endian. The length is checked against maxFrameBytes before anything is allocated, and every string and list
// has its own limit. Decoding never trusts a count: it fails with ProtocolError.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/ProcessStatistics.h"
#include "runtime/coordinator/Verdict.h"

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
constexpr size_t maxColumnBytes = size_t(1) << 20; ///< All columns of one process together.
constexpr size_t maxDetailBytes = size_t(1) << 20; ///< One item of a program's details; longer ones are truncated.
constexpr size_t maxDetails = 6;                   ///< So that all fit into a frame.
constexpr size_t maxKeyBytes = 1024;
constexpr size_t maxValueBytes = size_t(1) << 20;
constexpr size_t maxTextBytes = 16384; ///< A message for the user; longer ones are truncated.
constexpr int32_t maxProcesses = 16384;

/// The bytes violate the protocol.
class ProtocolError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Identifies a process, and tells how it was started.
struct Hello {
  int32_t processId = 0;
  int32_t numProcesses = 1;
  uint64_t incarnation = 0; ///< Random: distinguishes two processes with the same id.
  int64_t pid = 0;
  std::string host, bootId, jobId, build, backend;
  std::vector<int32_t> localDeviceIds;
  std::vector<JoinColumn> columns;
  std::string programDigest;
  int64_t remainingMs = 0; ///< The rest of its initialization timeout.
  std::string failure;     ///< The reason why it cannot take part, for the other processes; empty: it can.
};

/// The coordinator accepts the hello; the roll call goes on. Names process 0, for messages in case it gets lost.
struct Welcome {
  std::string host;
  int64_t pid = 0;
};

/// The process may not join; the job goes on without it.
struct Reject {
  std::string text;
};

/// All processes have joined and agree.
struct TopologyMessage {
  Topology topology;
};

/// From a process: its position. From the coordinator: the position of process 0.
struct Heartbeat {
  Position position;
};

/// The end of the job. A member sends it only if process 0 has hung and its members have left.
struct VerdictMessage {
  Verdict verdict;
};

/// The sender has failed, or knows which process has. All processes that report this failure use the same text.
struct Fail {
  std::string text;
  Position position;
  std::optional<int32_t> culprit = {}; ///< The process that failed if it is not the sender; -1: no single process.
  int32_t signal = 0;                  ///< 0: a failure. Otherwise the sender was asked to end, by this signal.
};

/// A message for the user.
struct NoticeMessage {
  Notice notice;
};

struct SetRequest {
  uint64_t request = 0;
  std::string key, value;
};

/// The thread that waits, among those of its process that have joined or waited for another process.
enum class WaitingThread : uint8_t {
  Only,         ///< The only one: while it waits, the process does nothing else that others wait for.
  OneOfSeveral, ///< Another one may set the key, or come to the barrier, that another process waits for.
  Helper,       ///< One of the runtime's threads, beside the program's.
};

struct WaitRequest {
  uint64_t request = 0;
  std::string key;
  int32_t setter = 0; ///< The process that sets the key.
  int64_t timeoutMs = 0;
  std::string call; ///< Awaited::call; may be empty.
  WaitingThread thread = WaitingThread::OneOfSeveral;
};

struct RemoveRequest {
  uint64_t request = 0;
  std::string prefix;
};

struct BarrierRequest {
  uint64_t request = 0;
  std::string name;
  int64_t timeoutMs = 0;
  bool isOnlyThread = false; ///< As WaitingThread::Only.
};

/// The answer to one of the four requests.
struct Reply {
  uint64_t request = 0;
  bool ok = true;
  std::string text; ///< The value, or the error.
};

/// The sender leaves the job.
struct Goodbye {};

/// All processes have said goodbye.
struct Farewell {};

/// The statistics of the sender, sent with its heartbeats.
struct ProcessStatisticsMessage {
  ProcessStatistics statistics;
};

/// The first message of an observer, in place of a hello.
struct StatusRequest {
  bool ofOneJob = false;
  std::string jobId; ///< Valid if `ofOneJob`.
};

/// The answer to an observer.
struct StatusReply {
  JobStatus status;
};

/// Asks a process whose program digest differs from another's what its program was compiled from.
struct ProgramDetailsRequest {};

/// The answer: JoinOptions::programDetails.
struct ProgramDetails {
  std::vector<JoinColumn> items;
};

/// The sender has waited for this process until the time limit.
struct Missed {
  int32_t process = 0;
  std::string text;
};

/// From the coordinator: a process has said goodbye.
struct Departed {
  int32_t process = 0;
};

/// The only thread of the sender waits for the answer to this request, and the sender runs no launch: a device of
/// `process` waits in vain for a device of the sender.
struct Delays {
  uint64_t request = 0;
  int32_t process = 0;
  std::string call; ///< The call in which the device waits.
};

/// The index of an alternative is its kind on the wire.
using Message =
    std::variant<Hello, Welcome, Reject, TopologyMessage, Heartbeat, VerdictMessage, Fail, NoticeMessage, SetRequest,
                 WaitRequest, RemoveRequest, BarrierRequest, Reply, Goodbye, Farewell, ProcessStatisticsMessage,
                 StatusRequest, StatusReply, ProgramDetailsRequest, ProgramDetails, Missed, Departed, Delays>;

/// Returns a frame with its header. Throws ProtocolError if a limit would be exceeded.
std::string encode(const Message &message);

/// Returns the payload length in a header. Throws ProtocolError if it is 0 or beyond maxFrameBytes.
size_t decodeHeader(std::string_view header);

/// Decodes a frame without its header. Throws ProtocolError.
Message decode(std::string_view payload);

/// Returns `text`, truncated to what a message may hold, at a character boundary.
std::string truncateText(std::string text, size_t limit = maxTextBytes);

} // namespace spmd::coordinator
