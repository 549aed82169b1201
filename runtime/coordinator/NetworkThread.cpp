// The part of NetworkClient that runs on the background thread.

#include "runtime/coordinator/ChildReport.h"
#include "runtime/coordinator/NetworkClient.h"
#include "runtime/coordinator/Resolve.h"

#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Process.h"

#include <new>
#include <sys/socket.h>
#include <system_error>

namespace spmd::coordinator {

using asio::ip::tcp;
using Stage = MemberMachine::Stage;

constexpr Milliseconds connectTimeout{3000}; ///< For one attempt; attempts go on until the deadline.
constexpr Milliseconds unheededTime{700};    ///< So that a stuck process, too, ends about a second after the verdict.

void NetworkClient::run() {
  try {
    if (tokenServer)
      tokenServer->start();
    if (server)
      server->start();
    if (hasLauncher)
      listenToLauncher();
    pump();
    io.run();
  } catch (const std::exception &error) {
    // Only a lack of memory or descriptors may throw here.
    releaseMemoryReserve();
    Verdict failed;
    failed.culprit = options.processId;
    failed.pid = hello.pid;
    failed.cause = Verdict::Cause::Failed;
    try {
      auto *ofSystem = dynamic_cast<const std::system_error *>(&error);
      auto *ofMemory = dynamic_cast<const std::bad_alloc *>(&error);
      failed.host = hello.host;
      failed.text = "its control thread ended: " + (ofSystem   ? systemErrorText(ofSystem->code().value())
                                                    : ofMemory ? noMemoryText()
                                                               : error.what());
    } catch (const std::bad_alloc &) { // Without host and text: there is no memory for them.
    }
    std::lock_guard lock(mutex);
    if (stage < Stage::Left) {
      stage = Stage::Over;
      decided = failed;
      over.store(true, std::memory_order_release);
    }
    quiet = true;
    changed.notify_all();
  }
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

void NetworkClient::connect() {
  // Process 0 connects to its own socket, even if the address is one that only other machines can use.
  std::vector<tcp::endpoint> known = shortcuts;
  if (known.empty())
    for (const asio::ip::address &one : addressesOf(address.host))
      known.emplace_back(one, address.port);
  if (!known.empty()) {
    auto endpoints = tcp::resolver::results_type::create(known.begin(), known.end(), address.host, "");
    return connectNext(endpoints, endpoints.begin());
  }
  resolver.async_resolve(address.host, std::to_string(address.port),
                         [this](const asio::error_code &error, tcp::resolver::results_type endpoints) {
                           if (error == asio::error::operation_aborted)
                             return;
                           if (!error)
                             return connectNext(endpoints, endpoints.begin());
                           machine->onConnectFailed("host " + address.host + " is not known (" + error.message() + ")",
                                                    Clock::now());
                           pump();
                         });
}

/// Tries the addresses of the host one after another.
void NetworkClient::connectNext(tcp::resolver::results_type endpoints, tcp::resolver::results_type::iterator at) {
  tcp::endpoint endpoint = at->endpoint();
  attempt = std::make_shared<tcp::socket>(openSocket(io, endpoint.protocol()));
  connectTimer.expires_after(connectTimeout);
  connectTimer.async_wait([socket = std::weak_ptr(attempt)](const asio::error_code &error) {
    asio::error_code ignored;
    if (std::shared_ptr<tcp::socket> pending = socket.lock(); pending && !error)
      pending->close(ignored);
  });
  attempt->async_connect(endpoint, [this, endpoints, at, socket = attempt](const asio::error_code &error) mutable {
    connectTimer.cancel();
    attempt.reset();
    if (!error)
      return onConnected(std::move(*socket));
    if (++at != endpoints.end())
      return connectNext(endpoints, at);
    std::string why = error == asio::error::operation_aborted ? "no answer" : error.message();
    // This machine's /etc/hosts resolves the name to 127.0.1.1. If process 0 is on another machine, it is never found.
    const asio::ip::address &last = endpoints.begin()->endpoint().address();
    if (options.processId != 0 && last.is_loopback() && addressesOf(address.host).empty())
      why += ", and `" + address.host + "` is " + last.to_string() +
             " here, which is this machine itself: where process 0 runs elsewhere, give its address";
    machine->onConnectFailed(why, Clock::now());
    pump();
  });
}

void NetworkClient::onConnected(tcp::socket socket) {
  if (machine->isEnded())
    return; // Too late: the socket closes.
  asio::error_code ignored;
  remote = socket.remote_endpoint(ignored);
  {
    std::lock_guard lock(mutex);
    ends.own = socket.local_endpoint(ignored).address().to_string();
    ends.coordinator = remote.address().to_string();
  }
  std::unique_ptr<TlsSession> tls;
  try {
    if (options.tls)
      tls = options.tls->connect(socket.native_handle(), {certificateNameOf(address), ""});
  } catch (const TlsEnded &ended) {
    machine->onRefused(ended.why, Clock::now());
    return pump();
  }
  FramedConnection::Handlers handlers;
  handlers.record = [this](std::string_view record) {
    machine->onRecord(record, Clock::now());
    pump();
  };
  handlers.malformed = [this](const std::string &why) {
    machine->onMalformed(why, Clock::now());
    pump();
  };
  handlers.refused = [this](const std::string &why) {
    machine->onRefused(why, Clock::now());
    pump();
  };
  handlers.closed = [this](const std::string &why) {
    connection.reset();
    machine->onClosed(why, Clock::now());
    pump();
  };
  connection = std::make_shared<FramedConnection>(std::move(socket), std::move(tls),
                                                  std::vector<size_t>{challengeBytes}, std::move(handlers));
  machine->onConnected(Clock::now());
  connection->start();
  pump();
}

std::string NetworkClient::askForLocalToken() {
  std::string token = requestToken(remote);
  std::lock_guard lock(mutex);
  ends.token = token;
  return token;
}

void NetworkClient::listenToLauncher() {
  launcher.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code &error) {
    if (error)
      return;
    std::string record(ChildEndMessage::maxBytes, '\0');
    ssize_t size = ::recv(launcher.native_handle(), record.data(), record.size(), MSG_DONTWAIT);
    if (size == 0)
      return; // The launcher is gone, and the kernel ends this process too.
    if (size > 0) {
      if (auto end = ChildEndMessage::decode(std::string_view(record.data(), static_cast<size_t>(size)))) {
        if (server)
          server->onChildEnded(*end);
        machine->onChildEnded(*end, Clock::now());
        pump();
      }
    }
    listenToLauncher();
  });
}

//===----------------------------------------------------------------------===//
// The machine's actions and results
//===----------------------------------------------------------------------===//

Position NetworkClient::currentPosition() const {
  Position current = position.read();
  if (current.state == Position::State::Running && launches.load(std::memory_order_relaxed) == 0)
    current.state = Position::State::Idle;
  std::lock_guard lock(mutex);
  if (waiting > 0) {
    current.state = Position::State::Waiting;
    current.location = waitsFor;
  }
  return current;
}

/// After every event: performs the machine's actions, notifies the waiting threads, and sets the timer.
void NetworkClient::pump() {
  for (MemberAction &action : machine->takeActions()) {
    switch (action.kind) {
    case MemberAction::Kind::Connect:
      connect();
      break;
    case MemberAction::Kind::Send:
      if (connection)
        connection->send(std::move(action.bytes));
      break;
    case MemberAction::Kind::Close:
      if (!connection)
        break;
      // While the machine goes on, this was only one attempt.
      if (machine->isEnded())
        connection->closeWhenSent();
      else
        connection->abandon();
      connection.reset();
      break;
    }
  }
  publish();
  for (Notice &notice : machine->takeNotices())
    notices.add(std::move(notice));
  armTimer();
}

void NetworkClient::publish() {
  std::vector<Reply> replies = machine->takeReplies();
  std::lock_guard lock(mutex);
  if (departed.size() != machine->getDeparted().size())
    departed = machine->getDeparted();
  // Without memory, the calling thread has ended this process's part (endWithoutMemory), of which the machine may not
  // know yet: it must not come to life again.
  bool isNew = stage != machine->getStage() && (stage < Stage::Left || machine->isEnded());
  bool news = !replies.empty() || isNew;
  for (Reply &reply : replies)
    if (auto found = requests.find(reply.request); found != requests.end() && !found->second)
      found->second = std::move(reply);
  if (isNew) {
    stage = machine->getStage();
    decided = machine->getVerdict();
    refusal = machine->getRefusal();
    unanswered = machine->isUnanswered();
    if (stage == Stage::Running)
      places = machine->getTopology();
    if (decided && hasLauncher)
      reportToLauncher(options.launcherFd, {.verdict = decided});
    if (decided && options.unheeded)
      armUnheeded();
    if (stage == Stage::Over || stage == Stage::Refused)
      over.store(true, std::memory_order_release);
  }
  if (news)
    changed.notify_all();
}

/// Is never cancelled: if the program acts on the verdict, it destroys the client before the time is over.
void NetworkClient::armUnheeded() {
  unheededTimer.expires_after(unheededTime);
  unheededTimer.async_wait([this](const asio::error_code &error) {
    if (error)
      return;
    auto tell = [this, verdict = *machine->getVerdict()] { options.unheeded(machine->getTopology(), verdict); };
    unheededThread = BackgroundThread("spmd-unheeded", tell);
  });
}

void NetworkClient::armTimer() {
  TimePoint deadline = machine->nextDeadline();
  if (deadline == never) {
    timer.cancel();
    return;
  }
  timer.expires_at(deadline);
  timer.async_wait([this](const asio::error_code &error) {
    if (error)
      return;
    if (options.statistics)
      machine->setStatistics(options.statistics());
    machine->tick(currentPosition(), Clock::now());
    pump();
  });
}

} // namespace spmd::coordinator
