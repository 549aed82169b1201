//===- LocalToken.h - a token for one user's processes on one machine ---*- C++ -*-===//
//
// If the user gave no token (docs/coordinator.md), a job over loopback uses a random one. Process 0 gives it away at a
// Unix socket, where the kernel tells the user of the other side: processes of the same user get it, others do not. The
// abstract name of the socket has the coordinator's address in it: both belong to one network namespace, and no file is
// left over.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Process.h"

#include <asio.hpp>

#include <string>

namespace spmd::coordinator {

/// Gives the token to processes of this user as long as the object lives. Used on the background thread, except for its
/// construction.
class TokenServer {
public:
  /// For the coordinator at this endpoint. Throws spmd::Error if the socket's name is taken.
  TokenServer(asio::io_context &io, const asio::ip::tcp::endpoint &coordinator, std::string token);

  void start();

private:
  void giveAll();

  asio::posix::stream_descriptor listener;
  asio::steady_timer pause;
  const std::string token;
};

/// Returns the token that process 0 gives away for the coordinator at this endpoint; "" if it gives none away, because
/// its job has one of its own. Throws spmd::Error if the job belongs to another user. Waits at most a second, and only
/// for a process of the same user.
std::string requestToken(const asio::ip::tcp::endpoint &coordinator);

} // namespace spmd::coordinator
