//===- FakeLinks.h - connections between the ranks of a job -----*- C++ -*-===//
//
// A rank of the fake NCCL exchanges messages with the other ranks, which are threads of this process or other processes
// of this machine: one abstract Unix socket for each pair of ranks. Nothing waits: `pump` sends and receives what it
// can.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace spmd::cuda {

/// The connections of one rank. Not thread-safe.
class FakeLinks {
public:
  /// `name` is the same for all ranks of a communicator, and for no other one.
  FakeLinks(std::string name, int size, int rank);
  ~FakeLinks();
  FakeLinks(const FakeLinks &) = delete;
  FakeLinks &operator=(const FakeLinks &) = delete;

  /// False: this rank of the communicator exists already.
  bool isUnique() const { return listener >= 0; }
  int size() const { return static_cast<int>(links.size()); }

  /// Connects, sends and receives what is possible at once.
  void pump();
  /// Whether all ranks have joined, as of the last `pump`.
  bool isConnected() const;

  /// Tells a peer that this rank has called a transfer with it.
  void announce(int peer);
  bool isAnnounced(int peer) const { return at(peer).isAnnounced; }

  /// Sends a message. The peer that has received it acknowledges it.
  void send(int peer, const void *data, size_t bytes);
  /// Takes the oldest message of a peer; returns false if there is none.
  bool receive(int peer, std::string &message);
  void acknowledge(int peer);
  /// Takes an acknowledgement of a peer; returns false if there is none.
  bool takeAcknowledgement(int peer);

private:
  struct Link {
    int fd = -1; ///< -1: not connected; after the peer has closed it, it stays.
    std::string out, in;
    size_t outAt = 0; ///< `out` is sent up to here.
    bool isAnnounced = false;
    int64_t acknowledgements = 0;
    std::deque<std::string> messages;
  };

  Link &at(int peer) { return links[static_cast<size_t>(peer)]; }
  const Link &at(int peer) const { return links[static_cast<size_t>(peer)]; }
  void connect(int peer);
  void accept();
  void greet();
  static void write(Link &link);
  static void read(Link &link);

  const std::string name;
  const int rank;
  int listener = -1;
  std::vector<int> strangers; ///< Accepted connections whose rank has not arrived yet.
  std::vector<Link> links;    ///< By rank.
};

} // namespace spmd::cuda
