//===- GpuShadowHelper.cpp - the last accesses to each byte ---------------===//

#include "tests/passes/gpu/emulator/GpuShadowHelper.h"

#include <algorithm>

namespace spmdc {

GpuShadow::Word *GpuShadow::findPage(uint64_t page) {
  std::unique_ptr<Word[]> &words = pages[page];
  if (!words)
    words = std::make_unique<Word[]>(kPageBytes / GpuTrace::kWordBytes);
  return words.get();
}

void GpuShadow::addMore(Word &word, const GpuTrace &now) {
  if (word.more == 0) {
    word.more = static_cast<uint32_t>(lists.size());
    lists.emplace_back();
  }
  std::vector<GpuTrace> &list = lists[word.more];
  if (list.size() < kKept || now.isWrite) {
    list.push_back(now);
    return;
  }
  // Lanes of a warp are adjacent agents.
  constexpr uint32_t kWarp = 32;
  auto isReplaceable = [&](const GpuTrace &old) {
    return !old.isWrite && (old.agent - 1) / kWarp == (now.agent - 1) / kWarp;
  };
  auto known = std::find_if(list.begin(), list.end(), isReplaceable);
  if (known == list.end())
    known = std::find_if(list.begin(), list.end(), [](const GpuTrace &old) { return !old.isWrite; });
  if (known != list.end())
    *known = now;
  else
    list.push_back(now);
}

} // namespace spmdc
