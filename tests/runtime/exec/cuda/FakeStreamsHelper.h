//===- FakeStreamsHelper.h - streams that run late --------------*- C++ -*-===//
//
// Work that is queued on a stream is kept, and runs only while somebody waits: then the first piece of one stream after
// the other, drawn at random. So a step that reads a value of another stream without an event for it reads it too
// early, sooner or later; with the seed, a run that has one host thread repeats.
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

/// A piece of work; true: it is done. False: it waits for other work, and is to be tried again.
using FakeWork = std::function<bool()>;

struct FakeEvent {
  int gpu = 0;
  bool hasTime = true;
  uint64_t recorded = 0, happened = 0; ///< How often; a wait is for the last record before it.
  std::chrono::steady_clock::time_point time;
};

struct FakeStream {
  int gpu = 0;
  bool isDestroyed = false; ///< It goes once its work is done.
  std::deque<FakeWork> queue;
  bool isCapturing = false, isCaptureInvalid = false;
  std::thread::id capturer;
  std::vector<FakeWork> captured;
};

class FakeStreams {
public:
  FakeStreams(int gpus, uint64_t seed) : random(seed), errors(static_cast<size_t>(gpus), kSuccess) {}

  Stream createStream(int gpu);
  /// Null where there is no such stream.
  FakeStream *find(Stream stream);
  void destroy(Stream stream);

  Event createEvent(int gpu, bool hasTime);
  std::shared_ptr<FakeEvent> find(Event event);
  bool destroy(Event event) { return events.erase(event) == 1; }

  /// On the stream, or into the graph that it captures.
  void queue(FakeStream &stream, FakeWork work);
  void record(FakeStream &stream, const std::shared_ptr<FakeEvent> &event);
  void wait(FakeStream &stream, const std::shared_ptr<FakeEvent> &event);

  /// Runs at most so many pieces, each the first of some stream. Returns how many could run.
  size_t run(size_t most);
  bool chance(uint32_t oneOf) { return random() % oneOf == 0; }
  uint32_t draw(uint32_t below) { return random() % below; }

  /// The GPU meets an error: all of its work is lost, and each call for it fails with this from now on.
  void fail(int gpu, Result error);
  Result getError(int gpu) const { return errors[static_cast<size_t>(gpu)]; }

  /// Whether this thread captures a stream.
  bool isCapturing(std::thread::id thread) const;
  /// Something happened that no graph may hold.
  void invalidateCaptures(std::thread::id thread);
  void endCaptures(std::thread::id thread);

  size_t countStreams() const;
  size_t countEvents() const { return events.size(); }

private:
  std::mt19937 random;
  std::vector<Result> errors;
  std::map<Stream, std::unique_ptr<FakeStream>> streams;
  std::map<Event, std::shared_ptr<FakeEvent>> events;
};

} // namespace spmd::cuda
