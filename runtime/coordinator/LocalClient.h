//===- LocalClient.h - the client of a job with one process -----*- C++ -*-===//
//
// Opens no socket and waits for no process, but has the same contract as NetworkClient.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/coordinator/PositionCell.h"
#include "runtime/coordinator/RateMeter.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace spmd::coordinator {

class LocalClient final : public Client {
public:
  explicit LocalClient(const JoinOptions &options);

  int32_t getProcessId() const override { return 0; }
  const Topology &topology() const override { return places; }
  void barrier(const std::string &name, std::chrono::milliseconds timeout) override;
  void goodbye() override;
  JobStatus status() override;
  std::optional<Verdict> verdict() const override;

  void set(const std::string &key, const std::string &value) override;
  std::string wait(const std::string &key, const Awaited &awaited) override;
  void removePrefix(const std::string &prefix) override;

  void atStep(uint64_t launch, int32_t step, const SourceLocation &location) override;
  bool isOver() const override { return over.load(std::memory_order_acquire); }
  [[noreturn]] void throwVerdict() override;
  void reportFailure(const std::string &message) override;
  void reportSharedFailure(const std::string &message, int32_t) override { reportFailure(message); }
  void reportInterruption(int signal) override;

private:
  void checkOver();
  void end(Verdict::Cause cause, int signal, const std::string &text);

  Topology places;
  std::function<ProcessStatistics()> statistics;
  coordinator::TimePoint start;
  RateMeter rate; ///< Guarded by `mutex`.
  PositionCell position;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
  std::optional<Verdict> failure;
  std::atomic<bool> over{false};
};

} // namespace spmd::coordinator
