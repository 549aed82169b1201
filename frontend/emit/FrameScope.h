//===- FrameScope.h - the frame of an inlined function ----------*- C++ -*-===//
#pragma once

#include "frontend/emit/Emitter.h"

namespace spmdc {

/// Enters a function while it lives; the destructor restores the frame and the current range.
struct FrameScope {
  FrameScope(Emitter &e, const FnDecl &fn, bool isPrelude, Range callRange) : e(e), savedRange(e.currentRange) {
    frame.fn = &fn;
    frame.isPrelude = isPrelude;
    frame.caller = e.frame;
    frame.callRange = callRange;
    e.frame = &frame;
  }
  ~FrameScope() {
    e.frame = frame.caller;
    e.currentRange = savedRange;
  }
  FrameScope(const FrameScope &) = delete;
  FrameScope &operator=(const FrameScope &) = delete;

  Emitter &e;
  Frame frame;
  Range savedRange;
};

} // namespace spmdc
