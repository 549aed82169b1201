//===- Clusters.cpp - which operations share a kernel ---------------------===//
//
// Operations are placed from the last to the first. Each is put into the clusters that read it: into all of them as one
// where they have common loops, else into one of them with its value as a further output, else into each of them a
// second time; else it begins a cluster. The choice is by estimated cost of the schedules, so a reduction that would be
// computed once for each element of a larger array stays apart. At last, clusters that read the same memory are merged.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Clusters.h"

#include "passes/kernel/OpCost.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

/// Larger kernels gain nothing and take long to compile.
constexpr size_t kMaxMembers = 96;
/// Less than this is not worth a kernel of two parts.
constexpr int64_t kMinSharedBytes = 16384;
/// A splat that something outside kernels reads lies in the artifact up to this size; a larger one is written by a
/// kernel.
constexpr int64_t kMaxStoredSplat = 4096;

bool isSplat(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && cast<DenseElementsAttr>(constant.getValue()).isSplat();
}

} // namespace

bool isStoredConstant(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && (!isSplat(op) || constant.getType().getBytes() <= kMaxStoredSplat);
}

bool isFreeOp(Operation *op) {
  return isSplat(op) || isIndexOp(op) || isa<IotaOp, ShardStartOp, ShardSizeOp, AxisIndexOp>(op);
}

bool isKernelOp(Operation *op) {
  return isFreeOp(op) || isa<ElementwiseOpInterface>(op) || isa<ReduceOp, CumulativeOp, ConcatenateOp>(op);
}

void ClusterBuilder::findNeeded() {
  for (Operation &op : block) {
    if (isKernelOp(&op))
      continue;
    for (Value operand : op.getOperands()) {
      // A reshape only renames memory.
      while (auto reshape = operand.getDefiningOp<ReshapeOp>())
        operand = reshape.getOperand();
      if (Operation *source = operand.getDefiningOp(); source && isKernelOp(source) && !isStoredConstant(source))
        needed.insert(operand);
    }
  }
}

bool ClusterBuilder::reads(const Cluster &cluster, Value value) const {
  if (cluster.body.contains(value))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return cluster.body.ops.contains(user); });
}

bool ClusterBuilder::complete(Cluster &cluster, ArrayRef<Id> replaced, Operation *repeated) const {
  if (cluster.members.size() > kMaxMembers)
    return false;
  KernelBody &body = cluster.body;
  body = {};
  SmallVector<Operation *> stack(cluster.members.begin(), cluster.members.end());
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    if (!body.ops.insert(op).second)
      continue;
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && source->getBlock() == &block && isFreeOp(source))
        stack.push_back(source);
    }
  }
  // Outputs: what is needed in memory, and what other clusters read. Members in the order of the program.
  SmallVector<Operation *> ordered(cluster.members.begin(), cluster.members.end());
  llvm::sort(ordered, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : ordered) {
    Value value = op->getResult(0);
    bool isOutput = needed.contains(value);
    for (const auto &[id, other] : clusters)
      isOutput |= !llvm::is_contained(replaced, id) && reads(other, value);
    if (isOutput && op != repeated)
      body.outputs.push_back(value);
  }
  if (hasCycle(cluster, replaced))
    return false;
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(body, {}, /*isTrial=*/true);
  if (failed(schedule))
    return false;
  cluster.work = schedule->work + kLaunchCost;
  return true;
}

std::optional<Cluster> ClusterBuilder::unite(ArrayRef<Id> ids, Operation *op) const {
  Cluster merged;
  for (Id id : ids)
    merged.members.insert(clusters.at(id).members.begin(), clusters.at(id).members.end());
  if (op)
    merged.members.insert(op);
  if (!complete(merged, ids, nullptr))
    return std::nullopt;
  return merged;
}

bool ClusterBuilder::hasCycle(const Cluster &cluster, ArrayRef<Id> replaced) const {
  // Walks on from what reads the cluster's outputs; other clusters are passed as a whole.
  SmallVector<Value> stack(cluster.body.outputs);
  llvm::DenseSet<Value> seen;
  std::set<Id> passed;
  auto enters = [&](Value value) { return reads(cluster, value); };
  bool isFirst = true;
  size_t direct = stack.size();
  for (size_t next = 0; next < stack.size(); ++next) {
    Value value = stack[next];
    isFirst = next < direct;
    if (!seen.insert(value).second)
      continue;
    if (!isFirst && enters(value))
      return true;
    for (const auto &[id, other] : clusters) {
      if (llvm::is_contained(replaced, id) || !reads(other, value) || !passed.insert(id).second)
        continue;
      llvm::append_range(stack, other.body.outputs);
    }
    for (Operation *user : value.getUsers()) {
      if (user->getBlock() != &block)
        continue;
      // Through memory: operations that are in no kernel, and reshapes that they see through.
      if (!isKernelOp(user) || isa<ReshapeOp>(user))
        llvm::append_range(stack, user->getResults());
    }
  }
  return false;
}

ClusterBuilder::Id ClusterBuilder::add(Cluster cluster) {
  clusters.emplace(nextId, std::move(cluster));
  return nextId++;
}

void ClusterBuilder::remove(Id id) { clusters.erase(id); }

void ClusterBuilder::place(Operation *op) {
  Value value = op->getResult(0);
  bool isRoot = needed.contains(value);
  SmallVector<Id> users;
  if (!isFreeOp(op)) // what is free is part of its readers already
    for (const auto &[id, cluster] : clusters)
      if (reads(cluster, value))
        users.push_back(id);
  if (users.empty() && !isRoot)
    return;
  Cluster alone;
  alone.members.insert(op);
  bool isKernel = complete(alone, {}, nullptr);
  assert(isKernel && "every operation alone is a kernel");
  (void)isKernel;

  // All of its readers and it as one kernel.
  double apart = alone.work;
  for (Id id : users)
    apart += clusters.at(id).work;
  if (!users.empty()) {
    if (std::optional<Cluster> merged = unite(users, op); merged && merged->work <= apart) {
      for (Id id : users)
        remove(id);
      add(std::move(*merged));
      return;
    }
  }
  if (users.size() > 1) {
    // Into one reader, which writes it for the others.
    for (Id id : users) {
      std::optional<Cluster> merged = unite({id}, op);
      if (!merged || merged->work > clusters.at(id).work + alone.work)
        continue;
      remove(id);
      add(std::move(*merged));
      return;
    }
  }
  if (!isRoot && !users.empty()) {
    // Into each reader: cheap work on few inputs.
    double total = 0;
    SmallVector<Cluster> extended;
    for (Id id : users) {
      Cluster copy;
      copy.members = clusters.at(id).members;
      copy.members.insert(op);
      if (!complete(copy, {id}, op))
        break;
      total += copy.work;
      extended.push_back(std::move(copy));
    }
    if (extended.size() == users.size() && total <= apart) {
      for (Id id : users)
        remove(id);
      for (Cluster &cluster : extended)
        add(std::move(cluster));
      return;
    }
  }
  add(std::move(alone));
}

bool ClusterBuilder::mergeOnePair() {
  for (auto first = clusters.begin(); first != clusters.end(); ++first)
    for (auto second = std::next(first); second != clusters.end(); ++second) {
      Id ids[] = {first->first, second->first};
      if (!tried.insert({ids[0], ids[1]}).second)
        continue;
      // What both read must be worth reading once; or both are little more than a launch.
      bool areSmall = first->second.work + second->second.work < 4 * kLaunchCost;
      bool isRelated = llvm::any_of(first->second.body.ops, [&](Operation *op) {
        return llvm::any_of(op->getOperands(), [&](Value operand) {
          return (areSmall || cast<ArrayType>(operand.getType()).getBytes() >= kMinSharedBytes) &&
                 !first->second.body.contains(operand) && reads(second->second, operand);
        });
      });
      if (!isRelated)
        continue;
      std::optional<Cluster> merged = unite(ids, nullptr);
      if (!merged || merged->work > first->second.work + second->second.work)
        continue;
      remove(ids[0]);
      remove(ids[1]);
      add(std::move(*merged));
      return true;
    }
  return false;
}

void ClusterBuilder::mergeSiblings() {
  while (mergeOnePair()) {
  }
}

void ClusterBuilder::run() {
  findNeeded();
  for (Operation &op : llvm::reverse(block))
    if (isKernelOp(&op))
      place(&op);
  mergeSiblings();
}

std::vector<Cluster> ClusterBuilder::take() {
  std::vector<Cluster> result;
  for (auto &[id, cluster] : clusters)
    result.push_back(std::move(cluster));
  clusters.clear();
  return result;
}

} // namespace spmdc
