//===- FakeCode.cpp - PTX that runs in the emulator -----------------------===//

#include "tests/runtime/device/cuda/doubles/FakeCode.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace spmd::cuda {

std::shared_ptr<spmdc::GpuEmulator> loadFakeCode(const std::string &ptx, std::string &error) {
  // All modules of the runtime's own kernels and some programs: beyond that, each one takes some MB.
  constexpr size_t kKept = 80;
  static std::deque<std::pair<std::string, std::shared_ptr<spmdc::GpuEmulator>>> recent;
  auto known = std::find_if(recent.begin(), recent.end(), [&](const auto &entry) { return entry.first == ptx; });
  if (known != recent.end()) {
    std::rotate(recent.begin(), known, std::next(known));
    return recent.front().second;
  }
  auto made = std::make_shared<spmdc::GpuEmulator>(ptx, error);
  if (!error.empty())
    return nullptr;
  recent.emplace_front(ptx, made);
  if (recent.size() > kKept)
    recent.pop_back();
  return made;
}

} // namespace spmd::cuda
