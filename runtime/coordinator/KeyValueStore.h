//===- KeyValueStore.h - the coordinator's side of Store --------*- C++ -*-===//
//
// A map with quotas, and the waits for keys that are not there yet. Pure: time is passed in, answers come out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Clock.h"

#include <map>
#include <string>
#include <vector>

namespace spmd::coordinator {

/// Whom an answer goes to: a process and the number of its request.
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
    size_t bytes = size_t(64) << 20; ///< Of all keys and values together.
    size_t waitsPerProcess = 4096;
  };

  KeyValueStore() = default;
  explicit KeyValueStore(Quotas quotas) : quotas(quotas) {}

  void set(Requester from, const std::string &key, const std::string &value, std::vector<Answer> &answers);
  void wait(Requester from, const std::string &key, TimePoint deadline, std::vector<Answer> &answers, TimePoint now);
  void removePrefix(Requester from, const std::string &prefix, std::vector<Answer> &answers);
  /// Ends the waits whose time has come.
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
