//===- FakeStreams.cpp - streams that run late ----------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeStreams.h"

#include "tests/runtime/device/cuda/doubles/FakeGraphs.h"

#include <algorithm>

namespace spmd::cuda {

Stream FakeStreams::createStream(int gpu) {
  auto made = std::make_unique<FakeStream>();
  made->gpu = gpu;
  made->queueOfGpu = created[static_cast<size_t>(gpu)]++ % queuesOfGpu;
  auto handle = reinterpret_cast<Stream>(made.get());
  streams[handle] = std::move(made);
  return handle;
}

FakeStream *FakeStreams::find(Stream stream) {
  auto known = streams.find(stream);
  return known == streams.end() || known->second->isDestroyed ? nullptr : known->second.get();
}

void FakeStreams::destroy(Stream stream) {
  FakeStream *known = find(stream);
  known->isDestroyed = true;
  if (known->queue.empty())
    streams.erase(stream);
}

size_t FakeStreams::countStreams() const {
  // Those of an invalid capture cannot be destroyed (crashIfBodyIsInvalid).
  return static_cast<size_t>(std::count_if(streams.begin(), streams.end(), [](const auto &entry) {
    const FakeStream &stream = *entry.second;
    return !stream.isDestroyed && !(stream.isCapturing && stream.isCaptureInvalid);
  }));
}

Event FakeStreams::createEvent(int gpu, bool hasTime) {
  auto made = std::make_shared<FakeEvent>();
  made->gpu = gpu;
  made->hasTime = hasTime;
  auto handle = reinterpret_cast<Event>(made.get());
  events[handle] = std::move(made);
  return handle;
}

std::shared_ptr<FakeEvent> FakeStreams::find(Event event) {
  auto known = events.find(event);
  return known == events.end() ? nullptr : known->second;
}

void FakeStreams::queue(FakeStream &stream, FakeWork work) {
  if (stream.isCapturing)
    stream.captured->add(std::move(work));
  else if (getError(stream.gpu) == kSuccess) // A GPU runs nothing after an error.
    stream.queue.push_back({std::move(work), ++queued});
}

void FakeStreams::queueFirst(FakeStream &stream, std::vector<FakeWork> works) {
  for (auto work = works.rbegin(); work != works.rend(); ++work)
    stream.queue.push_front({std::move(*work), running});
}

bool FakeStreams::isFirstOfQueue(const FakeStream &stream) const {
  return std::none_of(streams.begin(), streams.end(), [&](const auto &entry) {
    const FakeStream &other = *entry.second;
    return other.gpu == stream.gpu && other.queueOfGpu == stream.queueOfGpu && !other.queue.empty() &&
           other.queue.front().number < stream.queue.front().number;
  });
}

void FakeStreams::record(FakeStream &stream, const std::shared_ptr<FakeEvent> &event) {
  uint64_t number = ++event->recorded;
  auto happen = [event, number] {
    event->happened = std::max(event->happened, number);
    event->time = std::chrono::steady_clock::now();
    return true;
  };
  // On an idle stream it happens at once: the times of runs are counted from such an event.
  if (stream.queue.empty() && !stream.isCapturing)
    happen();
  else
    queue(stream, happen);
}

void FakeStreams::wait(FakeStream &stream, const std::shared_ptr<FakeEvent> &event) {
  uint64_t number = event->recorded; // If there is no record, there is nothing to wait for.
  queue(stream, [event, number] { return event->happened >= number; });
}

size_t FakeStreams::run(size_t most) {
  size_t done = 0;
  while (done < most) {
    std::vector<Stream> busy;
    for (const auto &[handle, stream] : streams)
      if (!stream->queue.empty() && isFirstOfQueue(*stream))
        busy.push_back(handle);
    for (size_t i = busy.size(); i > 1; --i)
      std::swap(busy[i - 1], busy[random() % i]);
    bool hasRun = false;
    for (Stream handle : busy) {
      FakeStream &stream = *streams.at(handle);
      FakeItem item = std::move(stream.queue.front());
      stream.queue.pop_front();
      running = item.number;
      hasRun = item.work();
      // After an error of its GPU the work is not retried.
      if (!hasRun && getError(stream.gpu) == kSuccess)
        stream.queue.push_front(std::move(item));
      if (stream.isDestroyed && stream.queue.empty())
        streams.erase(handle);
      if (hasRun)
        break;
    }
    if (!hasRun)
      return done;
    ++done;
  }
  return done;
}

void FakeStreams::fail(int gpu, Result error) {
  if (getError(gpu) != kSuccess)
    return;
  errors[static_cast<size_t>(gpu)] = error;
  for (auto &[handle, stream] : streams)
    if (stream->gpu == gpu)
      stream->queue.clear();
}

bool FakeStreams::isCapturing(std::thread::id thread) const {
  return std::any_of(streams.begin(), streams.end(), [&](const auto &entry) {
    const FakeStream &stream = *entry.second;
    return stream.isCapturing && !stream.isCaptureRelaxed && stream.capturer == thread;
  });
}

FakeGraph *FakeStreams::findCaptured(Graph graph, std::thread::id thread) const {
  for (const auto &[handle, stream] : streams)
    if (stream->isCapturing && stream->capturer == thread && stream->captured->handle() == graph)
      return stream->captured.get();
  return nullptr;
}

std::shared_ptr<FakeGraph> FakeStreams::findBody(Graph graph, std::thread::id thread) const {
  for (const auto &[handle, stream] : streams)
    if (stream->isCapturing && stream->capturer == thread && !stream->captured->nodes.empty())
      if (const auto &body = stream->captured->nodes.back().body; body && body->handle() == graph)
        return body;
  return nullptr;
}

void FakeStreams::invalidateCaptures(std::thread::id thread) {
  for (auto &[handle, stream] : streams)
    stream->isCaptureInvalid |= stream->isCapturing && stream->capturer == thread;
}

void FakeStreams::crashIfBodyIsInvalid(std::thread::id thread) const {
  for (const auto &[handle, stream] : streams)
    if (stream->isCapturing && stream->capturer == thread && stream->isCapturingBody && stream->isCaptureInvalid) {
      std::fputs("FakeDriver: the driver crashes when a capture around an invalidated one ends\n", stderr);
      std::abort();
    }
}

void FakeStreams::endCaptures(std::thread::id thread) {
  for (auto &[handle, stream] : streams)
    if (stream->isCapturing && stream->capturer == thread) {
      stream->isCapturing = false;
      stream->captured = nullptr;
    }
}

} // namespace spmd::cuda
