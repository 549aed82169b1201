//===- ChildEndMessage.h - what a launcher tells about a child ---*- C++ -*-===//
//
// The launcher and its children share one AF_UNIX SOCK_SEQPACKET pair per child (SPMD_LAUNCHER_FD); each record is one
// message. That socket cannot be confused with anything else a descriptor number may mean in some program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmd::coordinator {

struct ChildEndMessage {
  static constexpr size_t maxBytes = 65536;

  int32_t process = 0;
  int64_t pid = 0;
  int32_t signal = 0; ///< 0: it exited by itself, with `status`.
  int32_t status = 0;
  /// The job's, if it had one to tell before it ended: for those that come too late to hear it from the coordinator.
  std::optional<Verdict> verdict = {};

  std::string encode() const;
  static std::optional<ChildEndMessage> decode(std::string_view record);
};

/// Is this descriptor the children's end of what the launcher makes?
bool isLauncherSocket(int fd);

} // namespace spmd::coordinator
