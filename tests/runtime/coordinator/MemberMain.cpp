//===- MemberMain.cpp - a process of a job, for the tests -------*- C++ -*-===//
//
// The tests start this program as real processes, by themselves or through the launcher:
//     run         joins, prints `joined`, then works until the verdict: exit status 1; prints `at work` on the way
//     goodbye     joins, meets the others at a barrier, says goodbye: exit status 0
//     leave P     process P runs five launches and says goodbye; the others print `one has left`, and continue as run
//     fail P      as run, but process P reports a failure
//     exit P S    as run, but process P exits with status S before it joins
//     die P       as run, but process P kills itself before it joins
//     launch N COMMAND...   launches N processes, prefixes their output, and exits with the launcher's status
//     launch-saving N COMMAND...   the same; after SIGTERM they may take an hour, 6 s longer than the first
//
//===----------------------------------------------------------------------===//

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/Launcher.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/Token.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

using namespace spmd;

static JoinOptions optionsFrom(const Environment &environment) {
  JoinOptions options;
  options.address = environment.coordinatorAddress.value_or("");
  options.numProcesses = environment.numProcesses.value_or(1);
  options.processId = environment.processId.value_or(0);
  options.token = findToken(environment);
  options.listenFd = environment.coordinatorFd;
  options.launcherFd = environment.launcherFd;
  options.heartbeatTimeout = environment.heartbeatTimeout.value_or(options.heartbeatTimeout);
  options.initializationTimeout = environment.initializationTimeout.value_or(options.initializationTimeout);
  return options;
}

static void say(const std::string &text) {
  std::string line = text + "\n";
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

static void work(Client &client) {
  for (uint64_t launch = 1; !client.isOver(); ++launch) {
    client.atStep(launch, static_cast<int32_t>(launch % 10), {"mlp.spmd", 5, 7});
    if (launch == 200)
      say("at work");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  client.throwVerdict();
}

static int member(int argc, char **argv) {
  Environment environment = Environment::read();
  std::string mode = argv[1];
  auto argument = [&](int i) { return argc > i ? atoi(argv[i]) : -1; };
  bool chosen = argument(2) == environment.processId;
  if (mode == "exit" && chosen)
    return argument(3);
  if (mode == "die" && chosen)
    raise(SIGKILL);
  JoinOptions options = optionsFrom(environment);
  options.notice = [](const Notice &notice) { say("notice: " + notice.text); };
  auto client = Client::join(std::move(options));
  say("joined " + std::to_string(client->getProcessId()) + " " + std::to_string(::getpid()));
  if (mode == "goodbye") {
    client->barrier("all here", std::chrono::seconds(20));
    client->goodbye();
    say("done");
    return 0;
  }
  if (mode == "leave" && chosen) {
    for (uint64_t launch = 1; launch <= 5; ++launch)
      client->atStep(launch, 0, {"mlp.spmd", 5, 7});
    client->goodbye();
  } else if (mode == "leave") {
    try {
      client->barrier("all here", std::chrono::seconds(20));
    } catch (const Error &) {
      say("one has left");
    }
  }
  if (mode == "fail" && chosen)
    client->reportFailure("it was told to");
  work(*client);
  return 0;
}

static int launch(int argc, char **argv) {
  LaunchOptions options;
  options.numProcesses = atoi(argv[2]);
  options.command.assign(argv + 3, argv + argc);
  options.prefixOutput = true;
  if (std::string(argv[1]) == "launch-saving") {
    options.terminationTime = std::chrono::hours(1);
    options.partingTime = std::chrono::seconds(6);
  }
  options.started = [](const std::vector<pid_t> &pids, const std::string &) {
    std::string text = "started";
    for (pid_t pid : pids)
      text += " " + std::to_string(pid);
    say(text);
  };
  LaunchResult result = launchLocal(options);
  for (const ChildEnd &end : result.children)
    say("end: " + end.str() + (end.takenDown ? " taken down" : ""));
  if (result.culprit)
    say("culprit: " + result.culprit->str());
  return result.exitStatus();
}

int main(int argc, char **argv) {
  try {
    if (argc > 3 && std::string(argv[1]).starts_with("launch"))
      return launch(argc, argv);
    return argc > 1 ? member(argc, argv) : 2;
  } catch (const Error &error) {
    say(std::string("error: ") + error.what());
    return error.getKind() == Error::Kind::Usage ? 2 : 1;
  }
}
