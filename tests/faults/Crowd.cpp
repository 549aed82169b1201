//===- Crowd.cpp - very many processes of one job ---------------*- C++ -*-===//
//
//     crowd N SEED
//
// Forks N processes on this machine, which join one coordinator. When all have joined, kills one of them (-9); all
// others must name it. Prints the time from the first fork until the last process had joined, and from the kill until
// the last process knew. Each process has an ordinary client, but no devices.
//
//===----------------------------------------------------------------------===//

#include "runtime/coordinator/Client.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// The state that a process reports to its parent, in shared memory.
struct Word {
  std::atomic<int64_t> joinedAt, knewAt;
  char text[400];
};

struct Board {
  std::atomic<int32_t> joined, knew;
};

int takePart(const spmd::JoinOptions &options, Board &board, Word &word) {
  try {
    std::unique_ptr<spmd::Client> client = spmd::Client::join(options);
    word.joinedAt = nowNs();
    board.joined.fetch_add(1);
    client->wait("a key that no process sets", {0, std::chrono::seconds(100)}); // Throws the verdict when there is one.
  } catch (const spmd::Error &error) {
    word.knewAt = nowNs();
    std::strncpy(word.text, error.what(), sizeof word.text - 1);
    board.knew.fetch_add(1);
  }
  return 1;
}

template <typename Condition> bool waitFor(Condition &&holds, std::chrono::seconds limit) {
  for (auto end = Clock::now() + limit; !holds(); std::this_thread::sleep_for(std::chrono::milliseconds(2)))
    if (Clock::now() > end)
      return false;
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: crowd N SEED\n");
    return 2;
  }
  const int32_t count = std::atoi(argv[1]);
  std::mt19937_64 random(std::strtoull(argv[2], nullptr, 10));
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  spmd::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  if (::bind(listener.get(), reinterpret_cast<sockaddr *>(&where), size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&where), &size) != 0)
    return 2;
  size_t bytes = sizeof(Board) + static_cast<size_t>(count) * sizeof(Word);
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 2;
  auto *board = static_cast<Board *>(memory);
  auto *words = reinterpret_cast<Word *>(board + 1);

  spmd::JoinOptions options;
  options.address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  options.numProcesses = count;
  options.token = "of the crowd";
  options.columns = {{"mesh", "a=4"}, {"--steps", "10"}, {"program", std::string(2000, 'x')}};
  options.initializationTimeout = std::chrono::seconds(60);
  std::vector<pid_t> pids;
  int64_t began = nowNs();
  for (int32_t process = 0; process != count; ++process) {
    pid_t pid = ::fork();
    if (pid < 0) {
      std::perror("fork");
      break;
    }
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      options.processId = process;
      if (process == 0)
        options.listenFd = listener.release();
      else
        listener.reset();
      ::_exit(takePart(options, *board, words[process]));
    }
    pids.push_back(pid);
  }
  listener.reset();
  int64_t started = nowNs();
  bool joined = waitFor([&] { return board->joined.load() == count; }, std::chrono::seconds(60));
  int64_t lastJoined = 0, lastKnew = 0, killedAt = 0;
  for (int32_t process = 0; process != count; ++process)
    lastJoined = std::max(lastJoined, words[process].joinedAt.load());
  auto victim = static_cast<int32_t>(random() % static_cast<uint64_t>(count));
  int wrong = 0;
  if (joined) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700)); // Heartbeats have begun.
    killedAt = nowNs();
    ::kill(pids[static_cast<size_t>(victim)], SIGKILL);
    waitFor([&] { return board->knew.load() == count - 1; }, std::chrono::seconds(30));
  }
  std::string named = "process " + std::to_string(victim) + " (" + spmd::hostName() + ", pid " +
                      std::to_string(pids[static_cast<size_t>(victim)]) + ") was lost without goodbye";
  for (int32_t process = 0; process != count; ++process) {
    if (process == victim)
      continue;
    lastKnew = std::max(lastKnew, words[process].knewAt.load());
    if (std::string(words[process].text).rfind(named, 0) == 0)
      continue;
    if (++wrong <= 3)
      std::printf("process %d: %s\n", process, words[process].text);
  }
  for (pid_t pid : pids)
    ::kill(pid, SIGKILL);
  for (pid_t pid : pids)
    ::waitpid(pid, nullptr, 0);
  std::printf("processes %d started %.3f joined %.3f knew %.3f wrong %d\n", board->joined.load(),
              static_cast<double>(started - began) * 1e-9, static_cast<double>(lastJoined - began) * 1e-9,
              static_cast<double>(lastKnew - killedAt) * 1e-9, wrong);
  return joined && wrong == 0 ? 0 : 1;
}
