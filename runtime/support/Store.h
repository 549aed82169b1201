//===- Store.h - the key-value store of a job -------------------*- C++ -*-===//
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace spmd {

/// Describes a wait for a key.
struct Awaited {
  /// The process that sets the key.
  int32_t process = 0;
  std::chrono::milliseconds timeout{0};
  /// The operation that needs the key, for messages: `device_put at a.cpp:3`. If it is given, a wait in vain ends the
  /// job with a verdict that names the operation; otherwise the wait throws an error that names the key.
  std::string call = {};
  /// One of the runtime's own threads waits, beside those of the program: the position that this process reports stays
  /// that of the program, and the program's threads may meanwhile do what other processes wait for.
  bool inBackground = false;
};

/// A key-value store through which the processes of a job exchange addresses, socket names and unique ids before they
/// can connect directly. Modelled on Gloo's rendezvous store (set, get, wait with a time limit). Thread-safe. Errors
/// are thrown as spmd::Error; after a verdict every call throws the verdict.
class Store {
public:
  virtual ~Store() = default;

  /// Stores a value; setting a key twice with different values is an error.
  virtual void set(const std::string &key, const std::string &value) = 0;

  /// Returns the value of a key; waits until it is set. Ends with an error at the time limit, and as soon as it is
  /// known that the awaited process does not set the key any more.
  virtual std::string wait(const std::string &key, const Awaited &awaited) = 0;

  /// Removes all keys that begin with the prefix.
  virtual void removePrefix(const std::string &prefix) = 0;
};

} // namespace spmd
