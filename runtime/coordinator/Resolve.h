//===- Resolve.h - addresses that need no lookup ----------------*- C++ -*-===//
#pragma once

#include <asio/ip/address.hpp>

#include <optional>
#include <string>

namespace spmd::coordinator {

/// The address that a host's text gives by itself: a number, or `localhost`, which is this machine's own loopback (RFC
/// 6761) also where nothing says so, as in a container without /etc/hosts.
inline std::optional<asio::ip::address> addressOf(const std::string &host) {
  if (host == "localhost")
    return asio::ip::address_v4::loopback();
  asio::error_code error;
  asio::ip::address numeric = asio::ip::make_address(host, error);
  return error ? std::nullopt : std::optional(numeric);
}

} // namespace spmd::coordinator
