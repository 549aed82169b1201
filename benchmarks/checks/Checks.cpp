//===- Checks.cpp - cost of the comparison of calls -------------*- C++ -*-===//
//
// Times what the always-on comparison of calls adds to a collective between devices of one host: each device writes the
// fingerprint and the text of its call next to its operand, and compares the fingerprints of all others before it reads
// their data. Prints nanoseconds per call for groups of 2 to 64 devices. In a job, the fingerprints of the other
// devices arrive from another core, together with their data; here this core wrote them itself.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/shm/ShmCommunicator.h"

#include <chrono>
#include <cstdio>

using namespace spmd;
using namespace spmd::shm;

int main() {
  constexpr int calls = 2'000'000;
  const std::string text = "all_reduce sum f32[1000] over (a) at examples/digits_mlp.spmd:14:11 (step 7)";
  for (int64_t devices : {2, 8, 64}) {
    ControlPage page(Segment::create("checks", ControlPage::bytesFor(devices)));
    int64_t same = 0;
    auto began = std::chrono::steady_clock::now();
    for (uint64_t call = 0; call != calls; ++call) {
      for (int64_t peer = 0; peer != devices; ++peer) { // In a job the peers do this in parallel.
        Record &record = page.slot(peer).ring[call % ringSize];
        record.sequence.store(call + 1, std::memory_order_release);
        page.slot(peer).announced.store(call + 1, std::memory_order_release);
        if (peer != 0)
          record.fingerprint.store(42, std::memory_order_relaxed);
      }
    }
    auto middle = std::chrono::steady_clock::now();
    for (uint64_t call = 0; call != calls; ++call) {
      for (int64_t peer = 0; peer != devices; ++peer) {
        Record &record = page.slot(peer).ring[call % ringSize];
        record.sequence.store(call + 1, std::memory_order_release);
        page.slot(peer).announced.store(call + 1, std::memory_order_release);
        if (peer != 0)
          record.fingerprint.store(42, std::memory_order_relaxed);
      }
      Record &own = page.slot(0).ring[call % ringSize];
      own.fingerprint.store(42, std::memory_order_relaxed);
      setText(own, text);
      for (int64_t peer = 1; peer != devices; ++peer)
        same += page.makesCall(peer, call, 42, 0);
    }
    auto end = std::chrono::steady_clock::now();
    double nanoseconds = std::chrono::duration<double, std::nano>((end - middle) - (middle - began)).count() / calls;
    std::printf("%2lld devices: %.1f ns per call\n", static_cast<long long>(devices), nanoseconds);
    if (same != calls * (devices - 1))
      return 1;
  }
  return 0;
}
