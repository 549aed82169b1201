#include "runtime/coordinator/Launcher.h"

#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/OutputPrefixer.h"
#include "runtime/coordinator/OutputThread.h"
#include "runtime/coordinator/ProcessGroup.h"
#include "runtime/coordinator/Protocol.h"
#include "runtime/coordinator/Verdict.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "runtime/support/SignalInlet.h"
#include "runtime/support/Token.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <tuple>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spmd {

using namespace coordinator;
using Clock = std::chrono::steady_clock;

std::string ChildEnd::str() const {
  std::string who = describeProcess(process, "", pid);
  if (signal != 0)
    return who + " was killed by signal " + std::to_string(signal) + " (" + signalName(signal) + ")";
  return who + " exited with status " + std::to_string(status);
}

const Verdict *LaunchResult::verdict() const {
  // A report of a process that is not the culprit counts first: a culprit that was stopped may have woken up to a
  // verdict of its own.
  const ChildReport *best = nullptr;
  for (size_t i = 0; i != reports.size(); ++i) {
    if (!reports[i].verdict)
      continue;
    bool isCulprit = reports[i].verdict->culprit == static_cast<int32_t>(i);
    if (!best || !isCulprit)
      best = &reports[i];
    if (!isCulprit)
      break;
  }
  return best ? &*best->verdict : nullptr;
}

std::string LaunchResult::cause() const {
  const Verdict *known = verdict();
  return known ? known->str() : culprit->str();
}

bool LaunchResult::hasFailedAtTheEnd() const {
  const Verdict *last = interruptedBy != 0 ? verdict() : nullptr;
  return last && (last->cause == Verdict::Cause::Failed || last->cause == Verdict::Cause::Hung ||
                  last->cause == Verdict::Cause::Stuck);
}

bool LaunchResult::isReaderGone() const { return interruptedBy == 0 && culprit && culprit->signal == SIGPIPE; }

int LaunchResult::exitStatus() const {
  if (interruptedBy != 0)
    return hasFailedAtTheEnd() ? 1 : 128 + interruptedBy;
  if (!culprit)
    return outputProblem != 0 ? 1 : 0;
  if (isReaderGone())
    return 128 + SIGPIPE;
  return culprit->signal != 0 ? 1 : culprit->status;
}

namespace {

Error systemError(const std::string &what) { return Error(what + ": " + systemErrorText(errno)); }

/// How long the end of the job waits for a reader of our output that has not read meanwhile.
constexpr std::chrono::seconds readerTime{2};
/// Milliseconds between two checks whether the reader of our output reads again.
constexpr int heldBackInterval = 20;

/// One stream of one child.
struct Stream {
  UniqueFd fd;
  OutputPrefixer prefixer;
};

struct Child {
  pid_t pid = -1;
  UniqueFd exitFd;       ///< Readable when the child has ended.
  UniqueFd reportSocket; ///< The launcher's end of the socket pair (ChildEndMessage.h, ChildReport.h).
  bool running = false;
};

/// One call of launchLocal.
class Job {
public:
  explicit Job(const LaunchOptions &options)
      : options(options), group(options.graceTime), children(options.numProcesses) {}
  ~Job();

  void start();
  LaunchResult watch();

private:
  void listenOnLoopback();
  void startChild(int32_t process, const std::string &token);
  UniqueFd makeStream(OutputThread &target, const std::string &prefix);
  void onSignal(int number);
  void reap(std::vector<int32_t> ended);
  bool endedAsAsked(const ChildEnd &end) const;
  void sendEnd(const ChildEnd &end);
  void readReports(int32_t process);
  bool readStream(Stream &stream);
  void drainStreams();
  void awaitReaders();
  void advanceTakeDown();
  bool anyRunning() const;

  const LaunchOptions &options;
  SignalInlet signals{SIGINT, SIGTERM, SIGHUP};
  ProcessGroup group;
  std::vector<Child> children;
  std::unique_ptr<OutputThread> output = std::make_unique<OutputThread>(STDOUT_FILENO);
  std::unique_ptr<OutputThread> error = std::make_unique<OutputThread>(STDERR_FILENO);
  std::vector<std::unique_ptr<Stream>> streams;
  UniqueFd listener;
  std::string address;
  LaunchResult result;
  int nextSignal = 0; ///< The signal for all children at `nextSignalAt`; 0: none.
  Clock::time_point nextSignalAt = Clock::time_point::max();
  bool takingDown = false;
};

/// Children are left only if an exception was thrown.
Job::~Job() {
  if (!anyRunning())
    return;
  group.signal(SIGKILL);
  for (Child &child : children)
    if (child.running)
      while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR)
        ;
}

bool Job::anyRunning() const {
  return std::any_of(children.begin(), children.end(), [](const Child &child) { return child.running; });
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// Returns a socket that listens at this address, on a port that the kernel chooses and that is written to `where`;
/// empty, with errno, on error.
template <typename SocketAddress> UniqueFd listenOnAnyPort(SocketAddress &where, int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  socklen_t size = sizeof where;
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&where), size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&where), &size) != 0)
    return UniqueFd();
  return fd;
}

/// Listens on a port that the kernel chooses. Process 0 inherits the socket, so no other process can take the port
/// before process 0 serves there. ::1 is for machines without IPv4.
void Job::listenOnLoopback() {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (listener = listenOnAnyPort(v4, AF_INET); listener) {
    address = "127.0.0.1:" + std::to_string(ntohs(v4.sin_port));
    return;
  }
  int problem = errno;
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  if (listener = listenOnAnyPort(v6, AF_INET6); listener) {
    address = "[::1]:" + std::to_string(ntohs(v6.sin6_port));
    return;
  }
  throw Error("cannot listen on loopback: 127.0.0.1: " + systemErrorText(problem) + "; ::1: " + systemErrorText(errno) +
              ": is the loopback interface up (`ip link set lo up`)?");
}

void Job::start() {
  listenOnLoopback();
  std::string token = makeToken();
  for (int32_t process = 0; process != options.numProcesses; ++process)
    startChild(process, token);
  listener.reset();
  if (!options.started)
    return;
  std::vector<pid_t> pids;
  for (const Child &child : children)
    pids.push_back(child.pid);
  options.started(pids, address);
}

/// Connects a child to one of our own outputs with a pipe; returns the child's end.
UniqueFd Job::makeStream(OutputThread &target, const std::string &prefix) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw systemError("cannot create a pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams.push_back(std::make_unique<Stream>(Stream{UniqueFd(ends[0]), OutputPrefixer(prefix, target)}));
  return UniqueFd(ends[1]);
}

void Job::startChild(int32_t process, const std::string &token) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw systemError("cannot create a socket pair");
  UniqueFd theirs(pair[1]);
  children[process].reportSocket = UniqueFd(pair[0]);

  std::vector<std::pair<std::string, std::optional<std::string>>> changes = {
      {"SPMD_COORDINATOR_ADDRESS", address},
      {"SPMD_COORDINATOR_BIND_ADDRESS", std::nullopt},
      {"SPMD_NUM_PROCESSES", std::to_string(options.numProcesses)},
      {"SPMD_PROCESS_ID", std::to_string(process)},
      {"SPMD_TOKEN", token},
      {"SPMD_TOKEN_FILE", std::nullopt},
      {"SPMD_STATUS_TOKEN", options.statusToken.empty() ? std::nullopt : std::optional(options.statusToken)},
      {"SPMD_LAUNCHER_FD", std::to_string(theirs.get())},
      {"SPMD_COORDINATOR_FD", process == 0 ? std::optional(std::to_string(listener.get())) : std::nullopt},
  };
  for (const auto &[name, value] : options.environment) {
    std::erase_if(changes, [&](const auto &change) { return change.first == name; });
    changes.emplace_back(name, value);
  }

  ProcessGroup::Child child;
  child.command = options.command;
  child.environment = environmentWith(changes);
  child.inherit = {theirs.get()};
  if (process == 0)
    child.inherit.push_back(listener.get());
  UniqueFd childOutput, childError;
  if (options.prefixOutput) {
    std::string prefix = "[process " + std::to_string(process) + "] ";
    childOutput = makeStream(*output, prefix);
    childError = makeStream(*error, prefix);
    child.standardOutput = childOutput.get();
    child.standardError = childError.get();
  }
  children[process].pid = group.start(child);
  children[process].running = true;
  children[process].exitFd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, children[process].pid, 0)));
  if (!children[process].exitFd)
    throw systemError("cannot watch process " + std::to_string(children[process].pid));
}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

LaunchResult Job::watch() {
  result.children.resize(children.size());
  result.reports.resize(children.size());
  while (anyRunning()) {
    std::vector<pollfd> polled = {{signals.get(), POLLIN, 0}};
    std::vector<int32_t> processes;
    for (size_t i = 0; i != children.size(); ++i) {
      if (!children[i].running)
        continue;
      polled.push_back({children[i].exitFd.get(), POLLIN, 0});
      polled.push_back({children[i].reportSocket.get(), POLLIN, 0});
      processes.push_back(static_cast<int32_t>(i));
    }
    int timeout = -1;
    for (const auto &stream : streams) {
      bool isHeldBack = stream->fd && stream->prefixer.getTarget().isFull();
      polled.push_back({isHeldBack ? -1 : stream->fd.get(), POLLIN, 0}); // poll ignores a descriptor of -1.
      if (isHeldBack)
        timeout = heldBackInterval;
    }
    if (nextSignal != 0)
      timeout = static_cast<int>(
          std::clamp<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(nextSignalAt - Clock::now()).count(), 0,
                              timeout < 0 ? 1'000'000 : timeout));
    if (::poll(polled.data(), polled.size(), timeout) < 0 && errno != EINTR)
      throw systemError("cannot wait for the processes");

    if (polled[0].revents != 0)
      while (int number = signals.take())
        onSignal(number);
    std::vector<int32_t> ended;
    for (size_t i = 0; i != processes.size(); ++i) {
      if (polled[1 + 2 * i].revents != 0)
        ended.push_back(processes[i]);
      if (polled[2 + 2 * i].revents != 0)
        readReports(processes[i]);
    }
    for (size_t i = 0; i != streams.size(); ++i)
      if (polled[1 + 2 * processes.size() + i].revents != 0)
        readStream(*streams[i]);
    reap(std::move(ended));
    advanceTakeDown();
  }
  group.signal(SIGKILL); // Kills processes that the children have left behind, and the guard.
  drainStreams();
  awaitReaders();
  result.outputProblem = output && output->getProblem() != 0 ? output->getProblem() : error ? error->getProblem() : 0;
  return std::move(result);
}

/// Ctrl-C reaches the launcher alone, because the children are a group of their own. A second one ends the job at once.
void Job::onSignal(int number) {
  bool impatient = result.interruptedBy != 0;
  if (!impatient)
    result.interruptedBy = number;
  takingDown = true;
  group.signal(impatient ? SIGKILL : number);
  nextSignal = SIGKILL;
  bool mayTakeLong = number == SIGTERM && !impatient && !result.culprit;
  nextSignalAt = Clock::now() + (mayTakeLong ? options.terminationTime : options.graceTime);
}

/// Returns whether the child ended by the signal that the launcher passed on, or with the exit status for that signal.
bool Job::endedAsAsked(const ChildEnd &end) const {
  return end.succeeded() || end.signal == result.interruptedBy || end.status == 128 + result.interruptedBy;
}

void Job::reap(std::vector<int32_t> ended) {
  std::vector<ChildEnd> ends;
  for (int32_t process : ended) {
    Child &child = children[process];
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) != child.pid)
      continue;
    readReports(process); // Reads the last reports of the child.
    child.running = false;
    child.exitFd.reset();
    child.reportSocket.reset();
    ChildEnd end;
    end.process = process;
    end.pid = child.pid;
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    end.takenDown = takingDown;
    result.children[process] = end;
    ends.push_back(end);
  }
  // If several children ended at once, one that was killed comes before one that reports its loss.
  std::sort(ends.begin(), ends.end(), [](const ChildEnd &a, const ChildEnd &b) {
    return std::tuple(a.signal == 0, a.process) < std::tuple(b.signal == 0, b.process);
  });
  for (const ChildEnd &end : ends) {
    sendEnd(end);
    // Without this child the others cannot save any more, or have saved already; and a stopped child never ends.
    if (result.interruptedBy != 0)
      nextSignalAt =
          std::min(nextSignalAt, Clock::now() + (endedAsAsked(end) ? options.partingTime : options.settleTime));
    if (end.succeeded() || result.culprit || takingDown)
      continue;
    result.culprit = end;
    nextSignal = SIGTERM;
    nextSignalAt = Clock::now() + options.settleTime;
  }
}

/// Tells all children how one ended, so that the verdict can name the signal even if that child never joined or was
/// process 0.
void Job::sendEnd(const ChildEnd &end) {
  ChildEndMessage message;
  message.process = end.process;
  message.pid = end.pid;
  message.signal = end.signal;
  message.status = end.status;
  message.verdict = result.reports[end.process].verdict;
  std::string record = message.encode();
  for (const Child &child : children)
    if (child.running && child.reportSocket)
      (void)!::send(child.reportSocket.get(), record.data(), record.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// Reads all reports that a child has sent since the last call.
void Job::readReports(int32_t process) {
  std::string buffer(maxChildReportBytes, '\0');
  UniqueFd &reportSocket = children[process].reportSocket;
  while (reportSocket) {
    ssize_t size = ::recv(reportSocket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0)
      return;
    if (size == 0) { // The child has closed its end, so messages to it would not arrive either.
      reportSocket.reset();
      return;
    }
    if (auto report = decodeChildReport(std::string_view(buffer.data(), static_cast<size_t>(size))))
      result.reports[process].update(std::move(*report));
  }
}

void Job::advanceTakeDown() {
  if (nextSignal == 0 || Clock::now() < nextSignalAt || !anyRunning())
    return;
  takingDown = true;
  group.signal(nextSignal);
  nextSignal = nextSignal == SIGTERM ? SIGKILL : 0;
  nextSignalAt = Clock::now() + options.graceTime;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Reads the available output; returns false at the end of the stream.
bool Job::readStream(Stream &stream) {
  char buffer[65536];
  ssize_t size = ::read(stream.fd.get(), buffer, sizeof buffer);
  if (size > 0) {
    stream.prefixer.add(std::string_view(buffer, static_cast<size_t>(size)));
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  stream.prefixer.finish();
  stream.fd.reset();
  return false;
}

/// Reads the rest of all streams. All writers are dead or being killed, so their pipes end soon.
void Job::drainStreams() {
  auto deadline = Clock::now() + std::chrono::seconds(1);
  for (const auto &stream : streams) {
    while (stream->fd) {
      pollfd wait = {stream->fd.get(), POLLIN, 0};
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (::poll(&wait, 1, static_cast<int>(std::max<int64_t>(left, 0))) == 0) {
        stream->prefixer.finish();
        break;
      }
      readStream(*stream);
    }
  }
}

/// Waits until all output of the children is written. If the user asked the job to end, a reader that does not read
/// delays that by at most `readerTime`: the rest of the output is dropped, with the threads that wait for the reader.
void Job::awaitReaders() {
  auto count = [&] { return output->countUnwritten() + error->countUnwritten(); };
  size_t left = count();
  auto deadline = Clock::now() + readerTime;
  bool isInHurry = false;
  while (left > 0) {
    pollfd asked = {signals.get(), POLLIN, 0};
    ::poll(&asked, 1, heldBackInterval);
    while (signals.take())
      isInHurry = true;
    if (size_t now = count(); now < left) {
      left = now;
      deadline = Clock::now() + readerTime;
    }
    if (!isInHurry && (result.interruptedBy == 0 || Clock::now() < deadline))
      continue;
    (void)output.release();
    (void)error.release();
    return;
  }
}

} // namespace

LaunchResult launchLocal(const LaunchOptions &options) {
  if (options.command.empty())
    throw Error("there is no command to launch", Error::Kind::Usage);
  if (options.numProcesses < 1 || options.numProcesses > maxProcesses)
    throw Error("the number of processes is " + std::to_string(options.numProcesses) + ", but should be from 1 to " +
                    std::to_string(maxProcesses),
                Error::Kind::Usage);
  Job job(options);
  job.start();
  return job.watch();
}

} // namespace spmd
