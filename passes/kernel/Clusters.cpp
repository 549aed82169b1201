//===- Clusters.cpp - which operations share a kernel ---------------------===//
//
// The builder visits operations from the last to the first, and puts each into the clusters that read it. If all of
// these have common loops with it, they become one cluster. Otherwise it joins one of them, which also writes its value
// for the others; or each of them computes it again, if that costs less than writing and reading it; or it begins a new
// cluster. The estimated cost of the schedules decides, so a reduction that would be computed again for each element of
// a larger array is not fused. At the end, clusters that read the same memory are merged.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Clusters.h"

#include "ir/spmd/DebugTrace.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/OpCost.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("form-kernels", "not fused");

/// Kernels with more operations are not faster, and take long to compile.
constexpr size_t kMaxMembers = 96;
/// Each reduction keeps its accumulator in registers, on GPUs one for every thread: more reductions than this spill.
constexpr int kMaxReductions = 8;
/// A value with more readers than this is written by one of the first of them, or by a kernel of its own.
constexpr size_t kMaxReadersTried = 16;
/// Clusters that read the same memory are merged only within this many kernels and steps of each other: memory that
/// both read would have to be kept until the later one runs.
constexpr int kSiblingWindow = 64;
/// Clusters are merged if both read an array of at least this many bytes; for smaller ones a merge gains nothing.
constexpr int64_t kMinSiblingBytes = 16384;
/// The artifact stores a splat that an operation outside kernels reads, up to this size; a kernel writes a larger one.
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
  for (Operation &outer : block) {
    if (isKernelOp(&outer))
      continue;
    // The operations in regions of a loop or branch run outside the kernels of this block.
    outer.walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        // A reshape only renames memory.
        while (auto reshape = operand.getDefiningOp<ReshapeOp>())
          operand = reshape.getOperand();
        Operation *source = operand.getDefiningOp();
        if (source && source->getBlock() == &block && isKernelOp(source) && !isStoredConstant(source))
          needed.insert(operand);
      }
    });
  }
}

bool ClusterBuilder::reads(const Cluster &cluster, Value value) const {
  if (cluster.body.contains(value))
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return cluster.body.ops.contains(user); });
}

bool ClusterBuilder::complete(Cluster &cluster, ArrayRef<Id> replaced, Operation *repeated) const {
  auto isReduction = [](Operation *op) { return isa<ReduceOp, CumulativeOp>(op); };
  if (cluster.members.size() > kMaxMembers || llvm::count_if(cluster.members, isReduction) > kMaxReductions)
    return refuse("the kernel would have too many operations or reductions");
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
  // Outputs are the values needed in memory, and those that other clusters read. Members are in program order.
  SmallVector<Operation *> ordered(cluster.members.begin(), cluster.members.end());
  llvm::sort(ordered, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : ordered) {
    Value value = op->getResult(0);
    bool isOutput = needed.contains(value) ||
                    llvm::any_of(readersOf(value), [&](Id id) { return !llvm::is_contained(replaced, id); });
    if (isOutput && op != repeated)
      body.outputs.push_back(value);
  }
  if (!findLater(cluster, replaced))
    return refuse("the kernel would need a result that is computed from its own");
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(body, {}, /*isTrial=*/true, traits);
  if (failed(schedule))
    return refuse("the operations have no common loops");
  cluster.work = schedule->work + kLaunchCost;
  return true;
}

std::optional<Cluster> ClusterBuilder::unite(ArrayRef<Id> ids, Operation *op) const {
  size_t count = op ? 1 : 0;
  for (Id id : ids)
    count += clusters.at(id).members.size();
  if (count > 2 * kMaxMembers) // Members in common count once.
    return refuse("the kernel would have too many operations"), std::nullopt;
  Cluster merged;
  for (Id id : ids)
    merged.members.insert(clusters.at(id).members.begin(), clusters.at(id).members.end());
  if (op)
    merged.members.insert(op);
  if (!complete(merged, ids, nullptr))
    return std::nullopt;
  return merged;
}

SmallVector<ClusterBuilder::Id> ClusterBuilder::readersOf(Value value) const {
  SmallVector<Id> readers;
  for (Operation *user : value.getUsers())
    if (auto home = homes.find(user); home != homes.end())
      for (Id id : home->second)
        if (!clusters.at(id).body.contains(value))
          readers.push_back(id);
  llvm::sort(readers);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool ClusterBuilder::findLater(Cluster &cluster, ArrayRef<Id> replaced) const {
  cluster.later.clear();
  if (replaced.empty())
    return true;
  int64_t limit = 0;
  for (Id id : replaced)
    limit = std::max(limit, ranks.at(id));
  // Follows the readers of the cluster's outputs; another cluster counts as one node. A node that comes after all
  // replaced clusters cannot lead back to them.
  SmallVector<Value> stack(cluster.body.outputs);
  llvm::DenseSet<Value> seen;
  std::set<int64_t> later;
  auto reach = [&](Operation *op) {
    int64_t rank = ranksOfOps.lookup(op);
    if (rank <= limit && later.insert(rank).second)
      llvm::append_range(stack, op->getResults());
  };
  size_t direct = stack.size();
  for (size_t next = 0; next < stack.size(); ++next) {
    Value value = stack[next];
    if (!seen.insert(value).second)
      continue;
    if (next >= direct && reads(cluster, value))
      return false;
    for (Id id : readersOf(value)) {
      if (llvm::is_contained(replaced, id) || ranks.at(id) > limit || !later.insert(ranks.at(id)).second)
        continue;
      llvm::append_range(stack, clusters.at(id).body.outputs);
    }
    for (Operation *nested : value.getUsers()) {
      Operation *user = block.findAncestorOpInBlock(*nested);
      // Values pass through memory: through operations outside kernels, and through reshapes.
      if (!user || (isKernelOp(user) && !isa<ReshapeOp>(user)))
        continue;
      if (isa<ReshapeOp>(user))
        llvm::append_range(stack, user->getResults());
      else
        reach(user);
      // Prints keep their order.
      if (auto at = llvm::find(ordered, user); at != ordered.end())
        std::for_each(std::next(at), ordered.end(), reach);
    }
  }
  cluster.later.assign(later.begin(), later.end());
  return true;
}

/// The merged cluster takes the rank of the last one that it replaces; clusters that must follow it move behind it.
int64_t ClusterBuilder::makeRank(const Cluster &cluster, int64_t last) {
  if (cluster.later.empty())
    return last;
  std::vector<Node> early, late;
  std::vector<int64_t> places;
  auto begin = order.lower_bound(cluster.later.front()), end = order.upper_bound(last);
  for (auto at = begin; at != end; ++at) {
    places.push_back(at->first);
    (llvm::is_contained(cluster.later, at->first) ? late : early).push_back(at->second);
  }
  order.erase(begin, end);
  places.push_back(last);
  auto place = places.begin();
  auto put = [&](const Node &node) {
    order[*place] = node;
    (node.op ? ranksOfOps[node.op] : ranks[node.cluster]) = *place++;
  };
  llvm::for_each(early, put);
  int64_t rank = *place++;
  llvm::for_each(late, put);
  return rank;
}

ClusterBuilder::Id ClusterBuilder::add(Cluster cluster, int64_t rank) {
  Id id = nextId++;
  ranks[id] = rank;
  order[rank] = {nullptr, id};
  for (Operation *op : cluster.body.ops)
    homes[op].push_back(id);
  clusters.emplace(id, std::move(cluster));
  return id;
}

ClusterBuilder::Id ClusterBuilder::replace(ArrayRef<Id> ids, Cluster cluster) {
  int64_t last = 0;
  for (Id id : ids) {
    last = std::max(last, ranks.at(id));
    remove(id);
  }
  int64_t rank = makeRank(cluster, last);
  return add(std::move(cluster), rank);
}

void ClusterBuilder::remove(Id id) {
  for (Operation *op : clusters.at(id).body.ops)
    llvm::erase(homes[op], id);
  order.erase(ranks.at(id));
  ranks.erase(id);
  clusters.erase(id);
}

void ClusterBuilder::traceApart(Operation *op, ArrayRef<Id> users, double together, double apart) const {
  Operation *user = clusters.at(users.front()).members.front();
  auto with = [&] { return users.size() == 1 ? "its user" : "all of its users, the first"; };
  if (together > 0)
    trace.skip(op, "with ", with, " ", user, ", one kernel costs ", asCount(together), ", separate ones ",
               asCount(apart));
  else
    trace.skip(op, refusal, ", with ", with, " ", user);
}

void ClusterBuilder::place(Operation *op) {
  Value value = op->getResult(0);
  bool isRoot = needed.contains(value);
  SmallVector<Id> users;
  if (!isFreeOp(op)) // a free operation is part of its readers already
    users = readersOf(value);
  if (users.empty() && !isRoot)
    return;
  Cluster alone;
  alone.members.insert(op);
  bool isKernel = complete(alone, {}, nullptr);
  assert(isKernel && "every operation alone is a kernel");
  (void)isKernel;

  // Option: this operation and all its readers in one kernel.
  double apart = alone.work;
  for (Id id : users)
    apart += clusters.at(id).work;
  if (!users.empty()) {
    if (std::optional<Cluster> merged = unite(users, op); merged && merged->work <= apart) {
      replace(users, std::move(*merged));
      return;
    } else if (trace.isOn()) {
      traceApart(op, users, merged ? merged->work : 0, apart);
    }
  }
  // Option: in the kernel of one reader, which writes the value for the others.
  std::optional<Id> writer;
  std::optional<Cluster> written;
  double least = apart;
  for (Id id : ArrayRef(users).take_front(users.size() > 1 ? kMaxReadersTried : 0)) {
    std::optional<Cluster> merged = unite({id}, op);
    if (!merged || merged->work > clusters.at(id).work + alone.work)
      continue;
    least = apart - (clusters.at(id).work + alone.work) + merged->work;
    writer = id;
    written = std::move(merged);
    break;
  }
  // Option: in each reader, which costs no memory for the value. Cheap operations with few inputs take it.
  if (!isRoot && !users.empty() && users.size() <= kMaxReadersTried) {
    SmallVector<Cluster> extended = repeat(op, users);
    double total = 0;
    for (const Cluster &cluster : extended)
      total += cluster.work;
    if (!extended.empty() && (writer ? total < least : total <= least)) {
      for (auto [id, cluster] : llvm::zip(users, extended))
        replace({id}, std::move(cluster));
      return;
    }
  }
  if (writer)
    replace({*writer}, std::move(*written));
  else
    add(std::move(alone), positions.lookup(op));
}

SmallVector<Cluster> ClusterBuilder::repeat(Operation *op, ArrayRef<Id> users) const {
  SmallVector<Cluster> extended;
  for (Id id : users) {
    Cluster copy;
    copy.members = clusters.at(id).members;
    copy.members.insert(op);
    if (!complete(copy, {id}, op))
      return {};
    extended.push_back(std::move(copy));
  }
  return extended;
}

bool ClusterBuilder::areSiblings(const Cluster &first, const Cluster &second) const {
  // Both must read one large array, or any array if both cost little more than a launch.
  bool areSmall = first.work + second.work < 4 * kLaunchCost;
  return llvm::any_of(first.body.ops, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return (areSmall || cast<ArrayType>(operand.getType()).getBytes() >= kMinSiblingBytes) &&
             !first.body.contains(operand) && reads(second, operand);
    });
  });
}

/// Tries to merge each cluster with those that follow it closely. A merged cluster is tried again, also with those
/// before it.
void ClusterBuilder::mergeSiblings() {
  std::set<std::pair<Id, Id>> tried;
  auto at = order.begin();
  while (at != order.end()) {
    if (at->second.op) {
      ++at;
      continue;
    }
    Id first = at->second.cluster;
    std::optional<Id> merged;
    auto other = std::next(at);
    for (int i = 0; i < kSiblingWindow && other != order.end(); ++i, ++other) {
      Id second = other->second.cluster;
      if (other->second.op || !tried.insert({first, second}).second ||
          !areSiblings(clusters.at(first), clusters.at(second)))
        continue;
      Id ids[] = {first, second};
      std::optional<Cluster> together = unite(ids, nullptr);
      if (together && together->work <= clusters.at(first).work + clusters.at(second).work) {
        merged = replace(ids, std::move(*together));
        break;
      }
    }
    if (!merged) {
      ++at;
      continue;
    }
    at = order.find(ranks.at(*merged));
    for (int i = 0; i < kSiblingWindow && at != order.begin(); ++i)
      --at;
  }
}

void ClusterBuilder::run() {
  findNeeded();
  for (Operation &op : block) {
    int64_t position = static_cast<int64_t>(positions.size());
    positions[&op] = position;
    if (isKernelOp(&op))
      continue;
    ranksOfOps[&op] = position;
    if (hasOrderedEffects(&op))
      ordered.push_back(&op);
    order[position] = {&op, 0};
  }
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
