//===- KeyValueStore.h - the coordinator's side of Store --------*- C++ -*-===//
//
// A map with quotas, and the requests that wait for keys that are not set yet. Each request names the process that sets
// its key, so that the coordinator can end waits that are in vain. The class does no I/O: callers pass the time in, and
// answers come out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Clock.h"
#include "runtime/coordinator/Protocol.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spmd::coordinator {

/// The receiver of an answer: a process and the number of its request.
struct Requester {
  int32_t process = 0;
  uint64_t request = 0;
};

struct Answer {
  Requester to;
  bool ok = true;
  std::string text;
};

class KeyValueStore {
public:
  struct Quotas {
    size_t keys = 100'000;
    size_t bytes = size_t(64) << 20; ///< Keys and values together.
    size_t waitsPerProcess = 4096;
  };

  KeyValueStore() = default;
  explicit KeyValueStore(Quotas quotas) : quotas(quotas) {}

  void set(Requester from, const std::string &key, const std::string &value, std::vector<Answer> &answers);
  void wait(int32_t process, const WaitRequest &request, std::vector<Answer> &answers, TimePoint now);
  void removePrefix(Requester from, const std::string &prefix, std::vector<Answer> &answers);

  /// A request for a key that is not set yet.
  struct Wait {
    Requester from;
    std::string key;
    int32_t setter = 0;
    std::string call; ///< Awaited::call; may be empty.
    TimePoint begin, deadline;
  };
  /// Removes and returns the waits whose time limit has passed. The caller answers them.
  std::vector<Wait> takeExpired(TimePoint now);
  /// Removes and returns the waits for keys that this process sets. The caller answers them.
  std::vector<Wait> takeWaitsFor(int32_t setter);
  /// Returns the wait of the only thread of a process, or null: while it waits, the process does nothing else that
  /// others wait for.
  const Wait *findOnlyWait(int32_t process) const;
  /// Returns the processes whose only thread waits.
  std::vector<int32_t> findProcessesAtWait() const;
  TimePoint nextDeadline() const;

private:
  void forget(Requester from);
  template <typename Condition> std::vector<Wait> take(const Condition &condition);

  Quotas quotas;
  std::map<std::string, std::string> values;
  std::multimap<std::string, Wait> waits;
  std::map<int32_t, size_t> waitCounts;
  /// The request and the key for which the only thread of a process waits.
  std::map<int32_t, std::pair<uint64_t, std::string>> onlyWaits;
  size_t bytes = 0;
};

} // namespace spmd::coordinator
