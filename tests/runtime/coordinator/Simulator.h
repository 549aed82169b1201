//===- Simulator.h - a job under a seeded clock and network -----*- C++ -*-===//
//
// Runs the real state machines of the coordinator and of the members, without threads or sockets, against one seed. The
// seed decides everything: when each process starts, how long each message takes, and which process is killed, stopped,
// disconnected, fails, is stuck, has other options, starts twice or never.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spmd::test {

/// Runs one schedule and checks its invariants. Returns "" or the violated invariant, with a log of the schedule's
/// faults.
std::string simulate(uint64_t seed);

} // namespace spmd::test
