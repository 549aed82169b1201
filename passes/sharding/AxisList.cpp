//===- AxisList.cpp - arithmetic of axes and sub-axes ---------------------===//

#include "passes/sharding/AxisList.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

namespace spmdc {

bool AxisPart::conflictsWith(const AxisPart &other) const {
  if (axis != other.axis)
    return false;
  if (*this == other)
    return true;
  return other.preSize % end() != 0 && preSize % other.end() != 0;
}

std::optional<AxisPart> AxisPart::prefixWithout(const AxisPart &other) const {
  if (!conflictsWith(other))
    return *this;
  // The digits that are major to the other part stay free; they must end where a split of the axis can continue with
  // the other part.
  if (other.preSize <= preSize || other.preSize % preSize != 0)
    return std::nullopt;
  int64_t freeSize = std::gcd(size, other.preSize / preSize);
  if (freeSize == 1)
    return std::nullopt;
  return majorPart(freeSize);
}

std::optional<AxisPart> AxisPart::prefixWithout(llvm::ArrayRef<AxisPart> others) const {
  std::optional<AxisPart> result = *this;
  for (const AxisPart &other : others) {
    result = result->prefixWithout(other);
    if (!result)
      return std::nullopt;
  }
  return result;
}

int64_t totalSize(llvm::ArrayRef<AxisPart> axes) {
  int64_t size = 1;
  for (const AxisPart &part : axes)
    size *= part.size;
  return size;
}

void appendMerged(AxisList &axes, AxisPart part) {
  if (!axes.empty() && axes.back().axis == part.axis && axes.back().end() == part.preSize)
    axes.back().size *= part.size;
  else
    axes.push_back(part);
}

bool isPrefix(llvm::ArrayRef<AxisPart> axes, llvm::ArrayRef<AxisPart> of) {
  if (axes.empty())
    return true;
  if (axes.size() > of.size())
    return false;
  return axes.drop_back() == of.take_front(axes.size() - 1) && axes.back().isPrefixOf(of[axes.size() - 1]);
}

AxisList commonPrefix(llvm::ArrayRef<AxisPart> lhs, llvm::ArrayRef<AxisPart> rhs) {
  AxisList common;
  for (auto [left, right] : llvm::zip(lhs, rhs)) {
    if (left == right) {
      common.push_back(left);
      continue;
    }
    if (left.axis == right.axis && left.preSize == right.preSize)
      if (int64_t size = std::gcd(left.size, right.size); size > 1)
        common.push_back(left.majorPart(size));
    break;
  }
  return common;
}

std::optional<AxisPart> MeshAxes::find(AxisRefAttr axis) const {
  for (auto [index, meshAxis] : llvm::enumerate(mesh.getAxes())) {
    if (meshAxis.getName() != axis.getName())
      continue;
    if (axis.isFullAxis())
      return AxisPart{static_cast<unsigned>(index), 1, meshAxis.getSize()};
    AxisPart part{static_cast<unsigned>(index), axis.getPreSize(), axis.getSize()};
    bool isPartOfAxis = meshAxis.getSize() % part.end() == 0 && (part.size > 1 || meshAxis.getSize() == 1);
    return isPartOfAxis ? std::optional(part) : std::nullopt;
  }
  return std::nullopt;
}

AxisList MeshAxes::getParts(llvm::ArrayRef<AxisRefAttr> axes) const {
  AxisList parts;
  for (AxisRefAttr axis : axes)
    appendMerged(parts, *find(axis));
  return parts;
}

AxisRefAttr MeshAxes::getAttr(AxisPart part) const {
  AxisRefAttr meshAxis = mesh.getAxes()[part.axis];
  if (part.preSize == 1 && part.size == meshAxis.getSize())
    return AxisRefAttr::get(mesh.getContext(), meshAxis.getName());
  return AxisRefAttr::get(mesh.getContext(), meshAxis.getName(), part.preSize, part.size);
}

llvm::SmallVector<AxisRefAttr> MeshAxes::getAttrs(llvm::ArrayRef<AxisPart> axes) const {
  return llvm::map_to_vector(axes, [&](AxisPart part) { return getAttr(part); });
}

std::string MeshAxes::str(llvm::ArrayRef<AxisPart> axes) const {
  if (axes.empty())
    return "_";
  if (axes.size() == 1)
    return getAttr(axes.front()).str();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "(";
  llvm::interleaveComma(axes, os, [&](AxisPart part) { os << getAttr(part).str(); });
  os << ")";
  return text;
}

std::string MeshAxes::names() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(mesh.getAxes(), os, [&](AxisRefAttr axis) { os << "'" << axis.getName() << "'"; });
  return text;
}

} // namespace spmdc
