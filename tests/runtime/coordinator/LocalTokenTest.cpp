//===- LocalTokenTest.cpp - without a token, jobs belong to one user ------===//

#include "runtime/coordinator/LocalToken.h"
#include "runtime/coordinator/StatusClient.h"
#include "tests/runtime/coordinator/TransportHelper.h"

#include <gmock/gmock.h>

#include <mutex>

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr uid_t stranger = 54321;

/// Runs `body` in a process of another user, and returns its result. Construct it before other threads exist.
class Stranger {
public:
  explicit Stranger(const std::function<std::string()> &body) {
    int go[2], answer[2];
    EXPECT_EQ(::pipe(go), 0);
    EXPECT_EQ(::pipe(answer), 0);
    pid = ::fork();
    if (pid == 0) {
      ::close(go[1]);
      char byte;
      (void)!::read(go[0], &byte, 1); // Waits until the test says go.
      std::string text = ::setresuid(stranger, stranger, stranger) == 0 ? body() : "cannot become another user";
      (void)!::write(answer[1], text.data(), text.size());
      ::_exit(0);
    }
    start = UniqueFd(go[1]);
    said = UniqueFd(answer[0]);
    ::close(go[0]);
    ::close(answer[1]);
  }
  void go() { (void)!::write(start.get(), "g", 1); }
  std::string result() {
    std::string text(4096, '\0');
    ssize_t size = ::read(said.get(), text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    ::waitpid(pid, nullptr, 0);
    return text;
  }

private:
  pid_t pid = -1;
  UniqueFd start, said;
};

std::string joinAndSay(JoinOptions options) {
  try {
    Client::join(std::move(options));
    return "joined";
  } catch (const std::exception &error) {
    return error.what();
  }
}

void withoutToken(JoinOptions &options) {
  options.token.clear();
  options.whyNoToken = "/home/x/token cannot be written: No space left on device";
}

TEST(LocalToken, ProcessesOfOneUserJoinWithoutOne) {
  Port port;
  std::mutex mutex;
  std::vector<std::string> notices;
  auto clients = joinAll(port, 3, [&](JoinOptions &options) {
    withoutToken(options);
    options.notice = [&](const Notice &notice) {
      std::lock_guard lock(mutex);
      notices.push_back(notice.text);
    };
  });
  // The secret of data connections is as long as a token that a user gives.
  std::string token = clients[0]->coordinatorConnection().token;
  EXPECT_EQ(token.size(), 64u);
  EXPECT_EQ(clients[1]->coordinatorConnection().token, token);
  EXPECT_EQ(clients[2]->coordinatorConnection().token, token);
  EXPECT_EQ(queryStatus(port.address, "", nullptr, {}, 5s).numProcesses, 3);
  sayGoodbye(clients);
  EXPECT_THAT(notices,
              ElementsAre(AllOf(HasSubstr("there is no token, because /home/x/token cannot be written: No space"),
                                HasSubstr("give --token-file FILE to all"))));
}

TEST(LocalToken, AStrangerIsTurnedAwayAndTheJobUntouched) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root becomes another user";
  Port port;
  JoinOptions options = optionsFor(port, 0, 2), second = options;
  second.processId = 1;
  second.listenFd = std::nullopt;
  withoutToken(options);
  withoutToken(second);
  Stranger thief([&] { return joinAndSay(second); });
  // This process asks for the token without checking whose coordinator it is.
  Stranger asker([&] {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::string name = "spmd-token/127.0.0.1/" + port.address.substr(port.address.find(':') + 1);
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    char bytes[100];
    if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) != 0)
      return std::string("no socket");
    return std::to_string(::recv(fd.get(), bytes, sizeof bytes, 0)) + " bytes";
  });
  std::vector<std::string> errors = runProcesses(2, [&](int32_t process) {
    if (process == 0) {
      Client::join(options)->goodbye();
      return;
    }
    thief.go();
    EXPECT_THAT(thief.result(), AllOf(HasSubstr("belongs to user 0, this process to user 54321"),
                                      HasSubstr("give --token-file FILE to all processes")));
    asker.go();
    EXPECT_EQ(asker.result(), "0 bytes");
    Client::join(second)->goodbye();
  });
  EXPECT_THAT(errors, Each(""));
}

// A process of another user that has taken the port gets nothing from this process.
TEST(LocalToken, AStrangersCoordinatorIsNotJoined) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root becomes another user";
  Port port;
  JoinOptions options = optionsFor(port, 0, 2), second = options;
  second.processId = 1;
  second.listenFd = std::nullopt;
  second.initializationTimeout = options.initializationTimeout = 3s;
  withoutToken(options);
  withoutToken(second);
  Stranger host([&] { return joinAndSay(options); });
  UniqueFd(*options.listenFd).reset();
  host.go();
  EXPECT_THAT(joinAndSay(second), HasSubstr("belongs to user 54321, this process to user 0"));
  EXPECT_THAT(host.result(), HasSubstr("did not join within 3 s"));
}

// Process 0 has a token from the user, so it gives none away.
TEST(LocalToken, AJobWithATokenKeepsIt) {
  Port port;
  JoinOptions options = optionsFor(port, 0, 2), second = options;
  second.processId = 1;
  second.listenFd = std::nullopt;
  JoinOptions other = second;
  withoutToken(other);
  std::vector<std::string> errors = runProcesses(2, [&](int32_t process) {
    if (process == 0) {
      Client::join(options)->goodbye();
      return;
    }
    EXPECT_THAT(joinAndSay(other),
                HasSubstr("has another token than this process: this process has none, because /home/x"));
    Client::join(second)->goodbye();
  });
  EXPECT_THAT(errors, Each(""));
}

} // namespace
