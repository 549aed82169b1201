//===- StatusClient.h - queries the status of a running job -----*- C++ -*-===//
//
// The client side of an observer's connection: one question, one answer. An observer proves that it knows the token as
// a process does, but its first bytes say that it is an observer: it cannot join, and cannot affect the job.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/ProcessStatistics.h"
#include "runtime/support/tls/Tls.h"

#include <chrono>
#include <optional>
#include <string>

namespace spmd {

/// Throws spmd::Error: usage (bad address), or why there is no answer. `tls`: the identity if the job uses TLS, else
/// null. Without `jobId`, asks whatever job is served there.
JobStatus queryStatus(const std::string &address, const std::string &token, std::shared_ptr<const TlsIdentity> tls,
                      const std::optional<std::string> &jobId, std::chrono::milliseconds timeout);

} // namespace spmd
