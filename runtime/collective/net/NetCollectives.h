//===- NetCollectives.h - collectives between hosts -------------*- C++ -*-===//
//
// The collectives of a job of one or several hosts. What stays on a host goes through shared memory (shm/); between
// hosts each byte travels once: hosts reduce whole subtrees before they send, and share what they receive. The bits are
// the same on every layout. See docs/hosts.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/shm/ShmCollectives.h"
#include "runtime/support/tls/Tls.h"

namespace spmd {

/// How the processes of a job reach one another.
struct NetworkPlace {
  /// Of each process, the address that its connection to the coordinator comes from.
  std::vector<std::string> addresses;
  /// The two ends of this process's own connection to the coordinator.
  std::string own, coordinator;
  std::string token;
  /// Encrypts the connections; null: none.
  std::shared_ptr<const TlsIdentity> tls = {};
};

/// As createShmCollectives, for devices of any number of hosts. `network` is looked at only where there are several.
std::unique_ptr<CollectiveBackend> createCollectives(ShmOptions options, NetworkPlace network);

} // namespace spmd
