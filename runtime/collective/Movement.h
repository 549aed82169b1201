//===- Movement.h - bytes that a collective moves to a device ---*- C++ -*-===//
//
// Describes every collective from the view of the receiving device: a list of boxes, each copied (or, for
// reduce_scatter, reduced) from the operands of the group's members; the rest of the result is set to zero. Pure
// arithmetic on nested ceilings (Sharding.h). Shared memory, network and NCCL all execute these boxes, so a new
// collective that moves elements is a case in Movement.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <functional>
#include <vector>

namespace spmd {

/// A box of bytes: for each index of `counts` one run that is contiguous on both sides. All sizes are in bytes.
struct Box {
  int64_t source = 0; ///< Position in the group of the operand that is copied; -1: reduced over all operands.
  int64_t sourceOffset = 0, targetOffset = 0;
  std::vector<int64_t> counts, sourceStrides, targetStrides; ///< Outer loops, major to minor.
  int64_t runBytes = 0;
  int64_t runCount() const;
};

struct Movement {
  std::vector<int64_t> group; ///< Mesh positions of the members, in group order.
  int64_t self = 0;           ///< This device's position in the group.
  std::vector<Box> boxes;
  std::vector<Box> zeros; ///< Target side only.
  int64_t operandBytes = 0, resultBytes = 0;
};

/// Returns the bytes that the device at this mesh position receives. With `wanted`, only boxes of members for which it
/// is true. Throws spmd::Error if the description is inconsistent.
Movement computeMovement(const MeshShape &mesh, const CollectiveDesc &desc, int64_t position,
                         const std::function<bool(int64_t member)> &wanted = {});

/// Copies runs [begin, end) of a box.
void copyBox(const Box &box, const char *source, char *target, int64_t begin, int64_t end);
void zeroBox(const Box &box, char *target);

/// Calls visit(sourceOffset, targetOffset) for runs [begin, end), in order.
template <typename Visit> void forEachRun(const Box &box, int64_t begin, int64_t end, Visit &&visit) {
  size_t rank = box.counts.size();
  int64_t index[16] = {}, source = box.sourceOffset, target = box.targetOffset, rest = begin;
  for (size_t d = rank; d-- > 0;) {
    index[d] = rest % box.counts[d];
    rest /= box.counts[d];
    source += index[d] * box.sourceStrides[d];
    target += index[d] * box.targetStrides[d];
  }
  for (int64_t i = begin; i < end; ++i) {
    visit(source, target);
    for (size_t d = rank; d-- > 0;) {
      source += box.sourceStrides[d];
      target += box.targetStrides[d];
      if (++index[d] < box.counts[d])
        break;
      source -= box.counts[d] * box.sourceStrides[d];
      target -= box.counts[d] * box.targetStrides[d];
      index[d] = 0;
    }
  }
}

} // namespace spmd
