//===- Resolve.h - from a host's text to addresses --------------*- C++ -*-===//
#pragma once

#include <asio/ip/address.hpp>

#include <string>
#include <vector>

namespace spmd::coordinator {

/// The addresses that a host's text gives by itself: a number, or `localhost` (also `*.localhost`), which is this
/// machine's own loopback (RFC 6761) also where nothing says so, as in a container without /etc/hosts: 127.0.0.1, or
/// ::1 where there is no IPv4. Empty: the name has to be looked up.
std::vector<asio::ip::address> addressesOf(const std::string &host);

/// Where process 0 listens.
struct ListenPlan {
  /// One of these must belong to this machine; else the job was given another machine's address.
  std::vector<asio::ip::address> own;
  /// The first of these that can be listened at is taken.
  std::vector<asio::ip::address> choices;
  /// Where this process itself reaches the coordinator: tried one after another. Empty: where it listens.
  std::vector<asio::ip::address> shortcuts;
  /// For the user; empty: nothing is odd.
  std::string warning;
};

/// `found`: what `host` resolves to on this machine. Other machines may resolve a name differently: Debian's /etc/hosts
/// gives a machine's own name 127.0.1.1, and nss-myhostname gives it all of its addresses, of which others know one.
/// Therefore a name that is loopback here, or several addresses, is listened for at all addresses of this machine. That
/// takes a token: without one, a name that is loopback here stays loopback, with a warning.
ListenPlan planListening(const std::string &host, const std::vector<asio::ip::address> &found, bool hasToken);

} // namespace spmd::coordinator
