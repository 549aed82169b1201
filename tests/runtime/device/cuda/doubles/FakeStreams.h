//===- FakeStreams.h - streams that run late --------------------*- C++ -*-===//
//
// Work that is queued on a stream runs only while a thread waits: then the first item of a stream, drawn at random, one
// after the other. So a step that reads a value of another stream without an event reads it too early, sooner or later.
// With one host thread, a seed reproduces a run. Streams share the few queues of their GPU, in each of which work runs
// in the order in which it was queued: so work that another stream's work waits for may never run.
//
// No member locks: FakeDriver does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace spmd::cuda {

/// An item of work. Returns true if it is done; false if it waits for other work and must be retried.
using FakeWork = std::function<bool()>;

struct FakeGraph;

struct FakeEvent {
  int gpu = 0;
  bool hasTime = true;
  uint64_t recorded = 0, happened = 0; ///< Numbers of records; a wait is for the last record before it.
  std::chrono::steady_clock::time_point time;
};

/// Work, and how much of a driver's had been queued when it was.
struct FakeItem {
  FakeWork work;
  uint64_t number = 0;
};

struct FakeStream {
  int gpu = 0;
  int queueOfGpu = 0;
  bool isDestroyed = false; ///< It is removed once its work is done.
  std::deque<FakeItem> queue;
  bool isCapturing = false, isCaptureInvalid = false, isCaptureRelaxed = false;
  std::thread::id capturer;
  std::shared_ptr<FakeGraph> captured; ///< While it captures.
  bool isCapturingBody = false;        ///< Of a conditional node, to which the graph belongs.
};

class FakeStreams {
public:
  FakeStreams(int gpus, uint64_t seed, int queuesOfGpu)
      : queuesOfGpu(queuesOfGpu), created(static_cast<size_t>(gpus), 0), random(seed),
        errors(static_cast<size_t>(gpus), kSuccess) {}

  Stream createStream(int gpu);
  /// Returns null if there is no such stream.
  FakeStream *find(Stream stream);
  void destroy(Stream stream);

  Event createEvent(int gpu, bool hasTime);
  std::shared_ptr<FakeEvent> find(Event event);
  bool destroy(Event event) { return events.erase(event) == 1; }

  /// Queues work on the stream, or adds it to the graph that the stream captures.
  void queue(FakeStream &stream, FakeWork work);
  /// Called by work of the stream: what it does next.
  void queueFirst(FakeStream &stream, std::vector<FakeWork> works);
  void record(FakeStream &stream, const std::shared_ptr<FakeEvent> &event);
  void wait(FakeStream &stream, const std::shared_ptr<FakeEvent> &event);

  /// Runs at most so many items, each the first of some stream. Returns how many ran.
  size_t run(size_t most);
  bool chance(uint32_t oneOf) { return random() % oneOf == 0; }
  uint32_t draw(uint32_t below) { return random() % below; }

  /// The GPU gets an error: all of its work is lost, and each later call for it fails with this error.
  void fail(int gpu, Result error);
  Result getError(int gpu) const { return errors[static_cast<size_t>(gpu)]; }

  /// Whether this thread captures a stream, and not relaxed: some calls are then refused.
  bool isCapturing(std::thread::id thread) const;
  /// Returns the graph of this handle that a stream of the thread captures, or that belongs to the last node of one;
  /// null if there is none.
  FakeGraph *findCaptured(Graph graph, std::thread::id thread) const;
  std::shared_ptr<FakeGraph> findBody(Graph graph, std::thread::id thread) const;
  /// A call happened that a graph cannot contain.
  void invalidateCaptures(std::thread::id thread);
  void endCaptures(std::thread::id thread);
  /// Ends the process, as NVIDIA's driver does, if the thread captures the body of a node, and a call has invalidated
  /// it.
  void crashIfBodyIsInvalid(std::thread::id thread) const;

  size_t countStreams() const;
  size_t countEvents() const { return events.size(); }

private:
  /// Whether all that was queued before the first item of the stream, in the same queue of its GPU, is done.
  bool isFirstOfQueue(const FakeStream &stream) const;

  const int queuesOfGpu;
  std::vector<int> created;         ///< Streams, by GPU.
  uint64_t queued = 0, running = 0; ///< Numbers of items: of the last one that was queued, and of the one that runs.
  std::mt19937 random;
  std::vector<Result> errors;
  std::map<Stream, std::unique_ptr<FakeStream>> streams;
  std::map<Event, std::shared_ptr<FakeEvent>> events;
};

} // namespace spmd::cuda
