//===- ProgressLine.cpp - progress of a loop on one line ------------------===//

#include "runtime/support/ProgressLine.h"

namespace spmd {

void ProgressLine::show(int64_t step, int64_t steps) {
  auto now = std::chrono::steady_clock::now();
  bool isLast = step == steps;
  if (!isLast && now - shownAt < std::chrono::milliseconds(100))
    return;
  shownAt = now;
  out << "\r\033[K";
  if (!isLast)
    out << command << ": " << what << " " << step << " of " << steps;
  out << std::flush;
}

} // namespace spmd
