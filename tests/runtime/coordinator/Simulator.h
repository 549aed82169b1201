//===- Simulator.h - a job under a seeded clock and network -----*- C++ -*-===//
//
// Runs the real state machines of the coordinator and of the members, without threads or sockets, against one seed:
// when each process starts, how long each message takes, who is killed, stopped, cut off, fails, is stuck, was started
// differently, comes twice or never. Everything that happens follows from the seed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spmd::test {

/// Runs one schedule and checks its invariants. Returns "" or what was violated, with a log of the schedule's faults.
std::string simulate(uint64_t seed);

} // namespace spmd::test
