//===- FakeGraphs.h - graphs that were captured -----------------*- C++ -*-===//
//
// No member locks: FakeDriver does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/runtime/device/cuda/doubles/FakeStreams.h"

#include <optional>
#include <set>

namespace spmd::cuda {

/// Work, or (then `body` is set) a graph that runs depending on a condition.
struct FakeNode {
  FakeWork work;
  std::shared_ptr<FakeGraph> body;
  int kind = kConditionIf;
  GraphCondition condition = 0;
};

/// Nodes that run one after the other.
struct FakeGraph {
  std::vector<FakeNode> nodes;
  std::set<GraphCondition> conditions; ///< Those that nodes of this graph may have.
  /// The node behind which the next captured work comes, as a handle: its number among the nodes, from 1 on.
  size_t last = 0;
  Graph bodyHandle = nullptr; ///< Of the node that was added last: the driver returns a pointer to it.

  Graph handle() { return reinterpret_cast<Graph>(this); }
  static GraphNode toNode(size_t number) { return reinterpret_cast<GraphNode>(number); }
  void add(FakeWork work);
};

/// The numbers that conditional nodes read.
class FakeConditions {
public:
  GraphCondition create(FakeGraph &graph);
  /// Called by a kernel.
  void set(GraphCondition condition, uint32_t value);
  /// Queues the nodes on the stream, where all conditions have no value at first.
  void launch(FakeStreams &streams, FakeStream &stream, const std::vector<FakeNode> &nodes);

private:
  void forget(const std::vector<FakeNode> &nodes);
  std::vector<FakeWork> listWork(FakeStreams &streams, FakeStream &stream, const std::vector<FakeNode> &nodes);
  FakeWork makeConditional(FakeStreams &streams, FakeStream &stream, const FakeNode &node);

  std::map<GraphCondition, std::optional<uint32_t>> values;
};

} // namespace spmd::cuda
