//===- DivergentCalls.cpp - processes with different calls ------*- C++ -*-===//
//
//     divergent-calls FOLDER SEED FIRST COUNT
//
// FOLDER has the artifacts that faults.py has compiled. Each try is a job of real processes (forked from this one,
// which saves the time to load them), with the real coordinator, shared memory and, if they are assigned to different
// hosts, the network. One process starts differently, or makes another sequence of calls. The parent checks for all
// processes: none ends well, none sees a result of the calls that differ, the differing process is named, and it
// measures the time from the second process's call until the last process knew. Prints one line for each try that
// fails, and at the end the number of tries and the longest time.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/runner/RunProgram.h"
#include "runtime/support/Process.h"
#include "tests/support/TimeLimit.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t triesAtATime = 12; ///< They mostly wait.

/// The behaviour of one process of a try.
struct Role {
  std::vector<std::string> calls; ///< Programs to call one after the other; none: `run` with the options below.
  bool waitsForEach = true;
  std::string program, columnValue = "1", jobId;
  int64_t steps = 1, repeat = 0;
  bool carries = true, checkNans = false, print = false;
  int numProcesses = 0;
};

struct Try {
  std::string kind;
  int processes = 2, victim = 0;
  bool isOnSeveralHosts = false;
  std::vector<Role> roles;
  size_t firstDifference = 0;        ///< The first call that differs, if there are calls.
  std::vector<std::string> expected; ///< Texts that every message must contain.
};

class Choice {
public:
  explicit Choice(uint64_t seed) : random(seed) {}
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <typename T> const T &of(const std::vector<T> &all) {
    return all[static_cast<size_t>(pick(0, static_cast<int>(all.size()) - 1))];
  }

private:
  std::mt19937_64 random;
};

/// `max` differs from `sum` in its computation, `wide` in its shapes; `twice` has the same sum as `sum`, in another
/// program.
const std::vector<std::string> callable = {"sum", "max", "wide", "twice"};

void planCalls(Try &plan, Choice &choose) {
  std::vector<std::string> calls;
  for (int i = choose.pick(3, 8); i > 0; --i)
    calls.push_back(choose.of(callable));
  std::vector<std::string> others = calls;
  auto at = static_cast<size_t>(choose.pick(0, static_cast<int>(calls.size()) - 1));
  if (plan.kind == "order") {
    at = std::min(at, calls.size() - 2);
    calls[at] = choose.of(callable);
    while (calls[at + 1] == calls[at])
      calls[at + 1] = choose.of(callable);
    others = calls;
    std::swap(calls[at], calls[at + 1]);
  } else if (plan.kind == "shape") {
    others[at] = "sum";
    calls = others;
    calls[at] = "wide";
  } else if (plan.kind == "program") {
    others[at] = "sum";
    calls = others;
    calls[at] = "twice";
  } else if (plan.kind == "skip") {
    calls.erase(calls.begin() + static_cast<ptrdiff_t>(at));
  } else if (plan.kind == "early") {
    calls.resize(at);
  } else {
    calls.push_back(choose.of(callable));
  }
  plan.firstDifference = static_cast<size_t>(
      std::mismatch(calls.begin(), calls.end(), others.begin(), others.end()).first - calls.begin());
  bool waits = choose.chance(50);
  for (int process = 0; process != plan.processes; ++process) {
    Role &role = plan.roles[static_cast<size_t>(process)];
    role.calls = process == plan.victim ? calls : others;
    role.waitsForEach = waits;
  }
  for (const std::vector<std::string> &one : {calls, others})
    if (plan.firstDifference < one.size())
      plan.expected.push_back(one[plan.firstDifference] + std::to_string(plan.processes) + ".spmd:2:");
}

void planStart(Try &plan, Choice &choose) {
  for (Role &role : plan.roles)
    role.program = "loop";
  Role &odd = plan.roles[static_cast<size_t>(plan.victim)];
  if (plan.kind == "text") {
    odd.program = "loop-other";
  } else if (plan.kind == "mesh") {
    odd.program = "loop-mesh";
    plan.expected = {"mesh differs"};
  } else if (plan.kind == "--set") {
    odd.columnValue = "2";
    plan.expected = {"--set N differs", "`1` on ", "`2` on "};
  } else if (plan.kind == "--steps") {
    odd.steps = choose.pick(2, 1000);
    plan.expected = {"--steps differs", "`1` on ", "`" + std::to_string(odd.steps) + "` on "};
  } else if (plan.kind == "--carry") {
    odd.carries = false;
    plan.expected = {"--carry differs"};
  } else if (plan.kind == "--repeat") {
    for (Role &role : plan.roles) {
      role.steps = 0;
      role.carries = false;
    }
    odd.repeat = choose.pick(1, 9);
    plan.expected = {"--repeat differs", "`" + std::to_string(odd.repeat) + "` on "};
  } else if (plan.kind == "--check-nans") {
    odd.checkNans = true;
    plan.expected = {"--check-nans differs"};
  } else if (plan.kind == "--print") {
    odd.print = true;
    plan.expected = {"results asked for differs"};
  } else {
    odd.numProcesses = plan.processes + choose.pick(1, 3);
    plan.expected = {"num_processes differs", "`" + std::to_string(plan.processes) + "`",
                     "`" + std::to_string(odd.numProcesses) + "`"};
  }
  plan.expected.push_back("process " + std::to_string(plan.victim));
}

Try planTry(uint64_t seed) {
  Choice choose(seed);
  Try plan;
  plan.processes = choose.pick(2, 4);
  plan.victim = choose.pick(0, plan.processes - 1);
  plan.isOnSeveralHosts = choose.chance(30);
  plan.roles.resize(static_cast<size_t>(plan.processes));
  for (Role &role : plan.roles)
    role.numProcesses = plan.processes;
  if (choose.chance(60)) {
    plan.kind = choose.of<std::string>({"order", "shape", "program", "skip", "early", "extra"});
    planCalls(plan, choose);
  } else {
    plan.kind = choose.of<std::string>(
        {"text", "mesh", "--set", "--steps", "--carry", "--repeat", "--check-nans", "--print", "num_processes"});
    planStart(plan, choose);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// A process
//===----------------------------------------------------------------------===//

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

void say(const std::string &line) {
  std::string text = std::to_string(nowNs()) + " " + line + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

spmd::Array argumentOf(const spmd::Function &function) {
  spmd::ValueDescription parameter = function.parameters()[0];
  return spmd::make_array_from_callback(parameter.shape, parameter.dtype, parameter.sharding,
                                        [](const spmd::Index &index, void *target) {
                                          auto *out = static_cast<float *>(target);
                                          for (int64_t i = index[0].start; i != index[0].stop; ++i)
                                            *out++ = 1.0f;
                                        });
}

int makeCalls(const std::string &folder, const Role &role, const Try &plan) {
  try {
    spmd::initialize();
    std::map<std::string, spmd::Function> functions;
    for (const std::string &name : callable)
      functions[name] = spmd::load(folder + "/" + name + std::to_string(plan.processes) + ".spmdx");
    std::map<std::string, spmd::Array> arguments;
    for (auto &[name, function] : functions)
      arguments[name] = argumentOf(function);
    std::vector<spmd::Array> results;
    for (size_t i = 0; i != role.calls.size(); ++i) {
      if (i == plan.firstDifference)
        say("arrives");
      results.push_back(functions[role.calls[i]](arguments[role.calls[i]])[0]);
      if (role.waitsForEach) {
        results.back().block_until_ready();
        say("result " + std::to_string(i));
      }
    }
    if (role.calls.size() == plan.firstDifference)
      say("arrives");
    for (size_t i = 0; !role.waitsForEach && i != results.size(); ++i) {
      results[i].block_until_ready();
      say("result " + std::to_string(i));
    }
    spmd::shutdown();
    say("ends well");
    return 0;
  } catch (const spmd::Error &error) {
    say(std::string("error ") + error.what());
    return 1;
  }
}

int startDifferently(const std::string &folder, const Role &role, const Try &plan) {
  spmd::RunOptions options;
  options.inputs = {"x=ones"};
  options.steps = role.steps;
  if (role.carries)
    options.carries = {"x"};
  options.repeat = role.repeat;
  options.checkNans = role.checkNans;
  options.print = role.print;
  std::ostringstream out, err;
  say("arrives");
  std::string path = folder + "/" + role.program + std::to_string(plan.processes) + ".spmdx";
  int status = spmd::runProgram(
      options,
      {.command = "run",
       .load = [&](std::ostream &) { return std::make_shared<const spmd::Artifact>(spmd::readArtifact(path)); },
       .columns = {{"--set N", role.columnValue}},
       .childCommand = {},
       .out = out,
       .err = err});
  std::string text = err.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  say((status == 0 ? "ends well " : "error ") + text);
  return status;
}

//===----------------------------------------------------------------------===//
// Its parent
//===----------------------------------------------------------------------===//

struct Running {
  pid_t pid = -1;
  spmd::UniqueFd stream;
  std::string output;
  int status = 0;
  bool hasEnded = false;
};

struct Job {
  uint64_t number = 0;
  Try plan;
  std::vector<Running> processes;
  Clock::time_point deadline;
};

spmd::UniqueFd listenOnLoopback(uint16_t &port) {
  spmd::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&where), size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&where), &size) != 0)
    throw spmd::Error("cannot listen");
  port = ntohs(where.sin_port);
  return fd;
}

void start(Job &job, const std::string &folder) {
  uint16_t port = 0;
  spmd::UniqueFd listener = listenOnLoopback(port);
  job.deadline = Clock::now() + std::chrono::seconds(20);
  job.processes.resize(job.plan.roles.size());
  for (size_t process = 0; process != job.processes.size(); ++process) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw spmd::Error("cannot make a pipe");
    job.processes[process].stream = spmd::UniqueFd(ends[0]);
    spmd::UniqueFd theirs(ends[1]);
    const Role &role = job.plan.roles[process];
    job.processes[process].pid = ::fork();
    if (job.processes[process].pid != 0)
      continue;
    ::dup2(theirs.get(), STDOUT_FILENO);
    auto set = [](const char *name, const std::string &value) { ::setenv(name, value.c_str(), 1); };
    set("SPMD_COORDINATOR_ADDRESS", "127.0.0.1:" + std::to_string(port));
    set("SPMD_NUM_PROCESSES", std::to_string(role.numProcesses));
    set("SPMD_PROCESS_ID", std::to_string(process));
    set("SPMD_TOKEN", "of try " + std::to_string(job.number));
    set("SPMD_DEVICES_PER_PROCESS", "1");
    set("SPMD_INITIALIZATION_TIMEOUT", "15");
    if (process == 0)
      set("SPMD_COORDINATOR_FD", std::to_string(listener.release()));
    else
      listener.reset();
    if (job.plan.isOnSeveralHosts)
      set("SPMD_HOST_ID", "host " + std::to_string(process % 2));
    std::exit(role.calls.empty() && !role.program.empty() ? startDifferently(folder, role, job.plan)
                                                          : makeCalls(folder, role, job.plan));
  }
}

/// Returns what went wrong, or an empty text, and the time until the last process knew.
std::string check(const Job &job, double &seconds) {
  int64_t arrivedVictim = 0, arrivedOther = 0, lastError = 0;
  for (size_t process = 0; process != job.processes.size(); ++process) {
    const Running &running = job.processes[process];
    bool isVictim = static_cast<int>(process) == job.plan.victim;
    std::string who = "process " + std::to_string(process) + ": ";
    if (!WIFEXITED(running.status) || WEXITSTATUS(running.status) == 0)
      return who + "ends with status " + std::to_string(running.status);
    std::istringstream lines(running.output);
    bool hasError = false;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      int64_t at = 0;
      std::string what;
      words >> at >> what;
      if (what == "arrives" && isVictim)
        arrivedVictim = at;
      else if (what == "arrives")
        arrivedOther = arrivedOther == 0 ? at : std::min(arrivedOther, at);
      if (what == "result") {
        size_t number = 0;
        words >> number;
        if (!job.plan.roles[process].calls.empty() && number >= job.plan.firstDifference)
          return who + "sees a result of a call that is not the same on all";
      }
      if (what != "error")
        continue;
      hasError = true;
      lastError = std::max(lastError, at);
      for (const std::string &part : job.plan.expected)
        if (line.find(part) == line.npos)
          return who + "does not name `" + part + "`";
      if (line.find("process " + std::to_string(job.plan.victim)) == line.npos)
        return who + "does not name process " + std::to_string(job.plan.victim);
    }
    if (!hasError)
      return who + "does not say why it ends";
  }
  if (arrivedVictim == 0 || arrivedOther == 0)
    return "not all reach their calls";
  seconds = static_cast<double>(lastError - std::max(arrivedVictim, arrivedOther)) * 1e-9;
  return seconds > spmd::test::timeLimit(1.0) ? "the last knew after " + std::to_string(seconds) + " s" : "";
}

/// Reads output; returns true when all processes of the job have ended.
bool advance(Job &job) {
  bool isOver = true;
  for (Running &running : job.processes) {
    if (running.hasEnded)
      continue;
    char buffer[4096];
    pollfd ready = {running.stream.get(), POLLIN, 0};
    while (running.stream && ::poll(&ready, 1, 0) > 0) {
      ssize_t size = ::read(running.stream.get(), buffer, sizeof buffer);
      if (size > 0)
        running.output.append(buffer, static_cast<size_t>(size));
      else
        running.stream.reset();
    }
    if (!running.stream && ::waitpid(running.pid, &running.status, WNOHANG) == running.pid)
      running.hasEnded = true;
    isOver &= running.hasEnded;
  }
  if (!isOver && Clock::now() > job.deadline)
    for (Running &running : job.processes)
      if (!running.hasEnded)
        ::kill(running.pid, SIGKILL);
  return isOver;
}

std::string transcript(const Job &job) {
  std::string text = "kind " + job.plan.kind + ", " + std::to_string(job.plan.processes) + " processes" +
                     (job.plan.isOnSeveralHosts ? " on two hosts" : "") + ", victim " +
                     std::to_string(job.plan.victim) + ", first difference " + std::to_string(job.plan.firstDifference);
  for (size_t process = 0; process != job.processes.size(); ++process) {
    text +=
        "\n  process " + std::to_string(process) + " (status " + std::to_string(job.processes[process].status) + ")";
    for (const std::string &call : job.plan.roles[process].calls)
      text += " " + call;
    std::istringstream lines(job.processes[process].output);
    for (std::string line; std::getline(lines, line);)
      text += "\n    " + line.substr(0, 600);
  }
  return text;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: divergent-calls FOLDER SEED FIRST COUNT\n");
    return 2;
  }
  std::string folder = argv[1];
  uint64_t seed = std::stoull(argv[2]), next = std::stoull(argv[3]), end = next + std::stoull(argv[4]);
  uint64_t done = 0, failed = 0;
  double worst = 0;
  std::vector<Job> running;
  while (next != end || !running.empty()) {
    while (next != end && running.size() < triesAtATime) {
      Job &job = running.emplace_back();
      job.number = next++;
      std::seed_seq mixed{seed, job.number};
      std::mt19937_64 mixer(mixed);
      job.plan = planTry(mixer());
      start(job, folder);
    }
    std::vector<pollfd> streams;
    for (const Job &job : running)
      for (const Running &process : job.processes)
        if (process.stream)
          streams.push_back({process.stream.get(), POLLIN, 0});
    ::poll(streams.data(), streams.size(), streams.empty() ? 1 : 20);
    for (size_t i = 0; i != running.size();) {
      if (!advance(running[i])) {
        ++i;
        continue;
      }
      double seconds = 0;
      std::string problem = check(running[i], seconds);
      ++done;
      worst = std::max(worst, problem.empty() ? seconds : 0);
      if (!problem.empty() && ++failed <= 20)
        std::cout << "FAILED: seed " << seed << " try " << running[i].number << ": " << problem << "\n"
                  << transcript(running[i]) << std::endl;
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  std::cout << "tries " << done << " failed " << failed << " worst " << worst << std::endl;
  return failed == 0 ? 0 : 1;
}
