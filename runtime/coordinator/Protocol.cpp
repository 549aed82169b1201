#include "runtime/coordinator/Protocol.h"

#include "runtime/coordinator/Wire.h"
#include "runtime/support/TerminalText.h"

#include <algorithm>
#include <cmath>

namespace spmd::coordinator {

constexpr size_t maxNameBytes = 1024;     // For hosts, boot ids, job ids, builds, digests.
constexpr size_t maxLocationBytes = 1024; // For a path and two numbers.
constexpr size_t maxLocalDevices = 4096;
constexpr size_t maxColumns = 4096;
// The limits in a status are smaller, so that the status of the largest job fits into a frame.
constexpr size_t maxStatusHostBytes = 64;
constexpr size_t maxStatusLocationBytes = 200;
// Rates are sent in thousandths; up to this limit a double represents all of them exactly.
constexpr int64_t maxRateThousandths = 1'000'000'000'000'000;

/// Reads text for the user. It comes from another process, so its control characters are escaped here, before it is
/// shown anywhere; that may make it longer.
static std::string getShown(Reader &in, size_t limit) { return truncateText(escapeControls(in.text(limit)), limit); }

void put(Writer &out, const Position &position) {
  out.integer(position.launch);
  out.integer(position.step);
  out.integer(static_cast<uint8_t>(position.state));
  out.text(truncateText(position.location, maxLocationBytes), maxLocationBytes);
}

void get(Reader &in, Position &position) {
  position.launch = in.integer<uint64_t>();
  position.step = in.integer<int32_t>();
  position.state = in.enumerator(Position::State::Leaving);
  position.location = getShown(in, maxLocationBytes);
}

void put(Writer &out, const Verdict &verdict) {
  out.integer(verdict.culprit);
  out.text(verdict.host, maxNameBytes);
  out.integer(verdict.pid);
  out.integer(static_cast<uint8_t>(verdict.cause));
  out.integer(verdict.detail);
  out.text(truncateText(verdict.text), maxTextBytes);
  put(out, verdict.position);
}

void get(Reader &in, Verdict &verdict) {
  verdict.culprit = in.integer<int32_t>();
  verdict.host = getShown(in, maxNameBytes);
  verdict.pid = in.integer<int64_t>();
  verdict.cause = in.enumerator(Verdict::Cause::Interrupted);
  verdict.detail = in.integer<int64_t>();
  verdict.text = getShown(in, maxTextBytes);
  get(in, verdict.position);
}

namespace {

//===----------------------------------------------------------------------===//
// One pair of functions per message; the order of fields is the format.
//===----------------------------------------------------------------------===//

void put(Writer &out, const std::vector<int32_t> &values) {
  out.count(values.size(), maxLocalDevices);
  for (int32_t value : values)
    out.integer(value);
}

void get(Reader &in, std::vector<int32_t> &values) {
  values.resize(in.count(4, maxLocalDevices));
  for (int32_t &value : values)
    value = in.integer<int32_t>();
}

void put(Writer &out, const Hello &hello) {
  out.integer(hello.processId);
  out.integer(hello.numProcesses);
  out.integer(hello.incarnation);
  out.integer(hello.pid);
  for (const std::string *name : {&hello.host, &hello.bootId, &hello.jobId, &hello.build, &hello.backend})
    out.text(*name, maxNameBytes);
  put(out, hello.localDeviceIds);
  out.count(hello.columns.size(), maxColumns);
  size_t room = maxColumnBytes;
  for (const JoinColumn &column : hello.columns) {
    out.text(column.name, maxNameBytes);
    out.text(column.value, room);
    room -= column.value.size();
  }
  out.text(hello.programDigest, maxNameBytes);
  out.integer(hello.remainingMs);
  out.text(truncateText(hello.failure), maxTextBytes);
}

void get(Reader &in, Hello &hello) {
  hello.processId = in.integer<int32_t>();
  hello.numProcesses = in.integer<int32_t>();
  hello.incarnation = in.integer<uint64_t>();
  hello.pid = in.integer<int64_t>();
  for (std::string *name : {&hello.host, &hello.bootId, &hello.jobId, &hello.build, &hello.backend})
    *name = in.text(maxNameBytes);
  hello.host = truncateText(escapeControls(hello.host), maxNameBytes);
  get(in, hello.localDeviceIds);
  hello.columns.resize(in.count(8, maxColumns));
  size_t room = maxColumnBytes;
  for (JoinColumn &column : hello.columns) {
    column.name = in.text(maxNameBytes);
    column.value = in.text(room);
    room -= column.value.size();
  }
  hello.programDigest = in.text(maxNameBytes);
  hello.remainingMs = in.integer<int64_t>();
  hello.failure = getShown(in, maxTextBytes);
}

void put(Writer &out, const Welcome &welcome) {
  out.text(welcome.host, maxNameBytes);
  out.integer(welcome.pid);
}

void get(Reader &in, Welcome &welcome) {
  welcome.host = getShown(in, maxNameBytes);
  welcome.pid = in.integer<int64_t>();
}

void put(Writer &out, const Reject &reject) { out.text(truncateText(reject.text), maxTextBytes); }
void get(Reader &in, Reject &reject) { reject.text = getShown(in, maxTextBytes); }

void put(Writer &out, const TopologyMessage &message) {
  out.count(message.topology.processes.size(), maxProcesses);
  for (const ProcessInfo &process : message.topology.processes) {
    for (const std::string *name : {&process.host, &process.bootId, &process.address})
      out.text(*name, maxNameBytes);
    out.integer(process.pid);
    put(out, process.localDeviceIds);
  }
}

void get(Reader &in, TopologyMessage &message) {
  std::vector<ProcessInfo> &processes = message.topology.processes;
  processes.resize(in.count(24, maxProcesses));
  int64_t device = 0;
  for (size_t i = 0; i != processes.size(); ++i) {
    ProcessInfo &process = processes[i];
    process.index = static_cast<int32_t>(i);
    for (std::string *name : {&process.host, &process.bootId, &process.address})
      *name = in.text(maxNameBytes);
    process.host = truncateText(escapeControls(process.host), maxNameBytes);
    process.pid = in.integer<int64_t>();
    get(in, process.localDeviceIds);
    process.firstDevice = device;
    device += process.deviceCount();
  }
}

void put(Writer &out, const Heartbeat &heartbeat) { put(out, heartbeat.position); }
void get(Reader &in, Heartbeat &heartbeat) { get(in, heartbeat.position); }

void put(Writer &out, const VerdictMessage &message) { put(out, message.verdict); }
void get(Reader &in, VerdictMessage &message) { get(in, message.verdict); }

void put(Writer &out, const Fail &fail) {
  out.text(truncateText(fail.text), maxTextBytes);
  put(out, fail.position);
  out.integer(static_cast<uint8_t>(fail.culprit.has_value()));
  if (fail.culprit)
    out.integer(*fail.culprit);
  out.integer(fail.signal);
}

void get(Reader &in, Fail &fail) {
  fail.text = getShown(in, maxTextBytes);
  get(in, fail.position);
  if (in.flag())
    fail.culprit = in.integer<int32_t>();
  fail.signal = in.integer<int32_t>();
}

void put(Writer &out, const NoticeMessage &message) {
  out.integer(static_cast<uint8_t>(message.notice.level));
  out.text(truncateText(message.notice.text), maxTextBytes);
}

void get(Reader &in, NoticeMessage &message) {
  message.notice.level = in.enumerator(Notice::Level::Warning);
  message.notice.text = getShown(in, maxTextBytes);
}

void put(Writer &out, const SetRequest &set) {
  out.integer(set.request);
  out.text(set.key, maxKeyBytes);
  out.text(set.value, maxValueBytes);
}

void get(Reader &in, SetRequest &set) {
  set.request = in.integer<uint64_t>();
  set.key = in.text(maxKeyBytes);
  set.value = in.text(maxValueBytes);
}

void put(Writer &out, const WaitRequest &wait) {
  out.integer(wait.request);
  out.text(wait.key, maxKeyBytes);
  out.integer(wait.setter);
  out.integer(wait.timeoutMs);
  out.text(truncateText(wait.call, maxKeyBytes), maxKeyBytes);
  out.integer(static_cast<uint8_t>(wait.thread));
}

void get(Reader &in, WaitRequest &wait) {
  wait.request = in.integer<uint64_t>();
  wait.key = in.text(maxKeyBytes);
  wait.setter = in.integer<int32_t>();
  wait.timeoutMs = in.integer<int64_t>();
  wait.call = getShown(in, maxKeyBytes);
  wait.thread = in.enumerator(WaitingThread::Helper);
}

void put(Writer &out, const RemoveRequest &remove) {
  out.integer(remove.request);
  out.text(remove.prefix, maxKeyBytes);
}

void get(Reader &in, RemoveRequest &remove) {
  remove.request = in.integer<uint64_t>();
  remove.prefix = in.text(maxKeyBytes);
}

void put(Writer &out, const BarrierRequest &barrier) {
  out.integer(barrier.request);
  out.text(barrier.name, maxKeyBytes);
  out.integer(barrier.timeoutMs);
  out.integer(static_cast<uint8_t>(barrier.isOnlyThread));
}

void get(Reader &in, BarrierRequest &barrier) {
  barrier.request = in.integer<uint64_t>();
  barrier.name = in.text(maxKeyBytes);
  barrier.timeoutMs = in.integer<int64_t>();
  barrier.isOnlyThread = in.flag();
}

void put(Writer &out, const Reply &reply) {
  out.integer(reply.request);
  out.integer(static_cast<uint8_t>(reply.ok));
  out.text(reply.ok ? reply.text : truncateText(reply.text), maxValueBytes);
}

void get(Reader &in, Reply &reply) {
  reply.request = in.integer<uint64_t>();
  reply.ok = in.flag();
  reply.text = reply.ok ? in.text(maxValueBytes) : getShown(in, maxValueBytes);
}

void put(Writer &, const Goodbye &) {}
void get(Reader &, Goodbye &) {}
void put(Writer &, const Farewell &) {}
void get(Reader &, Farewell &) {}

void put(Writer &out, const ProcessStatistics &statistics) {
  out.integer(statistics.launches);
  out.integer(statistics.launchNanoseconds);
  out.integer(statistics.wireBytes);
  out.integer(statistics.stepsDone);
  out.integer(statistics.stepsWanted);
  out.integer(statistics.residentBytes);
}

void get(Reader &in, ProcessStatistics &statistics) {
  statistics.launches = in.integer<uint64_t>();
  statistics.launchNanoseconds = in.integer<uint64_t>();
  statistics.wireBytes = in.integer<uint64_t>();
  statistics.stepsDone = in.integer<int64_t>();
  statistics.stepsWanted = in.integer<int64_t>();
  statistics.residentBytes = in.integer<int64_t>();
}

void put(Writer &out, const ProcessStatisticsMessage &message) { put(out, message.statistics); }
void get(Reader &in, ProcessStatisticsMessage &message) { get(in, message.statistics); }

void put(Writer &out, const StatusRequest &message) {
  out.integer(static_cast<uint8_t>(message.ofOneJob));
  out.text(message.jobId, maxNameBytes);
}

void get(Reader &in, StatusRequest &message) {
  message.ofOneJob = in.flag();
  message.jobId = in.text(maxNameBytes);
}

void put(Writer &out, const StatusReply &message) {
  const JobStatus &status = message.status;
  out.integer(static_cast<uint8_t>(status.stage));
  out.integer(status.numProcesses);
  out.integer(status.uptimeMs);
  out.text(truncateText(status.verdict), maxTextBytes);
  out.count(status.processes.size(), maxProcesses);
  for (const ProcessStatus &process : status.processes) {
    out.integer(process.process);
    out.text(truncateText(process.host, maxStatusHostBytes), maxStatusHostBytes);
    out.integer(process.pid);
    out.integer(process.devices);
    Position position = process.position;
    position.location = truncateText(std::move(position.location), maxStatusLocationBytes);
    put(out, position);
    put(out, process.statistics);
    double thousandths = process.rate > 0 ? process.rate * 1000 : 0;
    out.integer<int64_t>(std::llround(std::min(thousandths, static_cast<double>(maxRateThousandths))));
    out.integer(process.heartbeatAgeMs);
  }
}

void get(Reader &in, StatusReply &message) {
  JobStatus &status = message.status;
  status.stage = in.enumerator(JobStatus::Stage::Over);
  status.numProcesses = in.integer<int32_t>();
  status.uptimeMs = in.integer<int64_t>();
  status.verdict = getShown(in, maxTextBytes);
  status.processes.resize(in.count(60, maxProcesses));
  for (ProcessStatus &process : status.processes) {
    process.process = in.integer<int32_t>();
    process.host = getShown(in, maxStatusHostBytes);
    process.pid = in.integer<int64_t>();
    process.devices = in.integer<int32_t>();
    get(in, process.position);
    get(in, process.statistics);
    auto thousandths = in.integer<int64_t>();
    if (thousandths < 0 || thousandths > maxRateThousandths)
      throw ProtocolError("a rate of " + std::to_string(thousandths) + " thousandths");
    process.rate = static_cast<double>(thousandths) / 1000;
    process.heartbeatAgeMs = in.integer<int64_t>();
  }
}

void put(Writer &, const ProgramDetailsRequest &) {}
void get(Reader &, ProgramDetailsRequest &) {}

void put(Writer &out, const ProgramDetails &message) {
  size_t count = std::min(message.items.size(), maxDetails);
  out.count(count, maxDetails);
  for (size_t i = 0; i != count; ++i) {
    out.text(message.items[i].name, maxNameBytes);
    out.text(truncateText(message.items[i].value, maxDetailBytes), maxDetailBytes);
  }
}

void get(Reader &in, ProgramDetails &message) {
  message.items.resize(in.count(8, maxDetails));
  for (JoinColumn &item : message.items) {
    item.name = in.text(maxNameBytes);
    item.value = in.text(maxDetailBytes);
  }
}

void put(Writer &out, const Missed &missed) {
  out.integer(missed.process);
  out.text(truncateText(missed.text), maxTextBytes);
}
void get(Reader &in, Missed &missed) {
  missed.process = in.integer<int32_t>();
  missed.text = getShown(in, maxTextBytes);
}

void put(Writer &out, const Departed &departed) { out.integer(departed.process); }
void get(Reader &in, Departed &departed) { departed.process = in.integer<int32_t>(); }

void put(Writer &out, const Delays &delays) {
  out.integer(delays.request);
  out.integer(delays.process);
  out.text(truncateText(delays.call), maxTextBytes);
}
void get(Reader &in, Delays &delays) {
  delays.request = in.integer<uint64_t>();
  delays.process = in.integer<int32_t>();
  delays.call = getShown(in, maxTextBytes);
}

/// Reads the alternative whose index is `kind`.
template <size_t index = 0> Message getAlternative(Reader &in, size_t kind) {
  if constexpr (index == std::variant_size_v<Message>) {
    throw ProtocolError("an unknown kind of frame, " + std::to_string(kind));
  } else {
    if (kind != index)
      return getAlternative<index + 1>(in, kind);
    std::variant_alternative_t<index, Message> message;
    get(in, message);
    return message;
  }
}

} // namespace

std::string encode(const Message &message) {
  Writer out;
  out.integer(uint32_t(0));
  out.integer(static_cast<uint8_t>(message.index()));
  std::visit([&](const auto &alternative) { put(out, alternative); }, message);
  size_t size = out.bytes.size() - frameHeaderBytes;
  if (size > maxFrameBytes)
    throw ProtocolError("a frame of " + std::to_string(size) + " bytes; the limit is " + std::to_string(maxFrameBytes));
  for (size_t i = 0; i != frameHeaderBytes; ++i)
    out.bytes[i] = static_cast<char>(size >> (8 * i));
  return std::move(out.bytes);
}

size_t decodeHeader(std::string_view header) {
  size_t size = Reader(header).integer<uint32_t>();
  if (size == 0 || size > maxFrameBytes)
    throw ProtocolError("a frame of " + std::to_string(size) + " bytes; the limit is " + std::to_string(maxFrameBytes));
  return size;
}

Message decode(std::string_view payload) {
  Reader in(payload);
  size_t kind = in.integer<uint8_t>();
  Message message = getAlternative(in, kind);
  in.finish();
  return message;
}

std::string truncateText(std::string text, size_t limit) {
  if (text.size() <= limit)
    return text;
  size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

} // namespace spmd::coordinator
