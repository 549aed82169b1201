//===- FakeGraphs.cpp - graphs that were captured -------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeGraphs.h"

#include "tests/runtime/device/cuda/doubles/Mistakes.h"

namespace spmd::cuda {

void FakeGraph::add(FakeWork work) {
  if (last != nodes.size())
    reportMistake("a graph has work that does not wait for the node before it");
  nodes.push_back({std::move(work), nullptr, kConditionIf, 0});
  last = nodes.size();
}

GraphCondition FakeConditions::create(FakeGraph &graph) {
  GraphCondition condition = values.size() + 1;
  values[condition] = std::nullopt;
  graph.conditions.insert(condition);
  return condition;
}

void FakeConditions::set(GraphCondition condition, uint32_t value) {
  auto known = values.find(condition);
  if (known == values.end())
    return reportMistake("a kernel sets a condition that no graph has");
  known->second = value;
}

void FakeConditions::forget(const std::vector<FakeNode> &nodes) {
  for (const FakeNode &node : nodes)
    if (node.body) {
      values[node.condition] = std::nullopt;
      forget(node.body->nodes);
    }
}

void FakeConditions::launch(FakeStreams &streams, FakeStream &stream, const std::vector<FakeNode> &nodes) {
  streams.queue(stream, [this, nodes] {
    forget(nodes);
    return true;
  });
  for (FakeWork &work : listWork(streams, stream, nodes))
    streams.queue(stream, std::move(work));
}

std::vector<FakeWork> FakeConditions::listWork(FakeStreams &streams, FakeStream &stream,
                                               const std::vector<FakeNode> &nodes) {
  std::vector<FakeWork> list;
  for (const FakeNode &node : nodes)
    list.push_back(node.body ? makeConditional(streams, stream, node) : node.work);
  return list;
}

/// Puts the nodes of the body in front of what the stream has to do, and of a loop itself once more.
FakeWork FakeConditions::makeConditional(FakeStreams &streams, FakeStream &stream, const FakeNode &node) {
  return [this, &streams, &stream, node] {
    std::optional<uint32_t> value = values[node.condition];
    if (!value)
      reportMistake("a conditional node runs before its condition is set");
    if (value.value_or(0) == 0)
      return true;
    std::vector<FakeWork> list = listWork(streams, stream, node.body->nodes);
    if (node.kind == kConditionWhile)
      list.push_back(makeConditional(streams, stream, node));
    streams.queueFirst(stream, std::move(list));
    return true;
  };
}

} // namespace spmd::cuda
