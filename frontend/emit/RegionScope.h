//===- RegionScope.h - a region that is being emitted -----------*- C++ -*-===//
#pragma once

#include "frontend/emit/Emitter.h"

namespace spmdc {

/// Emits at the end of a block while it lives, and then restores the insertion point. The region gets its operation
/// only afterwards: until then the emitter keeps the regions around it.
struct RegionScope {
  RegionScope(Emitter &e, mlir::Block &block) : e(e) {
    e.regions.push_back({block.getParent(), e.builder.saveInsertionPoint()});
    e.builder.setInsertionPointToEnd(&block);
  }
  ~RegionScope() {
    e.builder.restoreInsertionPoint(e.regions.back().outside);
    e.regions.pop_back();
  }
  RegionScope(const RegionScope &) = delete;
  RegionScope &operator=(const RegionScope &) = delete;

  Emitter &e;
};

} // namespace spmdc
