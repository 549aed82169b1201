#include "runtime/coordinator/PositionCell.h"

#include <cstring>
#include <thread>

namespace spmd::coordinator {

void PositionCell::write(uint64_t newLaunch, int32_t newStep, const SourceLocation &location) {
  uint32_t before = sequence.load(std::memory_order_relaxed);
  if ((before & 1) || !sequence.compare_exchange_strong(before, before + 1, std::memory_order_acquire))
    return;
  std::atomic_thread_fence(std::memory_order_release);
  launch.store(newLaunch, std::memory_order_relaxed);
  step.store(newStep, std::memory_order_relaxed);
  line.store(location.line, std::memory_order_relaxed);
  column.store(location.column, std::memory_order_relaxed);
  writeFile(location.file);
  sequence.store(before + 2, std::memory_order_release);
}

void PositionCell::writeFile(std::string_view name) {
  if (name.size() > words * 8)
    name.remove_prefix(name.size() - words * 8);
  if (name == std::string_view(written.data(), writtenBytes))
    return;
  memcpy(written.data(), name.data(), name.size());
  writtenBytes = name.size();
  fileBytes.store(static_cast<uint32_t>(name.size()), std::memory_order_relaxed);
  for (size_t i = 0; i * 8 < name.size(); ++i) {
    uint64_t word;
    memcpy(&word, written.data() + i * 8, 8);
    file[i].store(word, std::memory_order_relaxed);
  }
}

Position PositionCell::read() const {
  for (;;) {
    uint32_t before = sequence.load(std::memory_order_acquire);
    if (before == 0)
      return {};
    if (before & 1) {
      std::this_thread::yield();
      continue;
    }
    Position position;
    position.launch = launch.load(std::memory_order_relaxed);
    position.step = step.load(std::memory_order_relaxed);
    position.state = Position::State::Running;
    SourceLocation location;
    location.line = line.load(std::memory_order_relaxed);
    location.column = column.load(std::memory_order_relaxed);
    size_t size = std::min<size_t>(fileBytes.load(std::memory_order_relaxed), words * 8);
    location.file.resize(size);
    for (size_t i = 0; i * 8 < size; ++i) {
      uint64_t word = file[i].load(std::memory_order_relaxed);
      memcpy(location.file.data() + i * 8, &word, std::min<size_t>(8, size - i * 8));
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (sequence.load(std::memory_order_relaxed) != before)
      continue;
    if (location.line > 0)
      position.location = location.str();
    return position;
  }
}

} // namespace spmd::coordinator
