//===- RegionScope.h - being inside of a region that is emitted -*- C++ -*-===//
#pragma once

#include "frontend/Emitter.h"

namespace spmdc {

/// Emits at the end of a block for as long as it lives, and goes back to where it was. The region gets its operation
/// only afterwards: until then the emitter remembers what lies around it.
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
