//===- Address.h - host:port ------------------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace spmd::coordinator {

struct Address {
  std::string host; ///< Without brackets.
  uint16_t port = 0;
  /// With brackets where the host has colons.
  std::string str() const;
};

/// `host:port`, `1.2.3.4:port` or `[ipv6]:port`; the port may be left out where `defaultPort` is not 0. Throws
/// spmd::Error (usage) that shows the text and `what` it was given for.
Address parseAddress(const std::string &text, const std::string &what, uint16_t defaultPort = 0);

/// What a certificate of who listens there has to be for: the host. Empty for this machine's own loopback, which is no
/// name of it.
std::string certificateNameOf(const Address &address);

} // namespace spmd::coordinator
