//===- ChildEndMessage.h - what a launcher tells about a child ---*- C++ -*-===//
//
// The launcher and its children share one AF_UNIX SOCK_SEQPACKET pair per child (SPMD_LAUNCHER_FD); each record is one
// message. That socket cannot be confused with anything else a descriptor number may mean in some program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmd::coordinator {

struct ChildEndMessage {
  static constexpr size_t bytes = 20;

  int32_t process = 0;
  int64_t pid = 0;
  int32_t signal = 0; ///< 0: it exited by itself, with `status`.
  int32_t status = 0;

  std::string encode() const;
  static std::optional<ChildEndMessage> decode(std::string_view record);
};

/// Is this descriptor the children's end of what the launcher makes?
bool isLauncherSocket(int fd);

} // namespace spmd::coordinator
