//===- ChildEndMessage.h - how a child ended --------------------*- C++ -*-===//
//
// The launcher has one AF_UNIX SOCK_SEQPACKET socket pair with each child (SPMD_LAUNCHER_FD); each record is one
// message. A descriptor with this number in another program is recognized as foreign, because it is not such a socket
// (isLauncherSocket).
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
  int32_t signal = 0; ///< The signal that killed the child; 0: it exited by itself, with `status`.
  int32_t status = 0;
  /// The verdict of the child's job, if it reported one before it ended. Processes that start too late to hear it from
  /// the coordinator learn it so.
  std::optional<Verdict> verdict = {};

  std::string encode() const;
  static std::optional<ChildEndMessage> decode(std::string_view record);
};

/// Returns whether the descriptor is a child's end of a launcher's socket pair.
bool isLauncherSocket(int fd);

} // namespace spmd::coordinator
