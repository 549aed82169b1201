//===- ChannelListenerTest.cpp - connections from other hosts ------------------------===//

#include "runtime/collective/net/Network.h"
#include "runtime/support/Error.h"
#include "tests/support/NoFreeDescriptor.h"
#include "tests/support/TimeLimit.h"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <thread>

using namespace spmd;
using namespace spmd::net;
using spmd::test::timeLimit;
using namespace std::chrono_literals;

namespace {

class ChannelListenerTest : public ::testing::Test {
protected:
  static ChannelListener::Wrap wrap() {
    return [](UniqueFd fd) { return std::make_unique<Stream>(std::move(fd)); };
  }
  static Clock::time_point soon() { return Clock::now() + timeLimit(5s); }

  UniqueFd dial() { return connectSocket(SocketAddress::make("127.0.0.1", channelListener.getPort()), soon(), {}); }
  std::unique_ptr<Stream> come(const Secret &with, const Greeting &greeting) {
    return enter(SocketAddress::make("127.0.0.1", channelListener.getPort()), with, wrap(), greeting, soon(), {});
  }
  /// True if the other side closes within the limit.
  static bool isClosed(Stream &stream, std::chrono::milliseconds limit) {
    char byte = 0;
    try {
      readAll(stream, &byte, 1, Clock::now() + limit, {});
    } catch (const StreamEnded &ended) {
      return ended.why != "no answer";
    }
    return false;
  }

  Secret secret{"token", "nonce"};
  std::promise<std::string> failure;
  ChannelListener channelListener{"127.0.0.1", secret, wrap(),
                                  [](const Question &question) {
                                    Answer answer;
                                    answer.isThere = 1;
                                    answer.announced = question.sequence + 1;
                                    return answer;
                                  },
                                  [this](const std::string &why) { failure.set_value(why); }};
};

// If no connection can be accepted because descriptors are exhausted, the job is told soon.
TEST_F(ChannelListenerTest, ReportsExhaustedDescriptors) {
  UniqueFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  SocketAddress where = SocketAddress::make("127.0.0.1", channelListener.getPort());
  {
    test::NoFreeDescriptor none;
    ASSERT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr *>(where.storage), where.length), 0);
    EXPECT_THAT(failure.get_future().get(),
                testing::MatchesRegex("processes of other hosts cannot connect: Too many open files: .*`ulimit -n`"));
  }
  auto mine = come(secret, {.communicator = 7, .from = 1, .to = 2});
  EXPECT_NE(channelListener.take(7, 1, 2, timeLimit(5000ms)), nullptr);
}

TEST_F(ChannelListenerTest, AcceptsPeersWithTheToken) {
  auto mine = come(secret, {.communicator = 7, .from = 1, .to = 2});
  EXPECT_EQ(channelListener.take(7, 2, 1, 20ms), nullptr);
  auto theirs = channelListener.take(7, 1, 2, timeLimit(5000ms));
  ASSERT_NE(theirs, nullptr);
  writeAll(*mine, "hello", soon(), {});
  std::string text(5, 0);
  readAll(*theirs, text.data(), 5, soon(), {});
  EXPECT_EQ(text, "hello");
}

TEST_F(ChannelListenerTest, AnswersQuestions) {
  auto mine = come(secret, {.kind = Greeting::Questions});
  for (uint64_t i = 0; i < 1000; ++i) {
    Question question;
    question.sequence = i;
    writeAll(*mine, bytesOf(question), soon(), {});
    std::string bytes(sizeof(Answer), 0);
    readAll(*mine, bytes.data(), bytes.size(), soon(), {});
    Answer answer;
    ASSERT_TRUE(decodeRecord(bytes.data(), answer));
    ASSERT_EQ(answer.announced, i + 1);
  }
}

TEST_F(ChannelListenerTest, RefusesAnotherTokenAndAnotherJob) {
  for (const Secret &wrong : {Secret{"tokem", "nonce"}, Secret{"token", "nonse"}, Secret{"", ""}}) {
    try {
      come(wrong, {.communicator = 7, .from = 1, .to = 2});
      ADD_FAILURE();
    } catch (const StreamEnded &) {
    }
  }
  EXPECT_EQ(channelListener.take(7, 1, 2, 50ms), nullptr);
}

// Data recorded from another peer's handshake does not help an unauthenticated peer.
TEST_F(ChannelListenerTest, RefusesAReplay) {
  coordinator::Opening ours, theirs;
  ours.jobTag = coordinator::makeJobTag(secret.nonce);
  ours.nonce = coordinator::makeNonce();
  std::string proof;
  for (bool isReplay : {false, true}) {
    Stream stream(dial());
    writeAll(stream, ours.encode(), soon(), {});
    std::string challenge(coordinator::challengeBytes, 0);
    readAll(stream, challenge.data(), challenge.size(), soon(), {});
    ASSERT_TRUE(coordinator::Opening::decode(challenge.substr(0, coordinator::openingBytes), theirs));
    if (!isReplay) {
      auto mine = prove(coordinator::Side::Process, secret.key(), ours, theirs);
      proof.assign(mine.data(), mine.size());
    }
    writeAll(stream, proof + bytesOf(Greeting{.communicator = 8, .from = isReplay, .to = 5}), soon(), {});
    if (isReplay) {
      EXPECT_TRUE(isClosed(stream, timeLimit(2000ms)));
      EXPECT_EQ(channelListener.take(8, 1, 5, 20ms), nullptr);
    } else {
      EXPECT_NE(channelListener.take(8, 0, 5, timeLimit(2000ms)), nullptr);
    }
  }
}

TEST_F(ChannelListenerTest, ClosesOnGarbageAndSilence) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    Stream stream(dial());
    std::string bytes(1 + random() % 200, 0);
    for (char &byte : bytes)
      byte = static_cast<char>(random());
    if (i % 3 == 0)
      bytes.replace(0, 4, "SPMD");
    try {
      writeAll(stream, bytes, soon(), {});
    } catch (const StreamEnded &) {
    }
    if (bytes.size() >= coordinator::openingBytes) {
      EXPECT_TRUE(isClosed(stream, timeLimit(2000ms)));
    }
  }
  Stream silent(dial());
  auto begin = Clock::now();
  EXPECT_TRUE(isClosed(silent, timeLimit(7000ms)));
  EXPECT_GT(Clock::now() - begin, 4500ms);
  EXPECT_NE(come(secret, {.kind = Greeting::Questions}), nullptr);
}

// Thousands of silent connections do not keep peers out: the one that has waited longest is dropped.
TEST_F(ChannelListenerTest, FloodOfSilentConnections) {
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 3000; ++i) {
    flood.push_back(dial());
    if (flood.size() > 600)
      flood.erase(flood.begin()); // The number of descriptors of this test is limited.
  }
  auto begin = Clock::now();
  auto mine = come(secret, {.communicator = 7, .from = 1, .to = 2});
  EXPECT_NE(channelListener.take(7, 1, 2, timeLimit(5000ms)), nullptr);
  EXPECT_LT(Clock::now() - begin, timeLimit(1000ms));
}

// Authenticated, but with a wrong message.
TEST_F(ChannelListenerTest, ClosesOnWrongGreetingsAndQuestions) {
  EXPECT_THROW(come(secret, {.magic = 1}), StreamEnded);
  auto stream = come(secret, {.kind = 99});
  EXPECT_TRUE(isClosed(*stream, timeLimit(2000ms)));
  stream = come(secret, {.kind = Greeting::Questions});
  writeAll(*stream, std::string(sizeof(Question), 'x'), soon(), {});
  EXPECT_TRUE(isClosed(*stream, timeLimit(2000ms)));
}

// The network may fail just when a greeting is sent. The connection counts when the listener has confirmed it, however
// late. If the listener has closed it meanwhile, the connecting process notices and connects again.
TEST(Enter, KnowsWhetherTheListenerHasTakenIt) {
  Secret secret{"token", "nonce"};
  for (bool isTaken : {false, true}) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
    SocketAddress address = SocketAddress::make("127.0.0.1", 0);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr *>(address.storage), address.length), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(address.storage), &address.length), 0);
    auto soon = Clock::now() + timeLimit(5s);
    std::thread channelListener([&] {
      Stream pendingPeer(UniqueFd(::accept(listener.get(), nullptr, nullptr)));
      std::string hello(coordinator::openingBytes, 0), rest(coordinator::proofBytes + sizeof(Greeting), 0);
      readAll(pendingPeer, hello.data(), hello.size(), soon, {});
      coordinator::Opening theirs, ours;
      ASSERT_TRUE(coordinator::Opening::decode(hello, theirs));
      ours.jobTag = theirs.jobTag;
      ours.nonce = coordinator::makeNonce();
      auto proof = prove(coordinator::Side::Coordinator, secret.key(), theirs, ours);
      writeAll(pendingPeer, ours.encode() + std::string(proof.data(), proof.size()), soon, {});
      readAll(pendingPeer, rest.data(), rest.size(), soon, {});
      std::this_thread::sleep_for(300ms);
      if (isTaken)
        writeAll(pendingPeer, std::string(1, channelTaken), soon, {});
    });
    auto wrap = [](UniqueFd fd) { return std::make_unique<Stream>(std::move(fd)); };
    auto come = [&] { return enter(address, secret, wrap, {.from = 1, .to = 2}, Clock::now() + 200ms, {}); };
    if (isTaken)
      EXPECT_NE(come(), nullptr);
    else
      EXPECT_THROW(come(), StreamEnded);
    channelListener.join();
  }
}

TEST(Network, ListensNoWiderThanNeeded) {
  EXPECT_EQ(listenAddress({{"127.0.0.1", "127.0.0.1"}, "127.0.0.1", "127.0.0.1", ""}), "127.0.0.1");
  EXPECT_EQ(listenAddress({{"10.0.0.1", "10.0.0.2"}, "10.0.0.2", "10.0.0.1", ""}), "10.0.0.2");
  EXPECT_EQ(listenAddress({{"127.0.0.1", "10.0.0.2"}, "127.0.0.1", "127.0.0.1", ""}), "0.0.0.0");
  EXPECT_EQ(listenAddress({{"::1", "fd00::2"}, "::1", "::1", ""}), "::");
}

// A host has many loopback addresses, and its listener uses one of them; other processes reach the host at the address
// at which they reached the coordinator.
TEST(Network, PeersOnTheCoordinatorsHost) {
  NetworkAddresses inside{{"127.0.0.1", "127.0.0.1", "10.0.0.2"}, "127.0.0.1", "127.0.1.1", ""};
  EXPECT_EQ(addressOfPeer(inside, 1), "127.0.0.1");
  EXPECT_EQ(addressOfPeer(inside, 2), "10.0.0.2");
  NetworkAddresses outside{{"127.0.0.1", "::1", "10.0.0.2"}, "10.0.0.2", "10.0.0.1", ""};
  EXPECT_EQ(addressOfPeer(outside, 0), "10.0.0.1");
  EXPECT_EQ(addressOfPeer(outside, 1), "10.0.0.1");
}

TEST(Network, AddressesAreNumeric) {
  EXPECT_EQ(SocketAddress::make("10.0.0.1", 80).family, AF_INET);
  EXPECT_EQ(SocketAddress::make("fd00::1", 80).family, AF_INET6);
  EXPECT_THROW(SocketAddress::make("host.example", 80), Error);
  EXPECT_TRUE(isLoopback("127.3.2.1"));
  EXPECT_TRUE(isLoopback("::1"));
  EXPECT_FALSE(isLoopback("10.0.0.1"));
}

} // namespace
