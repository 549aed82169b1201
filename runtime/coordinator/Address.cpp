#include "runtime/coordinator/Address.h"

#include "runtime/coordinator/Resolve.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>

namespace spmd::coordinator {

std::string Address::str() const {
  bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Address parseAddress(const std::string &text, const std::string &what, uint16_t defaultPort) {
  auto wrong = [&](const std::string &why) {
    return Error(what + " is `" + text + "`: " + why + "; expected HOST:PORT, such as 10.0.0.1:8476 or [fe80::1]:8476",
                 Error::Kind::Usage);
  };
  Address result;
  std::string_view rest = text;
  if (!rest.empty() && rest.front() == '[') {
    size_t end = rest.find(']');
    if (end == std::string_view::npos)
      throw wrong("`[` without `]`");
    result.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (result.host.find(':') == std::string::npos)
      throw wrong("brackets are for IPv6 addresses");
  } else {
    size_t colon = rest.find(':');
    if (colon != std::string_view::npos && rest.find(':', colon + 1) != std::string_view::npos)
      throw wrong("an IPv6 address needs brackets");
    result.host = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon);
  }
  if (result.host.empty())
    throw wrong("the host is missing");
  if (std::any_of(result.host.begin(), result.host.end(),
                  [](unsigned char c) { return c <= ' ' || c == '/' || c > 126; }))
    throw wrong("the host has characters that no host name or address may have");
  if (rest.empty()) {
    if (defaultPort == 0)
      throw wrong("the port is missing");
    result.port = defaultPort;
    return result;
  }
  if (rest.front() != ':')
    throw wrong("only `:PORT` may follow the host");
  rest.remove_prefix(1);
  unsigned port = 0;
  auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
  if (code != std::errc() || end != rest.data() + rest.size() || port == 0 || port > 65535)
    throw wrong("the port is not a number from 1 to 65535");
  result.port = static_cast<uint16_t>(port);
  return result;
}

std::string certificateNameOf(const Address &address) {
  std::vector<asio::ip::address> known = addressesOf(address.host);
  return !known.empty() && known.front().is_loopback() ? "" : address.host;
}

} // namespace spmd::coordinator
