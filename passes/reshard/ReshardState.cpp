//===- ReshardState.cpp - a sharding over atoms ---------------------------===//

#include "passes/reshard/ReshardState.h"

#include <algorithm>

namespace spmdc {

ReshardState::ReshardState(llvm::ArrayRef<AtomList> dims, llvm::ArrayRef<Atom> unreduced) {
  for (const AtomList &dim : dims) {
    llvm::append_range(row, dim);
    row.push_back(kEnd);
  }
  addUnreduced(unreduced);
}

ReshardState ReshardState::of(const Atoms &atoms, const spmd::Sharding &sharding) {
  llvm::SmallVector<AtomList, 4> dims;
  for (const std::vector<spmd::AxisRef> &axes : sharding.dims)
    dims.push_back(atoms.split(axes));
  return {dims, atoms.split(sharding.unreduced)};
}

/// The begin of a dimension in the row; for `dim` equal to the rank, the begin of the unreduced atoms.
size_t ReshardState::getBegin(size_t dim) const {
  const Atom *begin = row.begin();
  for (; dim > 0; --dim)
    begin = std::find(begin, row.end(), kEnd) + 1;
  return begin - row.begin();
}

llvm::ArrayRef<Atom> ReshardState::getDim(size_t dim) const {
  const Atom *begin = row.begin() + getBegin(dim);
  return {begin, std::find(begin, row.end(), kEnd)};
}

llvm::ArrayRef<Atom> ReshardState::getUnreduced() const {
  const Atom *end = row.end(), *begin = end;
  while (begin != row.begin() && begin[-1] != kEnd)
    --begin;
  return {begin, end};
}

bool ReshardState::hasSameDims(const ReshardState &other) const {
  auto dimsOf = [](const ReshardState &state) {
    return llvm::ArrayRef<Atom>(state.row.begin(), state.getUnreduced().begin());
  };
  return dimsOf(*this) == dimsOf(other);
}

void ReshardState::append(size_t dim, llvm::ArrayRef<Atom> atoms) {
  row.insert(row.begin() + getBegin(dim + 1) - 1, atoms.begin(), atoms.end());
}

void ReshardState::drop(size_t dim, size_t count) {
  auto *end = row.begin() + getBegin(dim + 1) - 1;
  row.erase(end - count, end);
}

void ReshardState::addUnreduced(llvm::ArrayRef<Atom> atoms) {
  llvm::append_range(row, atoms);
  std::sort(row.begin() + getBegin(getRank()), row.end());
}

void ReshardState::removeUnreduced(llvm::ArrayRef<Atom> atoms) {
  auto isRemoved = [&](Atom atom) { return llvm::is_contained(atoms, atom); };
  row.erase(std::remove_if(row.begin() + getBegin(getRank()), row.end(), isRemoved), row.end());
}

} // namespace spmdc
