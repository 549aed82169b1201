//===- Metrics.h - Prometheus text on loopback (--metrics-port) ---*- C++ -*-===//
//
// One small server on a thread of its own: GET /metrics answers with the figures of all processes, as process 0 has
// them from their heartbeats. Requests are bounded in number, size and time; whatever a client does, the run goes on
// and others are answered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Vitals.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace spmd {

/// The text format of Prometheus, version 0.0.4.
std::string metricsText(const JobStatus &status);

class MetricsServer {
public:
  /// Serves at that port of loopback; 0: the kernel chooses. `status` is called on the server's thread. Throws
  /// spmd::Error where the port cannot be had.
  MetricsServer(uint16_t port, std::function<JobStatus()> status);
  ~MetricsServer();

  /// `127.0.0.1:9100`, or `[::1]:9100` on a machine without IPv4.
  std::string getAddress() const;

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace spmd
