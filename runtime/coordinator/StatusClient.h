//===- StatusClient.h - asks a running job how it is ------------*- C++ -*-===//
//
// The other end of an observer's connection: one question, one answer. An observer proves that it knows the token as a
// process does, but says in its first bytes that it is none: it cannot join, and nothing it does reaches the job.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Vitals.h"
#include "runtime/support/tls/Tls.h"

#include <chrono>
#include <optional>
#include <string>

namespace spmd {

/// Throws spmd::Error: usage (bad address), or why there is no answer. `tls`: where the job has TLS, else null. Without
/// `jobId`, any job will do.
JobStatus queryStatus(const std::string &address, const std::string &token, std::shared_ptr<const TlsIdentity> tls,
                      const std::optional<std::string> &jobId, std::chrono::milliseconds timeout);

} // namespace spmd
