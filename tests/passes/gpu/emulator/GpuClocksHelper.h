//===- GpuClocksHelper.h - which accesses come before others ----*- C++ -*-===//
//
// Vector clocks (Lamport's happens-before relation, as FastTrack uses it). An agent is a thread, or what performs the
// asynchronous operations of a thread: its copies, and its warp's products. Each agent has a time, which grows when it
// releases what it has done. Access number `time` of an agent comes before all that a thread does whose clock has at
// least that time for the agent.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace spmdc {

/// Numbers agents: all of a block are adjacent. 0 is no agent.
using GpuAgent = uint32_t;

class GpuClock {
public:
  /// `blockAgents`: the agents of each block.
  explicit GpuClock(uint32_t blockAgents = 1) : blockAgents(blockAgents) {}

  void join(const GpuClock &other);
  void raise(GpuAgent agent, uint32_t time);
  bool covers(GpuAgent agent, uint32_t time) const {
    const std::vector<uint32_t> *times = find(agent);
    return times && (*times)[(agent - 1) % blockAgents] >= time;
  }
  bool isEmpty() const { return blocks.empty(); }
  /// The times of all agents of this one's block; null if none is known.
  const std::vector<uint32_t> *find(GpuAgent agent) const {
    auto known = blocks.find((agent - 1) / blockAgents);
    return known == blocks.end() ? nullptr : &known->second;
  }

private:
  uint32_t blockAgents;
  std::map<uint32_t, std::vector<uint32_t>> blocks; ///< By the agents' number divided by `blockAgents`.
};

/// A clock that many threads have; it does not change. Null: an empty one.
using GpuSharedClock = std::shared_ptr<const GpuClock>;

/// The accesses that come before the next one of a thread.
struct GpuView {
  struct Own {
    GpuAgent agent = 0;
    uint32_t time = 0;
  };
  GpuSharedClock known, published; ///< As in GpuKnowledge.
  /// Those beyond `known`: its own ones, and those of the copies and products for which it has waited.
  Own self, copies, products;
};

/// The accesses that synchronization has collected from some threads, for others.
struct GpuKnowledge {
  explicit GpuKnowledge(uint32_t blockAgents = 1) : known(blockAgents), published(blockAgents) {}

  GpuClock known;
  /// The part of it that products of warpgroups may read: a fence.proxy.async came after it.
  GpuClock published;

  void join(const GpuKnowledge &other);
  void join(const GpuView &view);
  bool isEmpty() const { return known.isEmpty() && published.isEmpty(); }

  uint64_t version = 0; ///< Another one after each change, of all knowledge in the process.

private:
  /// The clocks that were joined last: most threads have the same ones.
  GpuSharedClock lastKnown, lastPublished;
};

} // namespace spmdc
