//===- LocalToken.h - a token for one user's processes on one machine ---*- C++ -*-===//
//
// Where there is no place for the token (docs/coordinator.md), a job over loopback has a random one all the same.
// Process 0 hands it out at a Unix socket, whose other side's user the kernel tells: processes of the same user get it,
// strangers do not. The socket's abstract name is made of the coordinator's address: both belong to one network
// namespace, and nothing is left over in a folder.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Process.h"

#include <asio.hpp>

#include <string>

namespace spmd::coordinator {

/// Hands out a token as long as it lives. On the background thread, but for its construction.
class TokenGiver {
public:
  /// For the coordinator that is served there. Throws spmd::Error where the name is taken.
  TokenGiver(asio::io_context &io, const asio::ip::tcp::endpoint &coordinator, std::string token);

  void start();

private:
  void giveAll();

  asio::posix::stream_descriptor listener;
  asio::steady_timer pause;
  const std::string token;
};

/// The token that is handed out for the coordinator there; "" where none is, as it has one of its own. Throws
/// spmd::Error where it belongs to another user. Waits a second at most, and only for a process of the same user.
std::string askForToken(const asio::ip::tcp::endpoint &coordinator);

} // namespace spmd::coordinator
