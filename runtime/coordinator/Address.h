//===- Address.h - host:port ------------------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace spmd::coordinator {

struct Address {
  std::string host; ///< A name or an address, without brackets.
  uint16_t port = 0;
  /// The text that parseAddress reads: an IPv6 address in brackets.
  std::string str() const;
};

/// Parses `host:port`, `1.2.3.4:port` or `[ipv6]:port`. The port may be missing if `defaultPort` is not 0. Throws
/// spmd::Error (usage) that quotes the text and names `what`, the option that it was given for.
Address parseAddress(const std::string &text, const std::string &what, uint16_t defaultPort = 0);

/// Returns the name that the certificate of the server at this address must be for: the host. Returns "" for
/// `localhost` and other loopback addresses, which name no particular machine.
std::string certificateNameOf(const Address &address);

} // namespace spmd::coordinator
