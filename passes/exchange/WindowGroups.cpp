//===- WindowGroups.cpp - operations that share one window ----------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/Windows.h"

#include "llvm/ADT/MapVector.h"

#include <numeric>
#include <utility>

using namespace mlir;

namespace spmdc {
namespace {

bool isAddend(Operation *op) { return op->hasOneUse() && isa<AddOp>(*op->user_begin()); }

/// Whether the two windows do not overlap along a dimension of which every device reads the same range.
bool areDisjoint(const Window &one, const Window &other) {
  for (int64_t d = 0; d < typeOf(one.getSource()).getRank(); ++d) {
    const WindowDim &dim = one.getDim(d), &otherDim = other.getDim(d);
    if (dim.getNumShards() > 1)
      continue;
    const WindowDim::Range &range = dim.ranges.front(), &otherRange = otherDim.ranges.front();
    if (range.end <= otherRange.begin || otherRange.end <= range.begin)
      return true;
  }
  return false;
}

/// A lower bound on the bytes that a common window sends, if the two send `bytes` and `otherBytes`: along a dimension
/// that is replicated in the array and the results, bytes grow with the number of elements that are read. Most pairs of
/// the views of a convolution (one for each element of its kernel) are rejected by this bound alone.
double getLeastBytesTogether(const Window &one, double bytes, const Window &other, double otherBytes) {
  ArrayRef<DimShardingAttr> cuts = typeOf(one.getSource()).getShardingOrOpen().getDims();
  for (int64_t d = 0; d < static_cast<int64_t>(cuts.size()); ++d) {
    const WindowDim &dim = one.getDim(d), &otherDim = other.getDim(d);
    if (!cuts[d].getAxes().empty() || dim.getNumShards() > 1 || otherDim.getNumShards() > 1 || dim.wraps ||
        otherDim.wraps)
      continue;
    auto count = [](int64_t begin, int64_t end, int64_t stride) {
      return static_cast<double>((end - begin - 1) / stride + 1);
    };
    const WindowDim::Range &range = dim.ranges.front(), &otherRange = otherDim.ranges.front();
    int64_t stride = std::gcd(std::gcd(dim.stride, otherDim.stride), range.begin - otherRange.begin);
    double both = count(std::min(range.begin, otherRange.begin), std::max(range.end, otherRange.end), stride);
    bytes = bytes / count(range.begin, range.end, dim.stride) * both;
    otherBytes = otherBytes / count(otherRange.begin, otherRange.end, otherDim.stride) * both;
  }
  return std::max(bytes, otherBytes);
}

} // namespace

bool Windows::canShareWindow(const Group &one, const Group &other) {
  auto isSum = [](const Group &group) {
    return llvm::all_of(group.views, [](const View &view) { return isAddend(view.op); });
  };
  return one.window.canMerge(other.window) && !(isSum(one) && isSum(other) && areDisjoint(one.window, other.window));
}

void Windows::mergeIntoNearest(std::vector<Group> &list) const {
  Group &last = list.back();
  Group *nearest = nullptr;
  double least = last.bytes;
  for (Group &group : llvm::drop_end(list)) {
    if (getLeastBytesTogether(group.window, group.bytes, last.window, last.bytes) - group.bytes > least ||
        !canShareWindow(group, last))
      continue;
    Window both = group.window;
    both.add(last.window);
    double more = both.getBytes(mesh) - group.bytes;
    if (more < least || (more == least && !nearest)) {
      nearest = &group;
      least = more;
    }
  }
  if (!nearest)
    return;
  nearest->window.add(last.window);
  nearest->bytes += least;
  llvm::append_range(nearest->views, last.views);
  list.pop_back();
}

void Windows::mergeAll(std::vector<Group> &list) const {
  std::vector<Group> kinds;
  double bytes = 0, together = 0;
  for (const Group &group : list) {
    bytes += group.bytes;
    auto kind = llvm::find_if(kinds, [&](const Group &other) { return canShareWindow(other, group); });
    if (kind == kinds.end()) {
      kinds.push_back(group);
      continue;
    }
    kind->window.add(group.window);
    llvm::append_range(kind->views, group.views);
  }
  for (Group &kind : kinds)
    together += kind.bytes = kind.window.getBytes(mesh);
  if (together <= bytes)
    list = std::move(kinds);
}

std::vector<Windows::Group> Windows::buildGroups(const std::vector<View> &views) const {
  // An operation that all views look through has no view itself.
  llvm::DenseSet<Operation *> unused = findUnused(views);
  llvm::MapVector<std::pair<Value, Block *>, std::vector<Group>> byPlace;
  for (const View &view : views) {
    if (unused.contains(view.op))
      continue;
    std::vector<Group> &list = byPlace[{view.move.source, view.op->getBlock()}];
    Window own(view.move.source, typeOf(view.op->getResult(0)).getShardingOrOpen(), *getDims(view));
    double bytes = own.getBytes(mesh);
    list.push_back({own, bytes, {view}, false, Value()});
    mergeIntoNearest(list);
  }
  // Groups that were cheaper apart may be cheaper together once they have grown. Example: a group that reads rows and
  // one that reads columns do not need the corners, until another view reads these as well.
  for (auto &[place, list] : byPlace) {
    for (size_t before = 0; before != list.size();) {
      before = list.size();
      for (Group &group : std::exchange(list, {})) {
        list.push_back(std::move(group));
        mergeIntoNearest(list);
      }
    }
    mergeAll(list);
  }
  std::vector<Group> all;
  for (auto &[place, list] : byPlace)
    llvm::append_range(all, list);
  return all;
}

CollectiveCost Windows::chooseWindows(std::vector<Group> &list) const {
  CollectiveCost total;
  std::vector<View> views;
  for (const Group &group : list)
    llvm::append_range(views, group.views);
  llvm::DenseSet<Operation *> unused = findUnused(views);
  for (Group &group : list) {
    CollectiveCost together, apart;
    llvm::DenseSet<Operation *> counted;
    auto addMover = [&](ShardingRuleOpInterface op) {
      if (!counted.insert(op).second)
        return;
      for (const ArrayMove &part : getNearestMoves(op).parts)
        apart.addExchange(getExchangeBytes(mesh, typeOf(part.source), typeOf(op->getResult(0)), part.dims));
    };
    for (const View &view : group.views) {
      if (needsExchange(view.op))
        addMover(view.op);
      for (Operation *op : view.between)
        if (needsExchange(op) && unused.contains(op)) // Otherwise it is built anyway.
          addMover(cast<ShardingRuleOpInterface>(op));
    }
    together.addExchange(group.bytes);
    group.isUsed = together < apart;
    total = total + (group.isUsed ? together : apart);
  }
  return total;
}

llvm::DenseSet<Operation *> Windows::findUnused(ArrayRef<View> views) const {
  llvm::DenseMap<Operation *, const View *> viewOf;
  llvm::DenseSet<Operation *> between, unused;
  for (const View &view : views) {
    viewOf[view.op] = &view;
    between.insert(view.between.begin(), view.between.end());
  }
  for (Operation *op : llvm::reverse(ops)) { // Users before operands.
    if (!between.contains(op))
      continue;
    bool isUsed = llvm::any_of(op->getUsers(), [&](Operation *user) {
      const View *view = viewOf.lookup(user);
      return !unused.contains(user) && !(view && llvm::is_contained(view->between, op));
    });
    if (!isUsed)
      unused.insert(op);
  }
  return unused;
}

} // namespace spmdc
