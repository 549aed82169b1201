//===- NetCollectives.h - collectives between hosts -------------*- C++ -*-===//
//
// The collectives of a job on one or several hosts. Data within a host uses shared memory (shm/). Between hosts each
// byte is sent once: hosts reduce full subtrees before they send, and share the data that they receive. The bits are
// the same for every layout of processes. See docs/hosts.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/shm/ShmCollectives.h"
#include "runtime/support/tls/Tls.h"

namespace spmd {

/// The addresses through which the processes of a job reach one another.
struct NetworkAddresses {
  /// For each process, the address from which it connected to the coordinator.
  std::vector<std::string> addresses;
  /// The two ends of this process's own connection to the coordinator.
  std::string own, coordinator;
  std::string token;
  /// Encrypts the connections; null: no encryption.
  std::shared_ptr<const TlsIdentity> tls = {};
};

/// Like createShmCollectives, for devices on any number of hosts. `network` is used only if there are several.
std::unique_ptr<CollectiveBackend> createCollectives(ShmOptions options, NetworkAddresses network);

} // namespace spmd
