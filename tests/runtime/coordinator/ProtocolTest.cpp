#include "runtime/coordinator/Protocol.h"

#include "runtime/coordinator/Address.h"
#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/ChildReport.h"
#include "runtime/coordinator/Describe.h"
#include "runtime/coordinator/Handshake.h"
#include "runtime/coordinator/PositionCell.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <thread>

using namespace spmd;
using namespace spmd::coordinator;
using testing::HasSubstr;

namespace {

/// Returns one message of each kind, with every field different from its default.
std::vector<Message> examples() {
  Hello hello;
  hello.processId = 3;
  hello.numProcesses = 5;
  hello.incarnation = 0x0123456789abcdef;
  hello.pid = 4711;
  hello.host = "node1";
  hello.bootId = "b";
  hello.jobId = "job";
  hello.build = "spmdc 1";
  hello.backend = "cuda";
  hello.localDeviceIds = {4, 2};
  hello.columns = {{"mesh", "a=4"}, {"program", std::string("x\0\ny", 4)}};
  hello.programDigest = "beef";
  hello.remainingMs = 12345;
  hello.failure = "no such file";
  Position position{7, 3, Position::State::Waiting, "mlp.spmd:5:7"};
  TopologyMessage topology;
  topology.topology.processes = {{0, "h", "b", "10.0.0.1", 11, {0, 1}, 0}, {1, "g", "c", "10.0.0.2", 12, {0}, 2}};
  Verdict verdict{2, "h", 12, Verdict::Cause::Killed, 9, "text", position};
  ProcessStatistics statistics{1, 2, 3, 4, 5, 6};
  JobStatus status{JobStatus::Stage::Over, 3, 1234, "why", {{1, "h", 12, 2, position, statistics, 2.5, 77}}};
  return {hello,
          Welcome{"h", 11},
          Reject{"no"},
          topology,
          Heartbeat{position},
          VerdictMessage{verdict},
          Fail{"broken", position, 1, 15},
          NoticeMessage{{Notice::Level::Warning, "slow"}},
          SetRequest{1, "k", "v"},
          WaitRequest{2, "k", 1, 300, "device_put at f:3", WaitingThread::Only},
          RemoveRequest{3, "p"},
          BarrierRequest{4, "b", 400, true},
          Reply{5, false, "why"},
          Goodbye{},
          Farewell{},
          ProcessStatisticsMessage{statistics},
          StatusRequest{true, "job"},
          StatusReply{status},
          ProgramDetailsRequest{},
          ProgramDetails{{{"the program", "mesh\nreturn"}}},
          Missed{3, "waited"},
          Departed{2},
          Delays{6, 1, "all_reduce at f:3"}};
}

std::string payload(const Message &message) { return encode(message).substr(frameHeaderBytes); }

// A program may have any size; the details that are sent are truncated.
TEST(Protocol, DetailsOfAProgramAreCut) {
  ProgramDetails details;
  details.items.assign(maxDetails + 2, {"the program", std::string(maxDetailBytes + 1, 'x')});
  auto back = std::get<ProgramDetails>(decode(payload(details)));
  EXPECT_EQ(back.items.size(), maxDetails);
  EXPECT_EQ(back.items.back().value, std::string(maxDetailBytes - 3, 'x') + "...");
}

TEST(Protocol, EveryMessageSurvivesTheWire) {
  std::vector<Message> messages = examples();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i != messages.size(); ++i) {
    ASSERT_EQ(messages[i].index(), i);
    std::string frame = encode(messages[i]);
    EXPECT_EQ(decodeHeader(frame.substr(0, frameHeaderBytes)), frame.size() - frameHeaderBytes);
    Message back = decode(frame.substr(frameHeaderBytes));
    EXPECT_EQ(back.index(), i);
    EXPECT_EQ(encode(back), frame);
  }
  Message back = decode(payload(messages[0]));
  const Hello &hello = std::get<Hello>(back);
  EXPECT_EQ(hello.incarnation, 0x0123456789abcdefu);
  EXPECT_EQ(hello.localDeviceIds, (std::vector<int32_t>{4, 2}));
  EXPECT_EQ(hello.columns[1].value, std::string("x\0\ny", 4));
  EXPECT_EQ(hello.remainingMs, 12345);
  EXPECT_EQ(hello.failure, "no such file");
  Message topology = decode(payload(messages[3]));
  const auto &processes = std::get<TopologyMessage>(topology).topology.processes;
  EXPECT_EQ(processes[1].index, 1);
  EXPECT_EQ(processes[1].firstDevice, 2);
  Message over = decode(payload(messages[5]));
  EXPECT_EQ(std::get<VerdictMessage>(over).verdict, std::get<VerdictMessage>(messages[5]).verdict);
}

// Text from a peer cannot send control sequences to a terminal.
TEST(Protocol, TextForTheUserIsMadeHarmless) {
  const std::string evil = "\x1b]0;root\x07\x9b", harmless = "\\x1b]0;root\\x07\\x9b";
  auto sent = [](const Message &message) { return decode(payload(message)); };
  Hello hello;
  hello.host = hello.failure = evil;
  hello.columns = {{"program", evil}}; // Compared without escapes.
  hello = std::get<Hello>(sent(hello));
  EXPECT_EQ(hello.host, harmless);
  EXPECT_EQ(hello.failure, harmless);
  EXPECT_EQ(hello.columns[0].value, evil);
  EXPECT_EQ(std::get<Reject>(sent(Reject{evil})).text, harmless);
  EXPECT_EQ(std::get<NoticeMessage>(sent(NoticeMessage{{Notice::Level::Warning, evil}})).notice.text, harmless);
  EXPECT_EQ(std::get<Heartbeat>(sent(Heartbeat{{1, 2, Position::State::Running, evil}})).position.location, harmless);
  Verdict verdict;
  verdict.host = verdict.text = evil;
  verdict = std::get<VerdictMessage>(sent(VerdictMessage{verdict})).verdict;
  EXPECT_EQ(verdict.host + verdict.text, harmless + harmless);
  EXPECT_EQ(std::get<Fail>(sent(Fail{evil, {}})).text, harmless);
  EXPECT_EQ(std::get<Missed>(sent(Missed{0, evil})).text, harmless);
  EXPECT_EQ(std::get<Reply>(sent(Reply{1, false, evil})).text, harmless);
  EXPECT_EQ(std::get<Reply>(sent(Reply{1, true, evil})).text, evil); // A value of the store.
  // Escaped text is longer, but still fits into the message that is sent on.
  hello.host = std::string(1024, '\x1b');
  hello = std::get<Hello>(sent(hello));
  EXPECT_NO_THROW(encode(Welcome{hello.host, 1}));
}

TEST(Protocol, TheFormatStaysAsItIs) {
  // A frame byte by byte: a change of the format needs a new protocolVersion.
  std::string frame = encode(WaitRequest{0x0102, "key", 5, -1, "c", WaitingThread::Helper});
  std::string expected("\x22\0\0\0\x09\x02\x01\0\0\0\0\0\0\x03\0\0\0key\x05\0\0\0"
                       "\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0c\x02",
                       38);
  EXPECT_EQ(frame, expected);
}

TEST(Protocol, CutOrLengthenedFramesAreRefused) {
  for (const Message &message : examples()) {
    std::string whole = payload(message);
    for (size_t size = 0; size != whole.size(); ++size)
      EXPECT_THROW(decode(std::string_view(whole).substr(0, size)), ProtocolError);
    EXPECT_THROW(decode(whole + "x"), ProtocolError);
  }
  EXPECT_THROW(decode(std::string(1, static_cast<char>(std::variant_size_v<Message>))), ProtocolError);
  EXPECT_THROW(decode(""), ProtocolError);
}

TEST(Protocol, ChangedBytesNeverDoHarm) {
  constexpr uint64_t seed = 20240607;
  std::mt19937_64 random(seed);
  int refused = 0, accepted = 0;
  for (const Message &message : examples()) {
    std::string whole = payload(message);
    for (int i = 0; i != 2000; ++i) {
      std::string changed = whole;
      for (int changes = 1 + static_cast<int>(random() % 3); changes-- != 0;)
        changed[random() % changed.size()] = static_cast<char>(random());
      try {
        decode(changed);
        ++accepted;
      } catch (const ProtocolError &) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000) << "seed " << seed;
  EXPECT_GT(accepted, 1000) << "seed " << seed;
}

TEST(Protocol, LimitsHoldBeforeAnythingIsAllocated) {
  auto header = [](uint32_t size) {
    std::string bytes;
    for (int i = 0; i != 4; ++i)
      bytes += static_cast<char>(size >> (8 * i));
    return bytes;
  };
  EXPECT_EQ(decodeHeader(header(maxFrameBytes)), maxFrameBytes);
  EXPECT_THROW(decodeHeader(header(maxFrameBytes + 1)), ProtocolError);
  EXPECT_THROW(decodeHeader(header(0xffffffff)), ProtocolError);
  EXPECT_THROW(decodeHeader(header(0)), ProtocolError);
  // A list that announces more entries than the frame has.
  EXPECT_THROW(decode(std::string("\x03\xff\xff\0\0", 5)), ProtocolError);
  EXPECT_THROW(encode(SetRequest{1, std::string(maxKeyBytes + 1, 'k'), ""}), ProtocolError);
  EXPECT_THROW(encode(SetRequest{1, "k", std::string(maxValueBytes + 1, 'v')}), ProtocolError);
  Hello hello;
  hello.columns = {{"a", std::string(maxColumnBytes, 'a')}, {"b", "b"}};
  EXPECT_THROW(encode(hello), ProtocolError);
}

TEST(Protocol, TheStatusOfTheLargestJobFitsIntoAFrame) {
  StatusReply reply;
  Position position{uint64_t(1) << 60, 1 << 30, Position::State::Running, std::string(2000, 'l')};
  ProcessStatistics statistics{1, 2, 3, 4, 5, 6};
  for (int32_t process = 0; process != maxProcesses; ++process)
    reply.status.processes.push_back({process, std::string(500, 'h'), 1, 1, position, statistics, 1e9, 1});
  std::string frame = encode(reply);
  EXPECT_LE(frame.size(), maxFrameBytes);
  Message back = decode(std::string_view(frame).substr(frameHeaderBytes));
  const auto &processes = std::get<StatusReply>(back).status.processes;
  ASSERT_EQ(processes.size(), static_cast<size_t>(maxProcesses));
  EXPECT_EQ(processes.back().process, maxProcesses - 1);
  EXPECT_EQ(processes.back().statistics, statistics);
  EXPECT_DOUBLE_EQ(processes.back().rate, 1e9);
  reply.status.processes.emplace_back();
  EXPECT_THROW(encode(reply), ProtocolError);
}

TEST(Protocol, ARateIsAsManyThousandthsAsADoubleHas) {
  // The last fields of a status are the rate and the age of a heartbeat, 8 bytes each.
  StatusReply reply;
  reply.status.processes.emplace_back();
  std::string bytes = payload(reply);
  size_t at = bytes.size() - 16;
  auto withThousandths = [&](int64_t value) {
    for (size_t i = 0; i != 8; ++i)
      bytes[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    return bytes;
  };
  constexpr int64_t most = 1'000'000'000'000'000;
  for (int64_t value : {int64_t(0), int64_t(1), int64_t(999), int64_t(123'456'789'012'345), most - 1, most})
    EXPECT_EQ(payload(decode(withThousandths(value))), bytes) << value;
  for (int64_t value : {int64_t(-1), most + 1, INT64_MAX, INT64_MIN})
    EXPECT_THROW(decode(withThousandths(value)), ProtocolError) << value;
  for (double rate : {-1.0, 1e300, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    reply.status.processes[0].rate = rate;
    double back = std::get<StatusReply>(decode(payload(reply))).status.processes[0].rate;
    EXPECT_EQ(back, rate > 0 ? 1e12 : 0) << rate;
  }
}

TEST(Protocol, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(truncateText("abcdef", 6), "abcdef");
  EXPECT_EQ(truncateText("abcdefg", 6), "abc...");
  EXPECT_EQ(truncateText("ab\xc3\xa4xyz", 6), "ab..."); // Never ends within a character.
  std::string huge(2 * maxTextBytes, 'x');
  Message back = decode(payload(Reject{huge}));
  EXPECT_EQ(std::get<Reject>(back).text.size(), maxTextBytes);
}

TEST(Handshake, ProofsDependOnEverything) {
  Opening process, coordinator;
  process.nonce[0] = 1;
  coordinator.nonce[0] = 2;
  Proof proof = prove(Side::Process, "token", process, coordinator);
  EXPECT_EQ(prove(Side::Process, "token", process, coordinator), proof);
  EXPECT_TRUE(checkProof(proof, std::string(proof.data(), proof.size())));
  EXPECT_FALSE(checkProof(proof, std::string(proof.data(), proof.size() - 1)));
  EXPECT_NE(prove(Side::Coordinator, "token", process, coordinator), proof); // Cannot be reflected.
  EXPECT_NE(prove(Side::Process, "tokem", process, coordinator), proof);
  EXPECT_NE(prove(Side::Process, "", process, coordinator), proof);
  EXPECT_NE(prove(Side::Process, "token", coordinator, process), proof);
  Opening other = coordinator;
  other.nonce[15] = 1; // Cannot be replayed.
  EXPECT_NE(prove(Side::Process, "token", process, other), proof);
  other = coordinator;
  other.version = protocolVersion + 1;
  EXPECT_NE(prove(Side::Process, "token", process, other), proof);
  other = process;
  other.role = Role::Observer; // The proof of an observer does not admit a process.
  EXPECT_NE(prove(Side::Process, "token", other, coordinator), proof);
  other = coordinator;
  other.jobTag = makeJobTag("another");
  EXPECT_NE(prove(Side::Process, "token", process, other), proof);
}

TEST(Handshake, AStrangerCanSendSixtyFourBytes) {
  Opening opening;
  opening.jobTag = makeJobTag("job");
  opening.nonce = makeNonce();
  std::string bytes = opening.encode();
  EXPECT_EQ(bytes.size(), openingBytes);
  EXPECT_LE(openingBytes + proofBytes, 64u);
  EXPECT_EQ(bytes.size() + proofBytes, challengeBytes);
  Opening back;
  ASSERT_TRUE(Opening::decode(bytes, back));
  EXPECT_EQ(back.nonce, opening.nonce);
  EXPECT_EQ(back.jobTag, opening.jobTag);
  EXPECT_EQ(back.version, protocolVersion);
  EXPECT_EQ(back.role, Role::Process);
  opening.role = Role::Observer;
  ASSERT_TRUE(Opening::decode(opening.encode(), back));
  EXPECT_EQ(back.role, Role::Observer);
  std::string unknown = opening.encode();
  unknown[6] = 2;
  EXPECT_FALSE(Opening::decode(unknown, back));
  EXPECT_FALSE(Opening::decode("GET / HTTP/1.1\r\nHost: example.com", back));
  EXPECT_FALSE(Opening::decode(bytes.substr(1), back));
  EXPECT_NE(makeNonce(), makeNonce());
}

TEST(Address, ReadsHostsAndBothFamilies) {
  EXPECT_EQ(parseAddress("node-1.example:8476", "x").str(), "node-1.example:8476");
  EXPECT_EQ(parseAddress("10.0.0.1:1", "x").host, "10.0.0.1");
  EXPECT_EQ(parseAddress("[fe80::1%eth0]:65535", "x").host, "fe80::1%eth0");
  EXPECT_EQ(parseAddress("[::1]:80", "x").str(), "[::1]:80");
  EXPECT_EQ(parseAddress("0.0.0.0", "x", 99).port, 99);
  EXPECT_EQ(parseAddress("[::]", "x", 99).str(), "[::]:99");
}

TEST(Describe, ListsProcessesAndTimes) {
  EXPECT_EQ(describeProcesses({3}), "process 3");
  EXPECT_EQ(describeProcesses({0, 1}), "processes 0 and 1");
  EXPECT_EQ(describeProcesses({0, 2, 3, 4, 5, 9}), "processes 0, 2-5 and 9");
  EXPECT_EQ(describeProcesses({7, 8, 9}), "processes 7-9");
  EXPECT_EQ(formatSeconds(700), "0.7 s");
  EXPECT_EQ(formatSeconds(10'000), "10 s");
  EXPECT_EQ(formatSeconds(9'960), "10 s");
}

TEST(ChildEndMessage, SurvivesTheWire) {
  ChildEndMessage message{3, 4711, 9, 0};
  auto back = ChildEndMessage::decode(message.encode());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->process, 3);
  EXPECT_EQ(back->pid, 4711);
  EXPECT_EQ(back->signal, 9);
  EXPECT_FALSE(back->verdict);
  EXPECT_FALSE(ChildEndMessage::decode("short"));
  message.verdict = Verdict{2, "h", 12, Verdict::Cause::Killed, 9, "text", {7, 3, {}, "mlp.spmd:5:7"}};
  std::string record = message.encode();
  back = ChildEndMessage::decode(record);
  ASSERT_TRUE(back && back->verdict);
  EXPECT_EQ(back->verdict->str(), message.verdict->str());
  for (size_t size = 0; size != record.size(); ++size)
    EXPECT_FALSE(ChildEndMessage::decode(std::string_view(record).substr(0, size))) << size;
  EXPECT_FALSE(ChildEndMessage::decode(record + "x"));
  EXPECT_FALSE(isLauncherSocket(0));
  EXPECT_FALSE(isLauncherSocket(12345));
}

TEST(ChildReport, SurvivesTheWire) {
  ChildReport report;
  report.verdict =
      Verdict{2, "h", 12, Verdict::Cause::Killed, 9, "text", {7, 3, Position::State::Running, "m.spmd:5:7"}};
  report.error = "broken";
  report.stepsDone = 41;
  report.savedStep = 40;
  for (int parts = 0; parts != 16; ++parts) {
    ChildReport some;
    if (parts & 1)
      some.verdict = report.verdict;
    if (parts & 2)
      some.error = report.error;
    if (parts & 4)
      some.stepsDone = report.stepsDone;
    if (parts & 8)
      some.savedStep = report.savedStep;
    std::string record = encodeChildReport(some);
    EXPECT_LE(record.size(), maxChildReportBytes);
    EXPECT_EQ(decodeChildReport(record), some);
    for (size_t size = 0; size != record.size(); ++size)
      EXPECT_EQ(decodeChildReport(std::string_view(record).substr(0, size)), std::nullopt);
    EXPECT_EQ(decodeChildReport(record + "x"), std::nullopt);
  }
  ChildReport huge;
  huge.error = std::string(2 * maxTextBytes, 'x');
  huge.verdict = report.verdict;
  huge.verdict->text = *huge.error;
  EXPECT_LE(encodeChildReport(huge).size(), maxChildReportBytes);
  EXPECT_EQ(decodeChildReport(encodeChildReport(huge))->error->size(), maxTextBytes);
}

TEST(ChildReport, WhatIsNotMentionedStays) {
  ChildReport report;
  ChildReport first, second;
  first.stepsDone = 1;
  first.savedStep = 1;
  second.stepsDone = 2;
  report.update(first);
  report.update(second);
  EXPECT_EQ(report.stepsDone, 2);
  EXPECT_EQ(report.savedStep, 1);
}

TEST(PositionCell, HasTheLastFile) {
  PositionCell cell;
  for (const char *file :
       {"long_name.spmd", "long_name.spmd", "long_nome.spmd", "long", "long", "", "long_name.spmd"}) {
    cell.write(1, 2, {file, 3, 4});
    EXPECT_EQ(cell.read().location, SourceLocation(file, 3, 4).str());
  }
}

TEST(PositionCell, IsNeverTorn) {
  PositionCell cell;
  EXPECT_EQ(cell.read(), Position());
  cell.write(1, 2, {std::string(300, 'p') + "/mlp.spmd", 3, 4});
  Position position = cell.read();
  EXPECT_EQ(position.launch, 1u);
  EXPECT_EQ(position.step, 2);
  EXPECT_EQ(position.state, Position::State::Running);
  EXPECT_THAT(position.location, testing::EndsWith("p/mlp.spmd:3:4")); // The end of a long path is kept.
  EXPECT_LE(position.location.size(), 200u);

  // Two threads write pairs of values; a reader must not see values of different pairs.
  std::atomic<bool> stop = false;
  auto writer = [&](uint64_t base) {
    for (uint64_t i = base; !stop; i += 2)
      cell.write(i, static_cast<int32_t>(i % 1000), {std::to_string(i), 1, 1});
  };
  std::thread first(writer, 2), second(writer, 3);
  for (int i = 0; i != 20'000; ++i) {
    Position seen = cell.read();
    if (seen.launch == 1)
      continue;
    ASSERT_EQ(seen.step, static_cast<int32_t>(seen.launch % 1000));
    ASSERT_EQ(seen.location, std::to_string(seen.launch) + ":1:1");
  }
  stop = true;
  first.join();
  second.join();
}

} // namespace
