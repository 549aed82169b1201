//===- Atoms.h - axes split into the parts that shardings share -*- C++ -*-===//
//
// The coarsest common parts of the axes that a set of shardings names: with `a` (size 8) in one and `a:(2)4` in the
// other, the atoms of `a` are a:(1)2 and a:(2)4. Over atoms a sharding is a list of numbers, and shardings can be
// compared without regard to sub-axes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace spmdc {

/// The number of an atom. 8 bits suffice: an atom has at least two devices, so a mesh has at most 63 of them.
using Atom = int8_t;
using AtomList = llvm::SmallVector<Atom, 8>;

class Atoms {
public:
  Atoms(const spmd::MeshShape &mesh, const std::vector<const spmd::Sharding *> &shardings);

  /// Whether the shardings' parts of axes have common parts: a:(1)2 and a:(3)2 of an axis of 6 do not. If they do not,
  /// no other function may be called.
  bool exist() const { return areNested; }
  /// Whether each atom is a full axis.
  bool areFullAxes() const;
  Atom count() const { return static_cast<Atom>(parts.size()); }
  int64_t sizeOf(Atom atom) const { return parts[atom].size; }

  /// The atoms of an axis list, major to minor.
  AtomList split(const std::vector<spmd::AxisRef> &axes) const;
  /// The axis list of atoms, with adjacent parts of one axis merged, and a full axis written without a part.
  std::vector<spmd::AxisRef> merge(llvm::ArrayRef<Atom> atoms) const;

private:
  spmd::MeshShape mesh;
  bool areNested = true;
  std::vector<spmd::AxisRef> parts; ///< With explicit sizes; the atoms of an axis are adjacent, major first.
};

} // namespace spmdc
