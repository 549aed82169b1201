//===- FakeWorkEntries.cpp - fake streams, graphs, events -----------------===//

#include "tests/runtime/device/cuda/doubles/FakeEntries.h"

#include "runtime/device/cuda/CuptiEntries.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <algorithm>
#include <cstring>

namespace spmd::cuda {

bool FakeEntries::queueWork(Stream stream, Access access, std::function<void()> work) {
  std::lock_guard lock(fake->mutex);
  FakeStream *known = target(stream);
  auto isThere = [gpu = currentGpu()](const auto &array) {
    return fake->memory.contains(gpu, reinterpret_cast<DevicePointer>(array.first), array.second);
  };
  if (!known || !std::all_of(access.begin(), access.end(), isThere))
    return false;
  fake->noteCall(kCuptiRuntime);
  fake->queueWork(*known, kCuptiKernel, [isThere, access = std::move(access), work = std::move(work)] {
    if (std::all_of(access.begin(), access.end(), isThere))
      work();
    else
      reportMistake("a library's work on memory that was freed before it ran");
    return true;
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Streams, graphs
//===----------------------------------------------------------------------===//

Result FakeEntries::StreamCreate(Stream *stream, unsigned flags) {
  *stream = fake->streams.createStream(currentGpu());
  return flags == kStreamNonBlocking ? kSuccess : kInvalidValue;
}
Result FakeEntries::StreamDestroy(Stream stream) {
  FakeStream *known = fake->streams.find(stream);
  if (!known)
    return kInvalidHandle;
  if (known->isCapturing)
    fake->streams.crashIfBodyIsInvalid(known->capturer);
  fake->streams.destroy(stream);
  return kSuccess;
}

/// Runs a few items of any streams, so that other streams progress while one is queried.
Result FakeEntries::StreamQuery(Stream stream) {
  constexpr uint32_t kMostItems = 8;
  FakeStream *known = fake->streams.find(stream);
  if (!known)
    return kInvalidHandle;
  if (known->isCapturing)
    return kCaptureUnsupported;
  if (known->queue.empty())
    return fake->streams.getError(known->gpu);
  fake->streams.run(fake->streams.draw(kMostItems));
  Result error = fake->streams.getError(known->gpu);
  return error != kSuccess ? error : kNotReady;
}

/// Runs one round; returns kNotReady if the stream waits for other threads.
Result FakeEntries::StreamSynchronize(Stream stream) {
  std::lock_guard lock(fake->mutex);
  FakeStream *known = fake->streams.find(stream);
  if (!known)
    return kInvalidHandle;
  if (known->isCapturing)
    return kCaptureUnsupported;
  while (!known->queue.empty())
    if (fake->streams.run(1) == 0)
      return kNotReady;
  return fake->streams.getError(known->gpu);
}

Result FakeEntries::beginCapture(Stream stream, int mode, std::shared_ptr<FakeGraph> graph, bool isBody) {
  FakeStream *known = target(stream);
  if (!known || known->isCapturing || (mode != kCaptureThreadLocal && mode != kCaptureRelaxed))
    return kInvalidValue;
  known->isCapturing = true;
  known->isCaptureRelaxed = mode == kCaptureRelaxed;
  known->isCaptureInvalid = false;
  known->capturer = std::this_thread::get_id();
  known->captured = std::move(graph);
  known->isCapturingBody = isBody;
  return kSuccess;
}
Result FakeEntries::StreamBeginCapture(Stream stream, int mode) {
  return beginCapture(stream, mode, std::make_shared<FakeGraph>(), false);
}
Result FakeEntries::ThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return kSuccess;
}
Result FakeEntries::StreamEndCapture(Stream stream, Graph *graph) {
  FakeStream *known = target(stream);
  if (!known || !known->isCapturing || known->capturer != std::this_thread::get_id())
    return kInvalidValue;
  fake->streams.crashIfBodyIsInvalid(known->capturer);
  known->isCapturing = false;
  *graph = nullptr;
  if (known->isCaptureInvalid)
    return kCaptureInvalidated;
  std::shared_ptr<FakeGraph> captured = std::exchange(known->captured, nullptr);
  *graph = captured->handle();
  if (!known->isCapturingBody)
    fake->graphs[*graph] = captured;
  return kSuccess;
}
Result FakeEntries::GraphInstantiate(GraphExec *exec, Graph graph, unsigned long long) {
  auto known = fake->graphs.find(graph);
  if (known == fake->graphs.end())
    return kInvalidHandle;
  *exec = reinterpret_cast<GraphExec>(fake->nextHandle++);
  fake->graphExecs[*exec] = known->second;
  return kSuccess;
}
Result FakeEntries::GraphLaunch(GraphExec exec, Stream stream) {
  auto known = fake->graphExecs.find(exec);
  FakeStream *on = target(stream);
  if (known == fake->graphExecs.end() || !on || on->isCapturing)
    return kInvalidHandle;
  fake->conditions.launch(fake->streams, *on, known->second->nodes);
  return kSuccess;
}
Result FakeEntries::GraphExecDestroy(GraphExec exec) {
  return fake->graphExecs.erase(exec) == 1 ? kSuccess : kInvalidHandle;
}
Result FakeEntries::GraphDestroy(Graph graph) { return fake->graphs.erase(graph) == 1 ? kSuccess : kInvalidHandle; }

//===----------------------------------------------------------------------===//
// Conditional nodes
//===----------------------------------------------------------------------===//

FakeGraph *FakeEntries::findCaptured(Graph graph) {
  return fake->streams.findCaptured(graph, std::this_thread::get_id());
}

Result FakeEntries::StreamGetCaptureInfo(Stream stream, int *status, uint64_t *, Graph *graph,
                                         const GraphNode **dependencies, const GraphEdge **, size_t *count) {
  static thread_local GraphNode last;
  FakeStream *known = target(stream);
  if (!known || !dependencies != !count)
    return kInvalidValue;
  *status = !known->isCapturing ? 0 : known->isCaptureInvalid ? kCaptureInvalid : kCaptureActive;
  if (!graph)
    return kSuccess;
  if (known->isCaptureInvalid)
    return kInvalidValue;
  *graph = known->isCapturing ? known->captured->handle() : nullptr;
  if (!dependencies || !known->isCapturing)
    return kSuccess;
  last = FakeGraph::toNode(known->captured->last);
  *dependencies = last ? &last : nullptr;
  *count = last ? 1 : 0;
  return kSuccess;
}
Result FakeEntries::StreamUpdateCaptureDependencies(Stream stream, GraphNode *nodes, const GraphEdge *edges,
                                                    size_t count, unsigned flags) {
  FakeStream *known = target(stream);
  if (!known || !known->isCapturing || edges || count != 1 || flags != kSetDependencies ||
      nodes[0] != FakeGraph::toNode(known->captured->nodes.size()))
    return kInvalidValue;
  known->captured->last = known->captured->nodes.size();
  return kSuccess;
}
Result FakeEntries::StreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode *, const GraphEdge *,
                                              size_t dependencies, int mode) {
  std::shared_ptr<FakeGraph> body = fake->streams.findBody(graph, std::this_thread::get_id());
  if (!body || dependencies != 0)
    return kInvalidValue;
  return beginCapture(stream, mode, body, true);
}
Result FakeEntries::GraphConditionalHandleCreate(GraphCondition *condition, Graph graph, Context context, unsigned,
                                                 unsigned flags) {
  FakeGraph *known = findCaptured(graph);
  if (!known || !context || flags != 0)
    return kInvalidValue;
  *condition = fake->conditions.create(*known);
  return kSuccess;
}
Result FakeEntries::GraphAddNode(GraphNode *node, Graph graph, const GraphNode *dependencies, const GraphEdge *edges,
                                 size_t count, ConditionalNode *parameters) {
  FakeGraph *known = findCaptured(graph);
  const ConditionalNode given = *parameters;
  auto isZero = [](auto number) { return number == 0; };
  bool isFirst = known && known->nodes.empty();
  if (!known || edges || count != (isFirst ? 0 : 1) ||
      (!isFirst && dependencies[0] != FakeGraph::toNode(known->nodes.size())) || given.nodeType != 13 ||
      !std::all_of(std::begin(given.zeros), std::end(given.zeros), isZero) ||
      !std::all_of(std::begin(given.moreZeros), std::end(given.moreZeros), isZero) ||
      known->conditions.erase(given.condition) != 1 || (given.kind != kConditionIf && given.kind != kConditionWhile) ||
      given.graphCount != 1 || !given.context)
    return kInvalidValue;
  auto body = std::make_shared<FakeGraph>();
  known->nodes.push_back({nullptr, body, given.kind, given.condition});
  known->bodyHandle = body->handle();
  parameters->graphs = &known->bodyHandle;
  *node = FakeGraph::toNode(known->nodes.size());
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Result FakeEntries::EventCreate(Event *event, unsigned flags) {
  *event = fake->streams.createEvent(currentGpu(), flags != kEventWithoutTime);
  return flags == 0 || flags == kEventWithoutTime ? kSuccess : kInvalidValue;
}
Result FakeEntries::EventDestroy(Event event) { return fake->streams.destroy(event) ? kSuccess : kInvalidHandle; }

/// Not allowed in graphs, which would then contain work of other streams.
Result FakeEntries::EventRecord(Event event, Stream stream) {
  FakeStream *known = target(stream);
  std::shared_ptr<FakeEvent> recorded = fake->streams.find(event);
  if (!known || known->isCapturing || !recorded || recorded->gpu != known->gpu)
    return kInvalidHandle;
  fake->streams.record(*known, recorded);
  return kSuccess;
}
Result FakeEntries::StreamWaitEvent(Stream stream, Event event, unsigned flags) {
  FakeStream *known = fake->streams.find(stream);
  std::shared_ptr<FakeEvent> awaited = fake->streams.find(event);
  if (!known || known->isCapturing || !awaited || flags != 0)
    return kInvalidHandle;
  fake->streams.wait(*known, awaited);
  return kSuccess;
}
Result FakeEntries::EventElapsedTime(float *milliseconds, Event first, Event second) {
  std::shared_ptr<FakeEvent> from = fake->streams.find(first), to = fake->streams.find(second);
  if (!from || !to || !from->hasTime || !to->hasTime || from->recorded == 0 || to->recorded == 0)
    return kInvalidHandle;
  if (from->happened != from->recorded || to->happened != to->recorded)
    return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Result FakeEntries::ModuleLoadDataEx(Module *module, const void *image, unsigned options, int *names, void **values) {
  if (refusesForCapture())
    return kCaptureUnsupported;
  auto loaded = std::make_shared<FakeDriver::LoadedModule>();
  std::string error;
  loaded->emulator = loadFakeCode(static_cast<const char *>(image), error);
  if (!loaded->emulator) {
    constexpr size_t kLogBytes = 512; // Less than callers have.
    for (unsigned i = 0; i < options; ++i)
      if (names[i] == kJitErrorLog)
        std::strcpy(static_cast<char *>(values[i]), error.substr(0, kLogBytes).c_str());
    return kInvalidImage;
  }
  *module = reinterpret_cast<Module>(fake->nextHandle++);
  fake->modules[*module] = loaded;
  return kSuccess;
}
Result FakeEntries::ModuleUnload(Module module) {
  auto known = fake->modules.find(module);
  if (known == fake->modules.end())
    return kInvalidHandle;
  known->second->isLoaded = false;
  for (const auto &[symbol, function] : known->second->functions)
    fake->functions.erase(function);
  fake->modules.erase(known);
  return kSuccess;
}
Result FakeEntries::ModuleGetFunction(Function *function, Module module, const char *symbol) {
  auto known = fake->modules.find(module);
  if (known == fake->modules.end())
    return kInvalidHandle;
  int64_t count = known->second->emulator->countArguments(symbol);
  if (count < 0)
    return kNotFound;
  Function &handle = known->second->functions[symbol];
  if (!handle) {
    handle = reinterpret_cast<Function>(fake->nextHandle++);
    fake->functions[handle] = {known->second, symbol, count};
  }
  *function = handle;
  return kSuccess;
}
Result FakeEntries::FuncSetAttribute(Function function, int attribute, int value) {
  auto known = fake->functions.find(function);
  if (known == fake->functions.end())
    return kInvalidHandle;
  int64_t declared = known->second.module->emulator->countSharedBytes(known->second.symbol);
  if (attribute != kMaxDynamicSharedBytes || value < 0 || value > kSharedBytesPerBlock - declared)
    return kInvalidValue;
  known->second.mostSharedBytes = value;
  return kSuccess;
}

Result FakeEntries::LaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threadsX,
                                 unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, Stream stream,
                                 void **arguments, void **extra) {
  constexpr unsigned kMostThreads = 1024;
  auto known = fake->functions.find(function);
  FakeStream *on = target(stream);
  if (known == fake->functions.end() || !on)
    return kInvalidHandle;
  if (gridX == 0 || gridX > INT32_MAX || gridY != 1 || gridZ != 1 || threadsX == 0 || threadsX > kMostThreads ||
      threadsY != 1 || threadsZ != 1 || sharedBytes > known->second.mostSharedBytes || extra)
    return kInvalidValue;
  return fake->launch(*on, known->second, {gridX, static_cast<int32_t>(threadsX), sharedBytes}, arguments);
}

} // namespace spmd::cuda
