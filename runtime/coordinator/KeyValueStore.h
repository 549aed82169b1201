//===- KeyValueStore.h - the coordinator's side of Store --------*- C++ -*-===//
//
// A map with quotas, and the requests that wait for keys that are not set yet. The class does no I/O: callers pass the
// time in, and answers come out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Clock.h"

#include <map>
#include <string>
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
  void wait(Requester from, const std::string &key, TimePoint deadline, std::vector<Answer> &answers, TimePoint now);
  void removePrefix(Requester from, const std::string &prefix, std::vector<Answer> &answers);
  /// Ends the waits whose time limit has passed.
  void expire(TimePoint now, std::vector<Answer> &answers);
  TimePoint nextDeadline() const;

private:
  struct Wait {
    Requester from;
    TimePoint begin, deadline;
  };

  Quotas quotas;
  std::map<std::string, std::string> values;
  std::multimap<std::string, Wait> waits;
  std::map<int32_t, size_t> waitCounts;
  size_t bytes = 0;
};

} // namespace spmd::coordinator
