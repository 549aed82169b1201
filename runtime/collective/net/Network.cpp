//===- Network.cpp - one process's connections to other hosts -------------===//

#include "runtime/collective/net/Network.h"
#include "runtime/collective/net/TlsStream.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>

namespace spmd::net {
namespace {

std::string keyOf(int32_t process) { return "collective/net/" + std::to_string(process); }

std::string hex(const coordinator::Nonce &nonce) {
  std::string text;
  for (char c : nonce) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

/// Makes streams of accepted sockets.
ChannelListener::Wrap acceptedStream(std::shared_ptr<const TlsIdentity> tls) {
  return [tls](UniqueFd fd) -> std::unique_ptr<Stream> {
    if (!tls)
      return std::make_unique<Stream>(std::move(fd));
    std::unique_ptr<TlsSession> session = tls->accept(fd.get());
    return std::make_unique<TlsStream>(std::move(fd), std::move(session));
  };
}

/// Makes streams to a process with this certificate.
ChannelListener::Wrap connectedStream(std::shared_ptr<const TlsIdentity> tls, const std::string &fingerprint) {
  if (!tls)
    return acceptedStream(nullptr);
  return [tls, fingerprint](UniqueFd fd) -> std::unique_ptr<Stream> {
    std::unique_ptr<TlsSession> session = tls->connect(fd.get(), {"", fingerprint});
    return std::make_unique<TlsStream>(std::move(fd), std::move(session));
  };
}

} // namespace

std::string listenAddress(const NetworkAddresses &place) {
  if (!isLoopback(place.own))
    return place.own;
  // This process is on the coordinator's host, so others may reach it by any address of that host.
  bool isAlone = std::all_of(place.addresses.begin(), place.addresses.end(), isLoopback);
  if (isAlone)
    return place.own;
  bool hasV6 = std::any_of(place.addresses.begin(), place.addresses.end(),
                           [](const std::string &address) { return address.find(':') != std::string::npos; });
  return hasV6 ? "::" : "0.0.0.0";
}

Network::Network(int32_t process, Store &store, NetworkAddresses given, ChannelListener::Reply reply,
                 ChannelListener::Fail fail)
    : place(std::move(given)), store(store) {
  Secret secret{place.token, hex(coordinator::makeNonce())};
  channelListener = std::make_unique<ChannelListener>(listenAddress(place), secret, acceptedStream(place.tls),
                                                      std::move(reply), std::move(fail));
  // Only authenticated connections reach the store, which is the coordinator's.
  store.set(keyOf(process), std::to_string(channelListener->getPort()) + " " + secret.nonce +
                                (place.tls ? " " + place.tls->fingerprint() : ""));
}

/// A peer that reached the coordinator over loopback is on the coordinator's host. Its address is the one at which this
/// process reached the coordinator or, if this process is on that host too, the peer's own loopback address: a host has
/// many (127.0.0.1, 127.0.1.1, ::1).
std::string addressOfPeer(const NetworkAddresses &place, int32_t peer) {
  const std::string &seen = place.addresses.at(static_cast<size_t>(peer));
  return isLoopback(seen) && !isLoopback(place.own) ? place.coordinator : seen;
}

const Network::Peer &Network::find(int32_t process, Clock::time_point deadline) {
  {
    std::lock_guard lock(mutex);
    auto known = peers.find(process);
    if (known != peers.end())
      return known->second;
  }
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  std::string text = store.wait(keyOf(process), {process, std::max(left, std::chrono::milliseconds(1)),
                                                 "a connection between hosts", /*inBackground=*/true});
  uint16_t port = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc() || end == text.data() + text.size() || *end != ' ' || port == 0)
    throw Error("process " + std::to_string(process) +
                " has published no address for data between hosts: do both run the same build?");
  std::string address = addressOfPeer(place, process);
  Peer peer;
  peer.address = SocketAddress::make(address, port);
  std::string rest = text.substr(static_cast<size_t>(end + 1 - text.data()));
  size_t space = std::min(rest.find(' '), rest.size());
  peer.secret = {place.token, rest.substr(0, space)};
  peer.fingerprint = rest.substr(std::min(space + 1, rest.size()));
  if (peer.fingerprint.empty() == (place.tls != nullptr))
    throw Error("process " + std::to_string(process) +
                " has published no certificate for data between hosts: do both run the same build?");
  peer.name = "process " + std::to_string(process) + " at " +
              (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" + std::to_string(port);
  std::lock_guard lock(mutex);
  return peers.try_emplace(process, peer).first->second;
}

std::unique_ptr<Stream> Network::connect(int32_t process, const Greeting &greeting, Clock::time_point deadline,
                                         const StopWaiting &check) {
  const Peer &peer = find(process, deadline);
  return enter(peer.address, peer.secret, connectedStream(place.tls, peer.fingerprint), greeting, deadline, check);
}

Error Network::unreachable(int32_t process, const StreamEnded &ended) {
  return Error(
      "cannot connect to " + find(process, Clock::now()).name + " (" + ended.why + ")" +
      (ended.isFinal ? "" : ": data between hosts needs connections to any port among them; does a firewall stop it?"));
}

} // namespace spmd::net
