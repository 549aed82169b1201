//===- Atoms.cpp - axes split into the parts that shardings share ---------===//

#include "passes/reshard/Atoms.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace spmdc {

Atoms::Atoms(const spmd::MeshShape &mesh, const std::vector<const spmd::Sharding *> &shardings) : mesh(mesh) {
  // The places at which each axis is split: the products of major parts at which some reference begins or ends.
  std::map<std::string, std::set<int64_t>> splits;
  auto addSplits = [&](const std::vector<spmd::AxisRef> &axes) {
    for (const spmd::AxisRef &axis : axes) {
      splits[axis.name].insert(axis.preSize);
      splits[axis.name].insert(axis.preSize * axis.sizeIn(mesh));
    }
  };
  for (const spmd::Sharding *sharding : shardings) {
    for (const auto &axes : sharding->dims)
      addSplits(axes);
    addSplits(sharding->unreduced);
  }
  for (const spmd::MeshAxis &axis : mesh.axes) {
    int64_t begin = 1;
    std::set<int64_t> &ends = splits[axis.name];
    ends.insert(axis.size);
    for (int64_t end : ends) {
      if (end > begin) {
        areNested &= end % begin == 0;
        parts.push_back({axis.name, begin, end / begin});
        begin = end;
      }
    }
  }
}

bool Atoms::areFullAxes() const {
  return llvm::all_of(parts,
                      [&](const spmd::AxisRef &part) { return part.size == mesh.axes[mesh.indexOf(part.name)].size; });
}

AtomList Atoms::split(const std::vector<spmd::AxisRef> &axes) const {
  AtomList atoms;
  for (const spmd::AxisRef &axis : axes) {
    int64_t end = axis.preSize * axis.sizeIn(mesh);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].name == axis.name && parts[i].preSize >= axis.preSize && parts[i].preSize < end)
        atoms.push_back(static_cast<Atom>(i));
  }
  return atoms;
}

std::vector<spmd::AxisRef> Atoms::merge(llvm::ArrayRef<Atom> atoms) const {
  std::vector<spmd::AxisRef> axes;
  for (Atom atom : atoms) {
    const spmd::AxisRef &part = parts[atom];
    bool continues =
        !axes.empty() && axes.back().name == part.name && axes.back().preSize * axes.back().size == part.preSize;
    if (continues)
      axes.back().size *= part.size;
    else
      axes.push_back(part);
  }
  for (spmd::AxisRef &axis : axes)
    if (axis.preSize == 1 && axis.size == mesh.axes[mesh.indexOf(axis.name)].size)
      axis.size = 0;
  return axes;
}

} // namespace spmdc
