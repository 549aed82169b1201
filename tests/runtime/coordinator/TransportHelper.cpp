#include "tests/runtime/coordinator/TransportHelper.h"

#include "runtime/support/Error.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spmd::test {

Port::Port() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&where), size) != 0 || ::listen(fd.get(), 128) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&where), &size) != 0)
    throw std::runtime_error("no port");
  address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
}

JoinOptions optionsFor(Port &port, int32_t process, int32_t numProcesses) {
  JoinOptions options;
  options.address = port.address;
  options.numProcesses = numProcesses;
  options.processId = process;
  options.initializationTimeout = timeLimit(std::chrono::seconds(30));
  options.token = "a token for tests";
  if (process == 0)
    options.listenFd = port.fd.release();
  return options;
}

std::vector<std::string> runProcesses(int32_t numProcesses, const std::function<void(int32_t)> &body) {
  std::vector<std::string> errors(numProcesses);
  std::vector<std::thread> threads;
  for (int32_t process = 0; process != numProcesses; ++process)
    threads.emplace_back([&, process] {
      try {
        body(process);
      } catch (const std::exception &error) {
        errors[process] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

std::vector<std::unique_ptr<Client>> joinAll(Port &port, int32_t numProcesses,
                                             const std::function<void(JoinOptions &)> &change) {
  std::vector<std::unique_ptr<Client>> clients(numProcesses);
  std::vector<JoinOptions> options;
  for (int32_t process = 0; process != numProcesses; ++process) {
    options.push_back(optionsFor(port, process, numProcesses));
    if (change)
      change(options.back());
  }
  std::vector<std::string> errors =
      runProcesses(numProcesses, [&](int32_t process) { clients[process] = Client::join(options[process]); });
  for (const std::string &error : errors)
    if (!error.empty())
      throw std::runtime_error(error);
  return clients;
}

void sayGoodbye(std::vector<std::unique_ptr<Client>> &clients) {
  std::vector<std::string> errors = runProcesses(static_cast<int32_t>(clients.size()), [&](int32_t process) {
    clients[process]->goodbye();
    clients[process].reset();
  });
  EXPECT_THAT(errors, testing::Each(""));
}

double secondsOf(const std::function<void()> &body) {
  auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

UniqueFd connectTo(const std::string &address) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&where), sizeof where) != 0)
    throw std::runtime_error("cannot connect to " + address);
  return fd;
}

bool waitForClose(int fd, int milliseconds, std::string *received) {
  auto deadline = std::chrono::steady_clock::now() + timeLimit(std::chrono::milliseconds(milliseconds));
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd wait = {fd, POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0)
      return false;
    char buffer[4096];
    ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size <= 0)
      return true;
    if (received)
      received->append(buffer, static_cast<size_t>(size));
  }
}

} // namespace spmd::test
