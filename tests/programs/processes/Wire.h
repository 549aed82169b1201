//===- Wire.h - messages between tests and worker processes -----*- C++ -*-===//
//
// Messages over a Unix socket of one machine. The tests send a Request; every process of the job answers with its
// devices' shards of each result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Error.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spmd::testing_processes {

/// Appends numbers and byte strings, and reads them in the same order.
class Message {
public:
  Message() = default;
  explicit Message(std::string bytes) : bytes(std::move(bytes)) {}

  void put(int64_t value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void put(std::string_view value) {
    put(static_cast<int64_t>(value.size()));
    bytes.append(value);
  }
  void put(const std::vector<int64_t> &values) {
    put(static_cast<int64_t>(values.size()));
    for (int64_t value : values)
      put(value);
  }

  int64_t number() {
    int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(static_cast<size_t>(number())); }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> values(static_cast<size_t>(number()));
    for (int64_t &value : values)
      value = number();
    return values;
  }

  const std::string &str() const { return bytes; }

private:
  std::string_view take(size_t count) {
    if (count > bytes.size() - next)
      throw Error("a message between the tests and a worker is too short");
    std::string_view result = std::string_view(bytes).substr(next, count);
    next += count;
    return result;
  }

  std::string bytes;
  size_t next = 0;
};

/// Returns false if the other end is closed.
inline bool sendAll(int fd, const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = send(fd, static_cast<const char *>(data) + done, size - done, MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

inline bool sendMessage(int fd, const Message &message) {
  uint64_t size = message.str().size();
  return sendAll(fd, &size, sizeof size) && sendAll(fd, message.str().data(), message.str().size());
}

/// Returns false if the other end is closed or sends nothing for so long; -1: no time limit.
inline bool receiveAll(int fd, void *data, size_t size, int timeoutMs) {
  for (size_t done = 0; done < size;) {
    pollfd wait{fd, POLLIN, 0};
    if (poll(&wait, 1, timeoutMs) <= 0)
      return false;
    ssize_t count = recv(fd, static_cast<char *>(data) + done, size - done, 0);
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

inline bool receiveMessage(int fd, Message &message, int timeoutMs) {
  uint64_t size = 0;
  if (!receiveAll(fd, &size, sizeof size, timeoutMs))
    return false;
  std::string bytes(size, '\0');
  if (!receiveAll(fd, bytes.data(), size, timeoutMs))
    return false;
  message = Message(std::move(bytes));
  return true;
}

} // namespace spmd::testing_processes
