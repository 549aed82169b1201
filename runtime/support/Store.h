//===- Store.h - the key-value store of a job -------------------*- C++ -*-===//
#pragma once

#include <chrono>
#include <string>

namespace spmd {

/// A key-value store through which the processes of a job exchange addresses, socket names and unique ids before they
/// can connect directly. Modelled on Gloo's rendezvous store (set, get, wait with a time limit). Thread-safe. Errors
/// are thrown as spmd::Error; after a verdict every call throws the verdict.
class Store {
public:
  virtual ~Store() = default;

  /// Stores a value; setting a key twice with different values is an error.
  virtual void set(const std::string &key, const std::string &value) = 0;

  /// Returns the value of a key; waits at most `timeout` until it is set.
  virtual std::string wait(const std::string &key, std::chrono::milliseconds timeout) = 0;

  /// Removes all keys that begin with the prefix.
  virtual void removePrefix(const std::string &prefix) = 0;
};

} // namespace spmd
