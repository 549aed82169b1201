//===- Metrics.h - Prometheus metrics (--metrics-port) ----------*- C++ -*-===//
//
// A small server on a thread of its own: GET /metrics answers with the statistics of all processes, which process 0 has
// from their heartbeats. Requests are bounded in number, size and time: no client can stop the run or block other
// clients.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/ProcessStatistics.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace spmd {

/// Returns the metrics in the text format of Prometheus, version 0.0.4.
std::string metricsText(const JobStatus &status);

class MetricsServer {
public:
  /// Serves at that port of loopback; 0: the kernel chooses the port. `status` is called on the server's thread. Throws
  /// spmd::Error if the port cannot be used.
  MetricsServer(uint16_t port, std::function<JobStatus()> status);
  ~MetricsServer();

  /// Returns `127.0.0.1:9100`, or `[::1]:9100` on a machine without IPv4.
  std::string getAddress() const;

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace spmd
