// The calls of the process's threads, and how they wait. NetworkThread.cpp has the code of the background thread.

#include "runtime/coordinator/NetworkClient.h"

#include "runtime/coordinator/Describe.h"
#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Process.h"
#include "runtime/support/Token.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace spmd::coordinator {

using Stage = MemberMachine::Stage;

constexpr Milliseconds verdictWait{500}; ///< For the verdict, so that all processes print the same.
/// How often a waiting thread looks whether this process delays another one. Most waits are shorter.
constexpr Milliseconds delayInterval{200};
constexpr Milliseconds quietWait{500};        ///< For members to read the verdict before process 0 ends.
constexpr Milliseconds latecomerWait{10'000}; ///< The same, for processes that have not joined yet.
/// The same at the end of a job that succeeded. A member that does not hear of it would report process 0 as lost; one
/// that has died or stands still is given up earlier (FramedConnection).
constexpr Milliseconds farewellWait{10'000};

//===----------------------------------------------------------------------===//
// Joining and leaving
//===----------------------------------------------------------------------===//

NetworkClient::NetworkClient(JoinOptions given)
    : options(std::move(given)), address(parseAddress(options.address, "coordinator_address")), work(io.get_executor()),
      resolver(io), timer(io), connectTimer(io), unheededTimer(io), launcher(io), notices(options.notice) {
  Nonce incarnation = makeNonce();
  memcpy(&hello.incarnation, incarnation.data(), sizeof hello.incarnation);
  hello.processId = options.processId;
  hello.numProcesses = options.numProcesses;
  hello.pid = ::getpid();
  hello.host = hostName();
  hello.bootId = options.hostId.empty() ? machineId() : options.hostId;
  hello.jobId = options.jobId;
  hello.build = "spmdc " SPMDC_VERSION;
  hello.backend = options.backend;
  hello.localDeviceIds = options.localDeviceIds;
  hello.columns = options.columns;
  // Process 0 applies these two for all processes. Of the initialization timeouts the shortest counts.
  hello.columns.push_back({"heartbeat_timeout", formatSeconds(options.heartbeatTimeout.count())});
  hello.columns.push_back({"collective_timeout", formatSeconds(options.collectiveTimeout.count())});
  hello.programDigest = options.programDigest;
  hello.failure = options.failure;
  try {
    encode(hello);
  } catch (const ProtocolError &error) {
    throw Error(std::string("the options to be compared at join are too large: ") + error.what(), Error::Kind::Usage);
  }
}

std::unique_ptr<Client> NetworkClient::join(JoinOptions options) {
  std::unique_ptr<NetworkClient> client(new NetworkClient(std::move(options)));
  if (client->options.launcherFd && isLauncherSocket(*client->options.launcherFd)) {
    ::fcntl(*client->options.launcherFd, F_SETFD, FD_CLOEXEC);
    client->launcher.assign(*client->options.launcherFd);
    client->hasLauncher = true;
  }
  if (client->options.processId == 0)
    client->openServer();
  client->startThread();
  auto tell = [&](Client *joining) {
    if (client->options.joining)
      client->options.joining(joining);
  };
  try {
    tell(client.get());
    client->waitUntilJoined();
  } catch (...) {
    tell(nullptr);
    throw;
  }
  return client;
}

void NetworkClient::openServer() {
  std::optional<Listener> listener;
  if (options.listenFd)
    listener = adoptListener(*options.listenFd, address.port);
  Address bind = options.bindAddress.empty()
                     ? address
                     : parseAddress(options.bindAddress, "coordinator_bind_address", address.port);
  if (!listener) {
    try {
      listener = listenAt(io, bind, !options.token.empty());
    } catch (const PortTaken &taken) {
      throw Error(taken.what() + describePortOwner());
    }
  }
  const asio::ip::address &here = listener->endpoint.address();
  if (options.token.empty() && !here.is_loopback())
    throw Error("serving the coordinator at " + bind.str() +
                    " without a token is refused, because other machines can reach it: make a token with "
                    "`spmdc token > FILE`, then `chmod 600 FILE`, and give --token-file FILE to all processes",
                Error::Kind::Usage);
  if (options.token.empty())
    makeLocalToken(listener->endpoint);
  for (const asio::ip::address &shortcut : listener->shortcuts)
    shortcuts.emplace_back(shortcut, listener->endpoint.port());
  if (shortcuts.empty())
    shortcuts = {listener->endpoint};
  if (!listener->warning.empty())
    notices.add({Notice::Level::Warning, listener->warning});

  ServerOptions serverOptions;
  serverOptions.numProcesses = options.numProcesses;
  serverOptions.jobId = options.jobId;
  serverOptions.token = options.token;
  serverOptions.statusToken = options.statusToken.empty() ? options.token : options.statusToken;
  serverOptions.host = hello.host;
  serverOptions.pid = hello.pid;
  serverOptions.incarnation = hello.incarnation;
  serverOptions.initializationTimeout = options.initializationTimeout;
  serverOptions.heartbeatTimeout = options.heartbeatTimeout;
  serverOptions.collectiveTimeout = options.collectiveTimeout;
  serverOptions.hasLauncher = hasLauncher;
  server = std::make_unique<Server>(io, std::move(*listener), std::move(serverOptions), options.tls);
  server->position = [this] { return currentPosition(); };
  server->quiet = [this] {
    std::lock_guard lock(mutex);
    quiet = true;
    changed.notify_all();
  };
}

/// Without a token every user of this machine could join: process 0 creates a token, and gives it to this user's
/// processes.
void NetworkClient::makeLocalToken(const asio::ip::tcp::endpoint &endpoint) {
  options.token = makeToken();
  tokenServer = std::make_unique<TokenServer>(io, endpoint, options.token);
  notices.add({Notice::Level::Warning,
               "there is no token" + (options.whyNoToken.empty() ? "" : ", because " + options.whyNoToken) +
                   ": only processes of this user on this machine can join; for others make one with `spmdc token > "
                   "FILE`, then `chmod 600 FILE`, and give --token-file FILE to all processes"});
}

/// Connects to the port: a coordinator with the same token says which job it serves.
std::string NetworkClient::describePortOwner() const {
  JoinOptions question = options;
  question.initializationTimeout = Milliseconds(700);
  question.notice = nullptr;
  question.unheeded = nullptr;
  question.launcherFd = std::nullopt;
  NetworkClient probe(std::move(question));
  probe.startThread();
  try {
    probe.waitUntilJoined();
  } catch (const Error &error) {
    std::lock_guard lock(probe.mutex);
    if (!probe.unanswered)
      return std::string("the port is taken: ") + error.what();
  }
  return "the port is taken by another program";
}

void NetworkClient::startThread() {
  MemberOptions memberOptions;
  memberOptions.hello = hello;
  memberOptions.address = address.str();
  memberOptions.token = options.token;
  memberOptions.requestToken = [this] { return askForLocalToken(); };
  memberOptions.whyNoToken = options.whyNoToken;
  ends.token = options.token;
  callers.insert(std::this_thread::get_id());
  memberOptions.initializationTimeout = options.initializationTimeout;
  memberOptions.heartbeatTimeout = options.heartbeatTimeout;
  memberOptions.hasLauncher = hasLauncher;
  memberOptions.programDetails = options.programDetails;
  machine = std::make_unique<MemberMachine>(std::move(memberOptions), makeNonce, Clock::now());
  thread = BackgroundThread("spmd-network", [this] { run(); });
}

void NetworkClient::waitUntilJoined() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stage >= Stage::Running; });
  if (stage == Stage::Refused)
    throw Error(refusal);
  if (stage == Stage::Over)
    throwVerdictLocked(lock);
}

NetworkClient::~NetworkClient() {
  if (thread.joinable()) {
    {
      std::unique_lock lock(mutex);
      if (stage < Stage::Left) {
        lock.unlock();
        reportFailure("it ended without goodbye");
        lock.lock();
      }
      Milliseconds limit = stage == Stage::Left ? farewellWait : quietWait;
      bool isTold = !server || changed.wait_for(lock, limit, [&] { return quiet; });
      // The user has seen the reason already, so there is time.
      if (!isTold && !options.failure.empty() && stage == Stage::Over) {
        notices.add({Notice::Level::Info,
                     "for " + formatSeconds(latecomerWait.count()) +
                         " at most this process waits for those that have not joined yet, to tell them the reason"});
        changed.wait_for(lock, latecomerWait, [&] { return quiet; });
      }
    }
    asio::post(io, [this] {
      if (connection)
        connection->abandon();
      io.stop();
    });
    thread.join();
  }
  server.reset();
  // The launcher's descriptor belongs to the process: another client may come after this one.
  if (launcher.is_open())
    launcher.release();
}

ConnectionEnds NetworkClient::coordinatorConnection() const {
  std::lock_guard lock(mutex);
  return ends;
}

void NetworkClient::goodbye() {
  asio::post(io, [this] {
    machine->goodbye(currentPosition());
    pump();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stage >= Stage::Left; });
  if (stage != Stage::Left)
    throwVerdictLocked(lock);
}

//===----------------------------------------------------------------------===//
// Health
//===----------------------------------------------------------------------===//

void NetworkClient::atStep(uint64_t launch, int32_t step, const SourceLocation &location) {
  position.write(launch, step, location);
  if (!hasBegun.load(std::memory_order_relaxed) && !hasBegun.exchange(true))
    asio::post(io, [this] {
      machine->onFirstStep(Clock::now());
      pump();
    });
}

std::optional<Verdict> NetworkClient::verdict() const {
  std::lock_guard lock(mutex);
  return decided;
}

ProcessStatus NetworkClient::ownStatus() const {
  ProcessStatus self;
  self.process = options.processId;
  self.host = hello.host;
  self.pid = hello.pid;
  self.devices = static_cast<int32_t>(hello.localDeviceIds.size());
  self.position = currentPosition();
  if (options.statistics)
    self.statistics = options.statistics();
  return self;
}

JobStatus NetworkClient::status() {
  if (server) {
    // The serving thread answers, unless it is already ending.
    auto promise = std::make_shared<std::promise<JobStatus>>();
    std::future<JobStatus> answer = promise->get_future();
    asio::post(io, [this, promise] { promise->set_value(server->status()); });
    if (answer.wait_for(verdictWait) == std::future_status::ready)
      return answer.get();
  }
  JobStatus status;
  status.numProcesses = options.numProcesses;
  status.stage = isOver() ? JobStatus::Stage::Over : JobStatus::Stage::Running;
  if (std::optional<Verdict> known = verdict())
    status.verdict = known->str();
  status.processes.push_back(ownStatus());
  return status;
}

bool NetworkClient::hasLeft(int32_t process) const {
  std::lock_guard lock(mutex);
  return departed.count(process) != 0;
}

void NetworkClient::throwVerdict() {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, verdictWait, [&] { return stage >= Stage::Over; });
  throwVerdictLocked(lock);
}

void NetworkClient::throwVerdictLocked(std::unique_lock<std::mutex> &) {
  if (decided)
    throw VerdictError(*decided);
  if (stage == Stage::Refused)
    throw Error(refusal);
  throw Error("the job cannot go on, but the coordinator has not said why within " +
                  std::to_string(verdictWait.count()) + " ms",
              Error::Kind::Verdict);
}

/// Reports without throwing, even if the report is that there is no memory.
template <typename Report> void NetworkClient::reportInAnyCase(const Report &report) noexcept {
  try {
    return report();
  } catch (const std::bad_alloc &) {
    releaseMemoryReserve();
  }
  try {
    report();
  } catch (const std::bad_alloc &) {
    endWithoutMemory();
  }
}

/// The coordinator cannot be told. The job is over for this process; the others see its connection end.
void NetworkClient::endWithoutMemory() noexcept {
  std::lock_guard lock(mutex);
  if (stage >= Stage::Left)
    return;
  stage = Stage::Over;
  decided.emplace();
  decided->culprit = options.processId;
  decided->pid = hello.pid;
  decided->cause = Verdict::Cause::Failed;
  try {
    decided->host = hello.host;
    decided->text = noMemoryText();
  } catch (const std::bad_alloc &) { // Without host and text: there is no memory for them.
  }
  over.store(true, std::memory_order_release);
  changed.notify_all();
}

void NetworkClient::reportFailure(const std::string &message) {
  reportInAnyCase([&] { failHere({message, {}}); });
}

void NetworkClient::reportFailureAt(const std::string &message, uint64_t launch, int32_t step,
                                    const SourceLocation &location) {
  reportInAnyCase(
      [&] { fail({message, {launch, step, Position::State::Running, location.line > 0 ? location.str() : ""}}); });
}

void NetworkClient::reportSharedFailure(const std::string &message, int32_t culprit) {
  reportInAnyCase([&] { failHere({message, {}, culprit}); });
}

void NetworkClient::reportInterruption(int signal) {
  reportInAnyCase([&] { failHere({"", {}, {}, signal}); });
  std::unique_lock lock(mutex);
  if (server)
    changed.wait_for(lock, quietWait, [&] { return quiet; });
}

void NetworkClient::failHere(Fail report) {
  report.position = currentPosition();
  fail(std::move(report));
}

void NetworkClient::fail(Fail report) {
  asio::post(io, [this, report = std::move(report)] {
    machine->fail(report);
    pump();
  });
  waitForVerdict();
}

void NetworkClient::reportMissing(int32_t process, const std::string &message) {
  reportInAnyCase([&] {
    asio::post(io, [this, process, message] {
      machine->request(Missed{process, message});
      pump();
    });
    waitForVerdict();
  });
}

void NetworkClient::waitForVerdict() {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, verdictWait, [&] { return stage >= Stage::Left; });
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// Sends a request with the given number and waits for its answer: the coordinator watches the time limit.
std::string NetworkClient::request(Message message, uint64_t id, const std::string &text) {
  asio::post(io, [this, message = std::move(message)] {
    machine->request(message);
    pump();
  });
  std::unique_lock lock(mutex);
  if (!text.empty()) {
    ++waiting;
    waitsFor = text;
  }
  waitForReply(lock, id);
  if (!text.empty())
    --waiting;
  std::optional<Reply> reply = std::move(requests.at(id));
  requests.erase(id);
  if (stage == Stage::Over || stage == Stage::Refused)
    throwVerdictLocked(lock);
  if (!reply)
    throw Error("this process has already said goodbye to the job");
  if (!reply->ok)
    throw Error(reply->text);
  return std::move(reply->text);
}

/// Tells the coordinator meanwhile if another process waits for a launch that this process cannot begin, because its
/// only thread waits here.
void NetworkClient::waitForReply(std::unique_lock<std::mutex> &lock, uint64_t id) {
  auto isOver = [&] { return requests.at(id).has_value() || stage >= Stage::Left; };
  std::vector<AwaitedCall> told;
  while (!changed.wait_for(lock, delayInterval, isOver)) {
    if (callers.size() != 1 || !callers.count(std::this_thread::get_id()) || !findAwaitedCalls ||
        launches.load(std::memory_order_relaxed) != 0)
      continue;
    auto find = findAwaitedCalls;
    lock.unlock();
    std::vector<AwaitedCall> calls = find();
    for (const AwaitedCall &call : calls)
      if (std::find(told.begin(), told.end(), call) == told.end())
        asio::post(io, [this, message = Delays{id, call.process, call.text}] {
          machine->request(message);
          pump();
        });
    told = std::move(calls);
    lock.lock();
  }
}

void NetworkClient::setAwaitedCalls(std::function<std::vector<AwaitedCall>()> find) {
  std::lock_guard lock(mutex);
  findAwaitedCalls = std::move(find);
}

static void checkKey(const std::string &key, const char *what) {
  if (key.size() > maxKeyBytes)
    throw Error(std::string(what) + " has " + std::to_string(key.size()) + " bytes; the limit is " +
                std::to_string(maxKeyBytes));
}

void NetworkClient::set(const std::string &key, const std::string &value) {
  checkKey(key, "a key of the job's store");
  if (value.size() > maxValueBytes)
    throw Error("the value of key `" + key + "` of the job's store has " + std::to_string(value.size()) +
                " bytes; the limit is " + std::to_string(maxValueBytes));
  uint64_t id = newRequest();
  request(SetRequest{id, key, value}, id, "");
}

std::string NetworkClient::wait(const std::string &key, const Awaited &awaited) {
  checkKey(key, "a key of the job's store");
  uint64_t id = newRequest();
  WaitRequest wait{id, key, awaited.process, awaited.timeout.count(), awaited.call, WaitingThread::Helper};
  if (awaited.inBackground)
    return request(wait, id, "");
  wait.thread = isOnlyThread() ? WaitingThread::Only : WaitingThread::OneOfSeveral;
  return request(wait, id, awaited.call.empty() ? "for key `" + key + "` of the store" : "in " + awaited.call);
}

void NetworkClient::removePrefix(const std::string &prefix) {
  checkKey(prefix, "a prefix of keys of the job's store");
  uint64_t id = newRequest();
  request(RemoveRequest{id, prefix}, id, "");
}

void NetworkClient::barrier(const std::string &name, Milliseconds timeout) {
  checkKey(name, "the name of a barrier");
  uint64_t id = newRequest();
  request(BarrierRequest{id, name, timeout.count(), isOnlyThread()}, id, "at barrier `" + name + "`");
}

/// Whether the calling thread is the only one of this process that has joined or waited for another process.
bool NetworkClient::isOnlyThread() {
  std::lock_guard lock(mutex);
  callers.insert(std::this_thread::get_id());
  return callers.size() == 1;
}

uint64_t NetworkClient::newRequest() {
  std::lock_guard lock(mutex);
  requests.emplace(++lastRequest, std::nullopt);
  return lastRequest;
}

} // namespace spmd::coordinator
