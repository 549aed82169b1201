//===- NetworkClient.h - the client of a job with several processes ---*- C++ -*-===//
//
// Connects the member's logic (MemberMachine.h) with its connection, the launcher's socket, the clock, and the threads
// of the process that call it. In process 0 the coordinator's server runs on the same background thread. That thread
// never waits; the notification thread writes messages for the user.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/FramedConnection.h"
#include "runtime/coordinator/LocalToken.h"
#include "runtime/coordinator/MemberMachine.h"
#include "runtime/coordinator/NotificationThread.h"
#include "runtime/coordinator/PositionCell.h"
#include "runtime/coordinator/Server.h"
#include "runtime/support/BackgroundThread.h"

#include <asio.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace spmd::coordinator {

class NetworkClient final : public Client {
public:
  static std::unique_ptr<Client> join(JoinOptions options);
  ~NetworkClient() override;

  int32_t getProcessId() const override { return options.processId; }
  const Topology &topology() const override { return places; }
  ConnectionEnds coordinatorConnection() const override;
  void barrier(const std::string &name, std::chrono::milliseconds timeout) override;
  void goodbye() override;
  JobStatus status() override;
  std::optional<Verdict> verdict() const override;

  void set(const std::string &key, const std::string &value) override;
  std::string wait(const std::string &key, const Awaited &awaited) override;
  void removePrefix(const std::string &prefix) override;
  void setAwaitedCalls(std::function<std::vector<AwaitedCall>()> find) override;

  void atStep(uint64_t launch, int32_t step, const SourceLocation &location) override;
  void onLaunch() override { launches.fetch_add(1, std::memory_order_relaxed); }
  void onLaunchEnd() override { launches.fetch_sub(1, std::memory_order_relaxed); }
  bool isOver() const override { return over.load(std::memory_order_acquire); }
  bool hasLeft(int32_t process) const override;
  [[noreturn]] void throwVerdict() override;
  void reportFailure(const std::string &message) override;
  void reportFailureAt(const std::string &message, uint64_t launch, int32_t step,
                       const SourceLocation &location) override;
  void reportMissing(int32_t process, const std::string &message) override;
  void reportSharedFailure(const std::string &message, int32_t culprit) override;
  void reportInterruption(int signal) override;

private:
  explicit NetworkClient(JoinOptions options);

  // Called on the thread that joins.
  void openServer();
  void makeLocalToken(const asio::ip::tcp::endpoint &endpoint);
  std::string askForLocalToken();
  std::string describePortOwner() const;
  void startThread();
  void waitUntilJoined();
  uint64_t newRequest();
  bool isOnlyThread();
  void failHere(Fail report);
  void fail(Fail report);
  template <typename Report> void reportInAnyCase(const Report &report) noexcept;
  void endWithoutMemory() noexcept;
  void waitForVerdict();
  std::string request(Message message, uint64_t id, const std::string &text);
  void waitForReply(std::unique_lock<std::mutex> &lock, uint64_t id);
  [[noreturn]] void throwVerdictLocked(std::unique_lock<std::mutex> &lock);

  // Called on the background thread.
  void run();
  void connect();
  void connectNext(asio::ip::tcp::resolver::results_type endpoints, asio::ip::tcp::resolver::results_type::iterator at);
  void onConnected(asio::ip::tcp::socket socket);
  void listenToLauncher();
  void pump();
  void publish();
  void armTimer();
  void armUnheeded();
  Position currentPosition() const;
  ProcessStatus ownStatus() const;

  JoinOptions options;
  Address address; ///< The coordinator's.
  /// The addresses at which process 0 connects to its own socket; empty: it uses `address`.
  std::vector<asio::ip::tcp::endpoint> shortcuts;
  Hello hello;
  bool hasLauncher = false;
  Topology places; ///< Written before join returns.
  PositionCell position;
  std::atomic<int64_t> launches{0};  ///< That are queued or running.
  std::atomic<bool> hasBegun{false}; ///< Whether this process has begun a first step.

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::ip::tcp::resolver resolver;
  asio::steady_timer timer, connectTimer, unheededTimer;
  asio::posix::stream_descriptor launcher;
  NotificationThread notices;
  std::unique_ptr<Server> server;
  std::unique_ptr<TokenServer> tokenServer; ///< In process 0, if the job has no token from the user.
  std::unique_ptr<MemberMachine> machine;
  std::shared_ptr<FramedConnection> connection;
  std::shared_ptr<asio::ip::tcp::socket> attempt; ///< The socket that is connecting.
  asio::ip::tcp::endpoint remote;                 ///< The other end of the connection.
  BackgroundThread unheededThread, thread;

  mutable std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  MemberMachine::Stage stage = MemberMachine::Stage::Connecting;
  std::optional<Verdict> decided;
  ConnectionEnds ends;
  std::string refusal;
  bool unanswered = false;                           ///< Refused because no coordinator answered.
  std::map<uint64_t, std::optional<Reply>> requests; ///< nullopt: not answered yet.
  uint64_t lastRequest = 0;
  int waiting = 0;
  std::string waitsFor;
  std::set<int32_t> departed;        ///< Processes that have said goodbye.
  std::set<std::thread::id> callers; ///< The thread that joined, and the threads that have called wait() or barrier().
  std::function<std::vector<AwaitedCall>()> findAwaitedCalls;
  bool quiet = false; ///< The server has no connections any more.

  std::atomic<bool> over{false};
};

} // namespace spmd::coordinator
