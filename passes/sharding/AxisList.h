//===- AxisList.h - arithmetic of axes and sub-axes -------------*- C++ -*-===//
//
// Propagation splits axes into parts and merges them again, so it works on plain values: an axis part is the interval
// [preSize, preSize * size) of a mesh axis's digits. With a = 8 seen as the digits 2 x 2 x 2,
//
//     "a"        is {preSize 1, size 8}      the full axis
//     "a:(1)2"   is {preSize 1, size 2}      its major digit
//     "a:(2)4"   is {preSize 2, size 4}      the two minor ones
//
// A list of parts shards a dimension from major to minor. One list is a prefix of another when a device's position
// under the first follows from its position under the second by dropping minor digits: [a:(1)2] is a prefix of [a], [a]
// of [a, b], but [b] not of [a, b]. Extending a sharding means replacing a list by one of which it is a prefix.
//
// Other forms of an axis or a part of it, with their lists; MeshAxes converts from and to AxisRefAttr:
//
//   AxisPart       AxisList            propagation
//   AxisRefAttr    AxesAttr            the IR: shardings and collectives (ir/spmd/SpmdBase.td)
//   spmd::AxisRef  AxisRefs            strategies, reshards and the runtime (runtime/sharding/Sharding.h, FactorAxes.h)
//   std::string    VaryingAxes::Axes   analyses of full axes (ir/spmd/VaryingAxes.h, passes/collectives/ShardedAxes.h)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace spmdc {

/// An axis or a part of it (Shardy's sub-axis).
struct AxisPart {
  unsigned axis = 0;   ///< Position of the axis in the mesh.
  int64_t preSize = 1; ///< Product of the digits of the axis that are major to this part.
  int64_t size = 1;    ///< The number of shards that this part makes.

  bool operator==(const AxisPart &) const = default;
  /// The end of this part's digits: the preSize of a part that continues it.
  int64_t end() const { return preSize * size; }
  bool isPrefixOf(const AxisPart &other) const {
    return axis == other.axis && preSize == other.preSize && other.size % size == 0;
  }
  /// True if one array cannot use both: they share digits, or their boundaries do not fit one splitting of the axis
  /// (a:(1)2 and a:(3)2 of an axis of 6).
  bool conflictsWith(const AxisPart &other) const;
  /// The largest major part of this part that does not conflict with `other`: this part itself if there is no conflict,
  /// none if not even one digit is free.
  std::optional<AxisPart> prefixWithout(const AxisPart &other) const;
  std::optional<AxisPart> prefixWithout(llvm::ArrayRef<AxisPart> others) const;
  /// The major part of that size, which must divide this part's.
  AxisPart majorPart(int64_t majorSize) const { return {axis, preSize, majorSize}; }
};

using AxisList = llvm::SmallVector<AxisPart, 2>;

/// Product of the sizes.
int64_t totalSize(llvm::ArrayRef<AxisPart> axes);

/// Appends a part; if it continues the last one, both become one ([a:(1)2] and a:(2)2 become [a:(1)4]).
void appendMerged(AxisList &axes, AxisPart part);

bool isPrefix(llvm::ArrayRef<AxisPart> axes, llvm::ArrayRef<AxisPart> of);
inline bool isStrictPrefix(llvm::ArrayRef<AxisPart> axes, llvm::ArrayRef<AxisPart> of) {
  return axes != of && isPrefix(axes, of);
}
/// The longest list that is a prefix of both.
AxisList commonPrefix(llvm::ArrayRef<AxisPart> lhs, llvm::ArrayRef<AxisPart> rhs);

/// The axes of a mesh; converts between AxisRefAttr and AxisPart.
class MeshAxes {
public:
  explicit MeshAxes(MeshAttr mesh) : mesh(mesh) {}

  /// The part; none for an axis that the mesh lacks, or for a part that does not divide the axis.
  std::optional<AxisPart> find(AxisRefAttr axis) const;
  /// The merged parts of these axes, which the mesh must have.
  AxisList getParts(llvm::ArrayRef<AxisRefAttr> axes) const;
  AxisRefAttr getAttr(AxisPart part) const;
  llvm::SmallVector<AxisRefAttr> getAttrs(llvm::ArrayRef<AxisPart> axes) const;
  /// `a`, `(a, b:(2)4)`, or `_` for no axis: as the language writes it.
  std::string str(llvm::ArrayRef<AxisPart> axes) const;
  /// `'a', 'b'`: the names of all axes, for messages.
  std::string names() const;
  MeshAttr getMesh() const { return mesh; }

private:
  MeshAttr mesh;
};

} // namespace spmdc
