//===- GraphControl.cpp - loops and branches inside of graphs -------------===//

#include "runtime/device/cuda/GraphControl.h"

#include "runtime/support/Error.h"

namespace spmd::cuda {
namespace {

constexpr const char *kModule = "Conditions";

} // namespace

GraphControl::GraphControl(const Gpu &gpu, const LibraryKernels &kernels, const LoopStop &stop, DevicePointer looked)
    : gpu(gpu), driver(gpu.getDriver()), kernels(kernels), stop(stop.getAddress()), looked(looked) {
  for (const char *kernel : {"spmd_set_if", "spmd_set_while", "spmd_set_for"})
    kernels.find(kModule, kernel);
}

GraphControl::~GraphControl() {
  if (!broken)
    for (Stream stream : streams)
      driver.StreamDestroy(stream);
}

Graph GraphControl::getGraph(Stream stream, const GraphNode **dependencies, size_t *count) const {
  int status = 0;
  Graph graph = nullptr;
  // No edge has data of its own, so that the call fails if one had.
  driver.check(driver.StreamGetCaptureInfo(stream, &status, nullptr, &graph, dependencies, nullptr, count),
               "cuStreamGetCaptureInfo");
  if (status != kCaptureActive)
    throw Error("the stream of a loop does not capture a graph");
  return graph;
}

GraphCondition GraphControl::createCondition(Stream stream) const {
  GraphCondition condition = 0;
  driver.check(driver.GraphConditionalHandleCreate(&condition, getGraph(stream), gpu.getContext(), 0, 0),
               "cuGraphConditionalHandleCreate");
  return condition;
}

void GraphControl::addNode(Stream stream, int kind, GraphCondition condition, const Queue &queue) {
  const GraphNode *dependencies = nullptr;
  size_t count = 0;
  Graph graph = getGraph(stream, &dependencies, &count);
  ConditionalNode parameters;
  parameters.condition = condition;
  parameters.kind = kind;
  parameters.context = gpu.getContext();
  GraphNode node = nullptr;
  driver.check(driver.GraphAddNode(&node, graph, dependencies, nullptr, count, &parameters), "cuGraphAddNode");
  driver.check(driver.StreamUpdateCaptureDependencies(stream, &node, nullptr, 1, kSetDependencies),
               "cuStreamUpdateCaptureDependencies");

  if (depth == streams.size()) {
    Stream made = nullptr;
    driver.check(driver.StreamCreate(&made, kStreamNonBlocking), "cuStreamCreate");
    streams.push_back(made);
  }
  Stream inner = streams[depth];
  driver.check(driver.StreamBeginCaptureToGraph(inner, parameters.graphs[0], nullptr, nullptr, 0, kCaptureRelaxed),
               "cuStreamBeginCaptureToGraph");
  Graph ended = nullptr; // The node's own graph, which belongs to it.
  ++depth;
  try {
    queue(inner);
  } catch (...) {
    --depth;
    broken |= driver.isCaptureInvalidated(inner);
    if (!broken)
      driver.StreamEndCapture(inner, &ended);
    throw;
  }
  --depth;
  broken |= driver.isCaptureInvalidated(inner);
  if (broken)
    throw Error("CUDA invalidated the steps of a loop or a branch while a graph was made of them");
  driver.check(driver.StreamEndCapture(inner, &ended), "cuStreamEndCapture");
}

void GraphControl::setWhile(Stream stream, GraphCondition condition, DevicePointer predicate) const {
  LibraryLauncher(kernels, stream).launch(kModule, "spmd_set_while", 1, condition, predicate, stop, looked);
}

void GraphControl::setFor(Stream stream, GraphCondition condition, DevicePointer number, DevicePointer counter,
                          bool isFirst, int64_t lower, int64_t upper) const {
  LibraryLauncher(kernels, stream)
      .launch(kModule, "spmd_set_for", 1, condition, number, counter, isFirst, lower, upper, stop, looked);
}

void GraphControl::addIf(Stream stream, DevicePointer predicate, const Queue &thenSteps, const Queue &elseSteps) {
  const Queue *const branches[] = {&elseSteps, &thenSteps};
  GraphCondition conditions[2] = {};
  // Both before any branch, which may write to the memory of the predicate.
  for (uint64_t wanted : {0, 1})
    if (*branches[wanted]) {
      conditions[wanted] = createCondition(stream);
      LibraryLauncher(kernels, stream).launch(kModule, "spmd_set_if", 1, conditions[wanted], predicate, wanted);
    }
  for (uint64_t wanted : {0, 1})
    if (*branches[wanted])
      addNode(stream, kConditionIf, conditions[wanted], *branches[wanted]);
}

void GraphControl::addWhile(Stream stream, DevicePointer predicate, const Queue &condition, const Queue &body) {
  GraphCondition repeats = createCondition(stream);
  condition(stream);
  setWhile(stream, repeats, predicate);
  addNode(stream, kConditionWhile, repeats, [&](Stream inner) {
    body(inner);
    condition(inner);
    setWhile(inner, repeats, predicate);
  });
}

void GraphControl::addFor(Stream stream, DevicePointer number, DevicePointer counter, int64_t lower, int64_t upper,
                          const Queue &body) {
  GraphCondition repeats = createCondition(stream);
  setFor(stream, repeats, number, counter, true, lower, upper);
  addNode(stream, kConditionWhile, repeats, [&](Stream inner) {
    body(inner);
    setFor(inner, repeats, number, counter, false, lower, upper);
  });
}

} // namespace spmd::cuda
