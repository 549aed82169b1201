//===- Resolve.h - from a host's text to addresses --------------*- C++ -*-===//
#pragma once

#include <asio/ip/address.hpp>

#include <string>
#include <vector>

namespace spmd::coordinator {

/// Returns the addresses of a host's text that need no lookup: a number, or `localhost` (also `*.localhost`), which is
/// this machine's loopback (RFC 6761) even if no file says so, as in a container without /etc/hosts: 127.0.0.1, or ::1
/// if there is no IPv4. Empty: the name has to be looked up.
std::vector<asio::ip::address> addressesOf(const std::string &host);

/// The addresses at which process 0 may listen.
struct ListenPlan {
  /// One of these must belong to this machine; otherwise `coordinator_address` is that of another machine.
  std::vector<asio::ip::address> own;
  /// Process 0 listens at the first of these that works.
  std::vector<asio::ip::address> listenAddresses;
  /// The addresses at which process 0 itself connects to the coordinator, tried in order. Empty: where it listens.
  std::vector<asio::ip::address> shortcuts;
  /// For the user; empty: no warning.
  std::string warning;
};

/// Plans where to listen. `found` has the addresses that `host` resolves to on this machine. Other machines may resolve
/// a name differently: Debian's /etc/hosts gives a machine's own name 127.0.1.1, and nss-myhostname gives it all of its
/// addresses, of which other machines know one. Therefore, if a name resolves to loopback or to several addresses here,
/// process 0 listens at all addresses of this machine. That needs a token: without one, a name that resolves to
/// loopback stays loopback, with a warning.
ListenPlan planListening(const std::string &host, const std::vector<asio::ip::address> &found, bool hasToken);

} // namespace spmd::coordinator
