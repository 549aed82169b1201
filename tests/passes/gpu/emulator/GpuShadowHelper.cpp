//===- GpuShadowHelper.cpp - the last accesses to each byte ---------------===//

#include "tests/passes/gpu/emulator/GpuShadowHelper.h"

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
  More &more = lists[word.more];
  if (now.isWrite)
    more.writes.push_back(now);
  else if (more.replacesLast(now))
    more.reads.back() = now;
  else if (more.reads.size() < kKept)
    more.reads.push_back(now);
  else
    more.reads[now.agent % kKept] = now;
}

} // namespace spmdc
