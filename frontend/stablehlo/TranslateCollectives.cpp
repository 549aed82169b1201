//===- TranslateCollectives.cpp - collectives of manual regions -----------===//
//
// The collectives of a manual region name groups of device numbers, which are turned back into the mesh axes that the
// program had named. Groups that are no axes, and regions that are no kind of reduction, take what the devices of a
// group have sent (GroupExchange.h), and combine it on each device.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Combiner.h"
#include "frontend/stablehlo/GroupExchange.h"

#include "ir/spmd/CollectiveBroadcast.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;
using Arrays = Combiner::Arrays;

namespace {

//===- Reductions over a group --------------------------------------------===//

/// The arrays of a group, [size, ...], combined along the first dimension, in the order of the devices.
Results combineGroup(Translation &t, const Combiner &combiner, const GroupExchange &groups, ArrayRef<Value> stacks) {
  if (groups.areOfOneSize())
    return combiner.reduce(stacks, {0});
  // Behind a shorter group there is nothing to combine.
  ArrayRef<int64_t> shape = shapeOf(stacks.front()).drop_front();
  auto rowOf = [&](int64_t row) {
    return llvm::map_to_vector(sliceAll(t, stacks, 0, row, row + 1), [&](Value x) { return t.reshape(x, shape); });
  };
  Value size = groups.getOwnSize();
  Arrays results = rowOf(0);
  for (int64_t row = 1; row < groups.getSize(); ++row) {
    Value number = t.splat(ArrayType::get({}, t.b.getI32Type()), static_cast<double>(row));
    Value exists = t.broadcast(t.compare(number, ComparisonDirection::lt, size), shape);
    Results next = combiner.combine(results, rowOf(row));
    if (failed(next))
      return failure();
    for (auto [result, combined] : llvm::zip_equal(results, *next))
      result = t.select(exists, combined, result);
  }
  return results;
}

/// Applies `make` to the operands that one region combines: each of them, or several together (the parts of complex
/// numbers) if the region takes two elements of each.
template <typename Op>
Results reduceEach(Translation &t, Op op, const GroupExchange &groups,
                   llvm::function_ref<Results(const Combiner &, ArrayRef<Value>, ArrayRef<Type>)> make) {
  size_t together = std::max<size_t>(1, op.getComputation().getNumArguments() / 2);
  if (op.getOperands().size() != op.getOutputs().size() || op.getOperands().size() % together != 0)
    return refuse(op, "has a region that does not fit its operands");
  SmallVector<Value> operands(op.getOperands()), results;
  SmallVector<Type> types(op.getOutputs().getTypes());
  for (size_t i = 0; i < operands.size(); i += together) {
    auto own = ArrayRef(operands).slice(i, together);
    FailureOr<Combiner> combiner = Combiner::get(t, op, op.getComputation(), own);
    if (failed(combiner))
      return failure();
    Results some = make(*combiner, t.get(own), ArrayRef(types).slice(i, together));
    if (failed(some))
      return failure();
    results.append(*some);
  }
  return results;
}

/// The reduction that devices compute together, if they can: over axes, of a kind.
bool isNative(const Combiner &combiner, const GroupExchange &groups) {
  return groups.getAxes() && !combiner.getKinds().empty();
}

template <typename Op> Results reduceOverGroup(Translation &t, Op op, const GroupExchange &groups) {
  return reduceEach(t, op, groups, [&](const Combiner &combiner, ArrayRef<Value> arrays, ArrayRef<Type>) -> Results {
    if (groups.getSize() == 1)
      return Arrays(arrays);
    if (!isNative(combiner, groups))
      return combineGroup(t, combiner, groups,
                          llvm::map_to_vector(arrays, [&](Value array) { return groups.gather(array); }));
    Arrays results;
    for (auto [kind, array] : llvm::zip_equal(combiner.getKinds(), arrays))
      results.push_back(
          t.create<spmdc::AllReduceOp>(plainTypeOf(array), array, kind, *groups.getAxes(), reasonOf(op)).getResult());
    return results;
  });
}

Results allReduce(Translation &t, AllReduceOp op) {
  FailureOr<GroupExchange> groups = GroupExchange::get(t, op, op.getReplicaGroups(), /*isOrdered=*/false);
  return failed(groups) ? Results(failure()) : reduceOverGroup(t, op, *groups);
}

/// The first device of a group gets the result, and the others zeros.
Results collectiveReduce(Translation &t, CollectiveReduceOp op) {
  FailureOr<GroupExchange> groups = GroupExchange::get(t, op, op.getReplicaGroups(), /*isOrdered=*/true);
  Results results = failed(groups) ? Results(failure()) : reduceOverGroup(t, op, *groups);
  if (failed(results))
    return failure();
  Value position = groups->getPosition();
  Value isFirst = t.compare(position, ComparisonDirection::eq, t.splatLike(position, 0));
  for (Value &result : *results)
    result = t.select(t.broadcast(isFirst, shapeOf(result)), result, t.splatLike(result, 0));
  return results;
}

//===- Blocks -------------------------------------------------------------===//

bool haveDim(Translation &t, ValueRange operands, uint64_t dim) {
  return llvm::all_of(t.get(operands), [&](Value array) { return dim < shapeOf(array).size(); });
}

/// The blocks of a dimension in front of the others: [blocks, ...], each of `size / blocks` elements.
Value toBlocks(Translation &t, Value array, int64_t dim, int64_t blocks) {
  SmallVector<int64_t> shape(shapeOf(array)), perm{dim};
  shape[dim] /= blocks;
  shape.insert(shape.begin() + dim, blocks);
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (i != dim)
      perm.push_back(i);
  return t.transpose(t.reshape(array, shape), perm);
}

/// The inverse of `toBlocks`.
Value fromBlocks(Translation &t, Value blocks, int64_t dim) {
  ArrayRef<int64_t> before = shapeOf(blocks);
  SmallVector<int64_t> shape(before.drop_front()), perm;
  shape[dim] *= before[0];
  for (int64_t i = 1; i < static_cast<int64_t>(before.size()); ++i)
    perm.push_back(i);
  perm.insert(perm.begin() + dim, 0);
  return t.reshape(t.transpose(blocks, perm), shape);
}

/// Groups of one size that have every device, as collectives need whose results depend on it.
template <typename Op> FailureOr<GroupExchange> evenGroupsOf(Translation &t, Op op) {
  FailureOr<GroupExchange> groups = GroupExchange::get(t, op, op.getReplicaGroups(), /*isOrdered=*/true);
  if (succeeded(groups) && (!groups->areOfOneSize() || !groups->coverAll()))
    return refuse(op, "has groups of different sizes, or leaves out devices, for which its result has no one shape");
  if (succeeded(groups) && op.getOperands().size() != op.getOutputs().size())
    return refuse(op, "has another number of results than of operands");
  return groups;
}

bool isDivisible(Translation &t, ValueRange operands, uint64_t dim, int64_t count) {
  return llvm::all_of(t.get(operands), [&](Value array) { return shapeOf(array)[dim] % count == 0; });
}

Results allGather(Translation &t, AllGatherOp op) {
  int64_t dim = static_cast<int64_t>(op.getAllGatherDim());
  if (!haveDim(t, op.getOperands(), dim))
    return refuse(op, "gathers along a dimension that its operand does not have");
  FailureOr<GroupExchange> groups = evenGroupsOf(t, op);
  if (failed(groups))
    return failure();
  return llvm::map_to_vector(t.get(op.getOperands()), [&](Value array) -> Value {
    if (groups->getSize() == 1)
      return array;
    if (!groups->getAxes())
      return fromBlocks(t, groups->gather(array), dim);
    SmallVector<int64_t> shape(shapeOf(array));
    shape[dim] *= groups->getSize();
    return t.create<spmdc::AllGatherOp>(plainTypeOf(array).withShape(shape), array, dim, *groups->getAxes(),
                                        reasonOf(op));
  });
}

Results reduceScatter(Translation &t, ReduceScatterOp op) {
  int64_t dim = static_cast<int64_t>(op.getScatterDimension());
  if (!haveDim(t, op.getOperands(), dim))
    return refuse(op, "scatters along a dimension that its operand does not have");
  FailureOr<GroupExchange> groups = evenGroupsOf(t, op);
  if (failed(groups))
    return failure();
  int64_t size = groups->getSize();
  if (!isDivisible(t, op.getOperands(), dim, size))
    return refuse(op, "scatters a dimension that its groups do not divide");
  return reduceEach(t, op, *groups, [&](const Combiner &combiner, ArrayRef<Value> arrays, ArrayRef<Type>) -> Results {
    if (size == 1)
      return Arrays(arrays);
    if (!isNative(combiner, *groups))
      return combineGroup(t, combiner, *groups, llvm::map_to_vector(arrays, [&](Value array) {
                            return groups->exchange(toBlocks(t, array, dim, size));
                          }));
    Arrays results;
    for (auto [kind, array] : llvm::zip_equal(combiner.getKinds(), arrays)) {
      SmallVector<int64_t> shape(shapeOf(array));
      shape[dim] /= size;
      results.push_back(t.create<spmdc::ReduceScatterOp>(plainTypeOf(array).withShape(shape), array, kind, dim,
                                                         *groups->getAxes(), reasonOf(op)));
    }
    return results;
  });
}

Results allToAll(Translation &t, AllToAllOp op) {
  auto split = static_cast<int64_t>(op.getSplitDimension()), concat = static_cast<int64_t>(op.getConcatDimension());
  if (!haveDim(t, op.getOperands(), split) || !haveDim(t, op.getOperands(), concat))
    return refuse(op, "exchanges along dimensions that its operand does not have");
  FailureOr<GroupExchange> groups = evenGroupsOf(t, op);
  if (failed(groups))
    return failure();
  int64_t size = groups->getSize();
  if (!isDivisible(t, op.getOperands(), split, size))
    return refuse(op, "splits a dimension that its groups do not divide");
  return llvm::map_to_vector(t.get(op.getOperands()), [&](Value array) -> Value {
    if (size == 1)
      return array;
    if (!groups->getAxes() || split == concat)
      return fromBlocks(t, groups->exchange(toBlocks(t, array, split, size)), concat);
    SmallVector<int64_t> shape(shapeOf(array));
    shape[split] /= size;
    shape[concat] *= size;
    return t.create<spmdc::AllToAllOp>(plainTypeOf(array).withShape(shape), array, split, concat, *groups->getAxes(),
                                       reasonOf(op));
  });
}

//===- One device to another ----------------------------------------------===//

/// Sends from the first device of each group, or from those at the positions of the last operand, which the devices of
/// a group must agree on. A device without a group gets zeros.
Results collectiveBroadcast(Translation &t, CollectiveBroadcastOp op) {
  FailureOr<GroupExchange> groups = GroupExchange::get(t, op, op.getReplicaGroups(), /*isOrdered=*/true);
  if (failed(groups))
    return failure();
  size_t count = op.getOutputs().size();
  ArrayType scalar = ArrayType::get({}, t.b.getI32Type());
  SmallVector<Value> arrays = t.get(op.getOperands()), results;
  ArrayRef<int64_t> roots = op.getHasDynamicRoot() && !arrays.empty() ? shapeOf(arrays.back()) : ArrayRef<int64_t>();
  if (arrays.size() != count + (op.getHasDynamicRoot() ? 1 : 0) ||
      (op.getHasDynamicRoot() && (roots.size() != 1 || roots[0] != static_cast<int64_t>(count))))
    return refuse(op, "has other operands than an array for each result, and roots for each with has_dynamic_root");
  Value size = groups->getOwnSize();
  for (size_t i = 0; i < count; ++i) {
    Value root = t.splat(scalar, 0);
    if (op.getHasDynamicRoot())
      root = t.convert(t.reshape(t.sliceDim(arrays.back(), 0, i, i + 1), {}), scalar.getElementType());
    if (groups->getSize() == 1) {
      results.push_back(arrays[i]);
    } else if (groups->getAxes()) {
      // Beyond the group is the nearest device of it, as for other indices.
      root = t.create<spmdc::MinimumOp>(t.create<spmdc::MaximumOp>(root, t.splatLike(root, 0)),
                                        t.splatLike(root, static_cast<double>(groups->getSize() - 1)));
      results.push_back(t.create<spmdc::CollectiveBroadcastOp>(plainTypeOf(arrays[i]), arrays[i], root,
                                                               *groups->getAxes(), reasonOf(op)));
    } else {
      results.push_back(t.create<spmdc::TakeOp>(groups->gather(arrays[i]), root, 0));
    }
    if (groups->coverAll())
      continue;
    Value hasGroup = t.compare(size, ComparisonDirection::gt, t.splatLike(size, 0));
    results.back() =
        t.select(t.broadcast(hasGroup, shapeOf(results.back())), results.back(), t.splatLike(results.back(), 0));
  }
  return results;
}

One permute(Translation &t, CollectivePermuteOp op) {
  if (t.manualAxes.empty())
    return refuse(op, "is not in a shard_map; name the devices by the axes of a mesh");
  Value array = t.get(op.getOperand());
  SmallVector<int64_t> numbers = llvm::map_to_vector(op.getSourceTargetPairs().getValues<APInt>(),
                                                     [](APInt number) { return number.getSExtValue(); });
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    pairs.emplace_back(numbers[i], numbers[i + 1]);
  std::optional<AxisPairs> found = findPairAxes(t.mesh, pairs);
  if (!found)
    return refuse(op, "names a device that the mesh does not have");
  if (found->axes.empty())
    return array;
  return t
      .create<spmdc::CollectivePermuteOp>(plainTypeOf(array), array, found->pairs, t.axesOf(found->axes), reasonOf(op))
      .getResult();
}

} // namespace

void addCollectiveRules(Rules &rules) {
  rules.addMany<AllReduceOp>(allReduce);
  rules.addMany<AllGatherOp>(allGather);
  rules.addMany<ReduceScatterOp>(reduceScatter);
  rules.addMany<AllToAllOp>(allToAll);
  rules.add<CollectivePermuteOp>(permute);
  rules.addMany<CollectiveBroadcastOp>(collectiveBroadcast);
  rules.addMany<CollectiveReduceOp>(collectiveReduce);
}

} // namespace spmdc::stablehlo
