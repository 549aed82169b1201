// Jobs with encrypted connections, and all the ways in which the two sides can disagree.

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/StatusClient.h"
#include "runtime/support/Error.h"
#include "tests/runtime/coordinator/TransportHelper.h"
#include "tests/support/Certificates.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <mutex>
#include <sys/socket.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

namespace {

constexpr const char *remedy = ": give --tls-cert, --tls-key and --tls-ca to all processes of a job, or to none";

class TlsClient : public ::testing::Test {
protected:
  static TestAuthority &authority() {
    static TestAuthority instance;
    return instance;
  }
  static const TlsFiles &good() {
    static const TlsFiles files = authority().make("good");
    return files;
  }
  static std::shared_ptr<const TlsIdentity> identity() {
    static const auto instance = TlsIdentity::load(good());
    return instance;
  }

  /// The errors of processes 0 and 1 of two, with these identities, and the notices of process 0.
  struct Outcome {
    std::vector<std::string> errors, notices;
    double seconds = 0; ///< Until process 1 has its error.
  };
  static Outcome joinTwo(std::shared_ptr<const TlsIdentity> first, std::shared_ptr<const TlsIdentity> second,
                         const std::string &address = "") {
    Port port;
    Outcome outcome;
    std::mutex mutex;
    std::string real = port.address;
    if (!address.empty())
      port.address = address + real.substr(real.find(':'));
    auto begin = std::chrono::steady_clock::now();
    std::vector<JoinOptions> options{optionsFor(port, 0, 2), optionsFor(port, 1, 2)};
    options[0].tls = first;
    options[1].tls = second;
    options[0].initializationTimeout = timeLimit(2000ms);
    options[0].notice = [&](const Notice &notice) {
      std::lock_guard lock(mutex);
      outcome.notices.push_back(notice.text);
    };
    outcome.errors = runProcesses(2, [&](int32_t process) {
      try {
        Client::join(options[process])->goodbye();
      } catch (...) {
        if (process == 1)
          outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        throw;
      }
    });
    return outcome;
  }
};

TEST_F(TlsClient, JoinsTalksAndLeaves) {
  Port port;
  auto clients = joinAll(port, 4, [](JoinOptions &options) { options.tls = identity(); });
  std::string value(200'000, 'v');
  clients[0]->set("key", value);
  EXPECT_EQ(clients[3]->wait("key", {0, 5s}), value);
  EXPECT_THAT(runProcesses(4, [&](int32_t process) { clients[process]->barrier("b", 10s); }), Each(""));
  JobStatus status = queryStatus(port.address, "a token for tests", identity(), std::nullopt, timeLimit(5s));
  EXPECT_EQ(status.processes.size(), 4u);
  EXPECT_THAT(messageOf([&] { queryStatus(port.address, "a token for tests", nullptr, std::nullopt, timeLimit(5s)); }),
              HasSubstr("takes TLS connections only" + std::string(remedy)));
  // The token is still required.
  EXPECT_THAT(messageOf([&] { queryStatus(port.address, "another", identity(), std::nullopt, timeLimit(5s)); }),
              HasSubstr("has another token"));
  // Nothing of it is sent in clear text.
  UniqueFd plain = connectTo(port.address);
  ASSERT_EQ(::send(plain.get(), "SPMD", 4, 0), 4);
  std::string received;
  EXPECT_TRUE(waitForClose(plain.get(), 7000, &received));
  EXPECT_EQ(received.substr(0, 26), "SPMD: TLS on one side only");
  EXPECT_THAT(runProcesses(4,
                           [&](int32_t process) {
                             clients[process]->goodbye();
                             clients[process].reset();
                           }),
              Each(""));
}

TEST_F(TlsClient, OneSideWithoutIsNamedAtOnce) {
  Outcome outcome = joinTwo(identity(), nullptr);
  EXPECT_THAT(outcome.errors[1], AllOf(HasSubstr("the coordinator at 127.0.0.1:"),
                                       HasSubstr(std::string("takes TLS connections only") + remedy)));
  EXPECT_LT(outcome.seconds, timeLimit(1.0));
  EXPECT_THAT(outcome.notices,
              Contains(std::string("a connection from 127.0.0.1 was refused: it does not speak TLS") + remedy));
  EXPECT_THAT(outcome.errors[0], HasSubstr("process 1 of 2 did not join"));

  outcome = joinTwo(nullptr, identity());
  EXPECT_THAT(outcome.errors[1], AllOf(HasSubstr("no TLS connection to the coordinator at 127.0.0.1:"),
                                       HasSubstr(std::string("it does not speak TLS") + remedy)));
  EXPECT_LT(outcome.seconds, timeLimit(1.0));
  EXPECT_THAT(outcome.notices,
              Contains(std::string("a connection from 127.0.0.1 was refused: it uses TLS, but this job "
                                   "was started without TLS") +
                       remedy));
}

TEST_F(TlsClient, AnotherAuthorityIsNamedByBoth) {
  TestAuthority strangers("strangers");
  TlsFiles files = strangers.make("stranger");
  Outcome outcome = joinTwo(identity(), TlsIdentity::load(files));
  EXPECT_THAT(outcome.errors[1],
              HasSubstr(": its certificate is not signed by the authority in " + files.authority + " (--tls-ca)"));
  EXPECT_LT(outcome.seconds, timeLimit(1.0));

  // It trusts the coordinator's certificate, but the coordinator does not trust its own.
  std::ofstream both(strangers.path("both.pem"));
  both << std::ifstream(good().authority).rdbuf() << std::ifstream(files.authority).rdbuf() << std::flush;
  files.authority = strangers.path("both.pem");
  outcome = joinTwo(identity(), TlsIdentity::load(files));
  EXPECT_THAT(outcome.errors[1], HasSubstr(": it rejects " + files.certificate +
                                           " (--tls-cert): it is not signed by the authority that the other side has"));
  EXPECT_LT(outcome.seconds, timeLimit(1.0));
  EXPECT_THAT(outcome.notices,
              Contains("a connection from 127.0.0.1 was refused: its certificate is not signed by the authority in " +
                       good().authority + " (--tls-ca)"));
}

// The name is that of the coordinator's address; process 0 notices too, because it connects to itself.
TEST_F(TlsClient, TheCertificateIsForAnotherHost) {
  std::string name = hostName();
  if (name.empty() || name == "localhost")
    GTEST_SKIP() << "this machine has no name";
  Outcome outcome = joinTwo(identity(), identity(), name);
  if (outcome.errors[1].find("is not known") != std::string::npos)
    GTEST_SKIP() << "this machine's name is not known to itself";
  std::string expected = ": its certificate is for DNS:localhost, IP Address:127.0.0.1, not for " + name;
  EXPECT_THAT(outcome.errors[0], HasSubstr(expected));
}

TEST_F(TlsClient, SilenceAndGarbage) {
  Port port;
  auto clients = joinAll(port, 2, [](JoinOptions &options) { options.tls = identity(); });
  std::vector<UniqueFd> strangers;
  for (int i = 0; i != 400; ++i) {
    strangers.push_back(connectTo(port.address));
    std::string bytes = i % 4 == 0   ? ""
                        : i % 4 == 1 ? std::string("\x16\x03\x01\x02\x00\x01", 6)
                                     : std::string(100, 'x');
    if (i % 4 == 3)
      bytes[0] = 0x16;
    EXPECT_EQ(::send(strangers.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  for (UniqueFd &stranger : strangers)
    EXPECT_TRUE(waitForClose(stranger.get(), 8000));
  EXPECT_THAT(runProcesses(2, [&](int32_t process) { clients[process]->barrier("b", 10s); }), Each(""));
  EXPECT_THAT(runProcesses(2, [&](int32_t process) { clients[process]->goodbye(); }), Each(""));
}

} // namespace
