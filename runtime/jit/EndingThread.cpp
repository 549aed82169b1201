//===- EndingThread.cpp - compilation at the end of a thread --------------===//

#include "runtime/jit/EndingThread.h"

#include "runtime/jit/LanguageText.h"
#include "runtime/support/Error.h"

namespace spmd {
namespace {

thread_local bool hasEnded = false; // Without a destructor, so it may be read after the end.

struct ThreadEnd {
  ~ThreadEnd() { hasEnded = true; }
};

} // namespace

void checkMayCompile(const std::source_location &where) {
  if (hasEnded)
    throw Error(placeText(where) + ": error: an operation that is not compiled yet is called while this process or "
                                   "thread ends (in a handler of std::atexit, in a destructor of a static or "
                                   "thread-local object); call it before, or end main with shutdown()",
                Error::Kind::Usage);
  // Constructed after MLIR has been used on this thread, if ever: then this is destroyed before MLIR's caches.
  thread_local ThreadEnd end;
  static_cast<void>(&end);
}

} // namespace spmd
