//===- Store.h - the key-value store of a job -------------------*- C++ -*-===//
#pragma once

#include <chrono>
#include <string>

namespace spmd {

/// What the processes of a job tell one another before they can talk directly: addresses, names of sockets, unique
/// ids. After Gloo's rendezvous store (set, get, wait with a time limit). Thread-safe. Errors are thrown as
/// spmd::Error; after a verdict every call throws it.
class Store {
public:
  virtual ~Store() = default;

  /// Stores a value; setting a key twice with different values is an error.
  virtual void set(const std::string &key, const std::string &value) = 0;

  /// The value of a key, waiting for it to be set for at most `timeout`.
  virtual std::string wait(const std::string &key, std::chrono::milliseconds timeout) = 0;

  /// Removes all keys that begin with the prefix.
  virtual void removePrefix(const std::string &prefix) = 0;
};

} // namespace spmd
