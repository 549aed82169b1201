//===- GridCollectives.cpp - reference evaluation of collectives ----------===//

#include "ir/evaluate/GridCollectives.h"

#include "ir/array/ScalarEvaluation.h"
#include "ir/spmd/CollectiveBroadcast.h"
#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

spmd::ShardRange getOwnedRange(const spmd::MeshShape &mesh, ArrayRef<spmd::AxisRef> axes, int64_t device, int64_t n) {
  std::vector<int64_t> coordinates = mesh.coordinates(device), sizes, positions;
  for (const spmd::AxisRef &axis : axes) {
    sizes.push_back(axis.sizeIn(mesh));
    positions.push_back(axis.coordinateIn(mesh, coordinates));
  }
  return spmd::shardRange(n, sizes, positions);
}

/// Reduces without the last rounding: the elements of half precision arrays are still f32.
static Tensor reduceUnrounded(ReductionKind kind, ArrayRef<const Tensor *> operands, Type accumulator) {
  if (operands.size() == 1)
    return *operands[0];
  size_t half = 1;
  while (half * 2 < operands.size())
    half *= 2;
  Tensor left = reduceUnrounded(kind, operands.take_front(half), accumulator);
  Tensor right = reduceUnrounded(kind, operands.drop_front(half), accumulator);
  for (auto [a, b] : llvm::zip(left.elements, right.elements))
    a = roundTo(evaluateReduction(left.elementType, kind, a, b), accumulator);
  return left;
}

Tensor reduceInTree(ReductionKind kind, ArrayRef<const Tensor *> operands) {
  Type type = operands[0]->elementType;
  bool isHalf = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
  Tensor result = reduceUnrounded(kind, operands, isHalf ? Float32Type::get(type.getContext()) : type);
  for (Scalar &element : result.elements)
    element = roundTo(element, type);
  return result;
}

namespace {

/// The collectives of one mesh; each method is one definition.
class Grid {
public:
  Grid(const spmd::MeshShape &mesh, Poison poison) : mesh(mesh), poison(poison) {}

  FailureOr<DeviceTensors> evaluate(Operation *op, ArrayRef<DeviceTensors> values) {
    if (auto broadcast = dyn_cast<CollectiveBroadcastOp>(op))
      return evaluateBroadcast(broadcast, values[0], values[1]);
    const DeviceTensors &operands = values[0];
    return llvm::TypeSwitch<Operation *, FailureOr<DeviceTensors>>(op)
        .Case<AllReduceOp, AllGatherOp, AllSliceOp, ReduceScatterOp, AllToAllOp, CollectivePermuteOp, ExchangeOp>(
            [&](auto collective) -> FailureOr<DeviceTensors> {
              DeviceTensors results;
              for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
                FailureOr<Tensor> result = evaluateOn(collective, operands, device);
                if (failed(result))
                  return failure();
                results.push_back(std::move(*result));
              }
              return results;
            })
        .Default([](Operation *other) {
          return other->emitError() << "'" << other->getName() << "' is not a collective with a reference evaluation";
        });
  }

private:
  Tensor poisoned(ArrayType type) const {
    return Tensor(type.getShape(), type.getElementType(), getPoison(type.getElementType(), poison));
  }

  /// The device's shard of the array `global` along `dim`, as an array of type `type`.
  Tensor take(const Tensor &global, int64_t dim, AxesAttr axes, int64_t device, ArrayType type) const {
    spmd::ShardRange range = getOwnedRange(mesh, axes.toValues(), device, global.shape[dim]);
    Tensor result = poisoned(type);
    SmallVector<int64_t> start(global.shape.size()), origin(global.shape.size()),
        sizes(ArrayRef<int64_t>(global.shape));
    start[dim] = range.start;
    sizes[dim] = range.size;
    copyBox(global, start, result, origin, sizes);
    return result;
  }

  /// Copies the shard of device `owner` into the array `global` along `dim`.
  void put(const Tensor &shard, int64_t dim, AxesAttr axes, int64_t owner, Tensor &global) const {
    spmd::ShardRange range = getOwnedRange(mesh, axes.toValues(), owner, global.shape[dim]);
    SmallVector<int64_t> start(global.shape.size()), origin(global.shape.size()), sizes(ArrayRef<int64_t>(shard.shape));
    start[dim] = range.start;
    sizes[dim] = range.size;
    copyBox(shard, origin, global, start, sizes);
  }

  Tensor reduceGroup(ReductionKind kind, AxesAttr axes, const DeviceTensors &operands, int64_t device) const {
    SmallVector<const Tensor *> members;
    for (int64_t member : spmd::groupOf(mesh, axes.toValues(), device))
      members.push_back(&operands[member]);
    return reduceInTree(kind, members);
  }

  FailureOr<Tensor> evaluateOn(AllReduceOp op, const DeviceTensors &operands, int64_t device) const {
    return reduceGroup(op.getKind(), op.getAxes(), operands, device);
  }

  FailureOr<Tensor> evaluateOn(ReduceScatterOp op, const DeviceTensors &operands, int64_t device) const {
    Tensor global = reduceGroup(op.getKind(), op.getAxes(), operands, device);
    return take(global, op.getDim(), op.getAxes(), device, op.getType());
  }

  FailureOr<Tensor> evaluateOn(AllSliceOp op, const DeviceTensors &operands, int64_t device) const {
    return take(operands[device], op.getDim(), op.getAxes(), device, op.getType());
  }

  FailureOr<Tensor> evaluateOn(AllGatherOp op, const DeviceTensors &operands, int64_t device) const {
    Tensor result = poisoned(op.getType());
    for (int64_t member : spmd::groupOf(mesh, op.getAxes().toValues(), device))
      put(operands[member], op.getDim(), op.getAxes(), member, result);
    return result;
  }

  FailureOr<Tensor> evaluateOn(AllToAllOp op, const DeviceTensors &operands, int64_t device) const {
    Tensor result = poisoned(op.getType());
    SmallVector<int64_t> shardShape(ArrayRef<int64_t>(operands[device].shape));
    shardShape[op.getSplit()] = op.getType().getDimSize(op.getSplit());
    ArrayType shardType = op.getType().withShape(shardShape);
    for (int64_t member : spmd::groupOf(mesh, op.getAxes().toValues(), device)) {
      Tensor shard = take(operands[member], op.getSplit(), op.getAxes(), device, shardType);
      put(shard, op.getConcat(), op.getAxes(), member, result);
    }
    return result;
  }

  FailureOr<Tensor> evaluateOn(CollectivePermuteOp op, const DeviceTensors &operands, int64_t device) const {
    std::vector<int64_t> group = spmd::groupOf(mesh, op.getAxes().toValues(), device);
    ArrayRef<int64_t> pairs = op.getPairs();
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      if (group[pairs[i + 1]] == device)
        return operands[group[pairs[i]]];
    return Tensor(op.getType().getShape(), op.getType().getElementType());
  }

  FailureOr<DeviceTensors> evaluateBroadcast(CollectiveBroadcastOp op, const DeviceTensors &operands,
                                             const DeviceTensors &roots) const {
    DeviceTensors results;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      std::vector<int64_t> group = spmd::groupOf(mesh, op.getAxes().toValues(), device);
      int64_t root = roots[device].elements.front().i;
      if (root < 0 || root >= static_cast<int64_t>(group.size()))
        return op.emitError() << "has root " << root << " in a group of " << group.size();
      for (int64_t member : group)
        if (roots[member].elements.front().i != root)
          return op.emitError() << "has root " << root << " on one device of a group and "
                                << roots[member].elements.front().i << " on another";
      results.push_back(operands[group[root]]);
    }
    return results;
  }

  FailureOr<Tensor> evaluateOn(ExchangeOp op, const DeviceTensors &operands, int64_t device) const {
    auto source = cast<ArrayType>(op.getGlobal()), target = cast<ArrayType>(op.getTarget());
    std::vector<int64_t> shape(source.getShape().begin(), source.getShape().end());
    std::vector<int64_t> targetShape(target.getShape().begin(), target.getShape().end());
    std::vector<spmd::DimMove> moves = op.getMoves();
    spmd::Sharding from = source.getShardingOrOpen().toValue(), to = target.getShardingOrOpen().toValue();
    std::vector<int64_t> group = spmd::groupOf(mesh, op.getAxes().toValues(), device);
    // Sums over the unreduced axes that the target does not keep: one partial sum for each position over them.
    std::vector<spmd::AxisRef> reduced;
    for (const spmd::AxisRef &axis : from.unreduced)
      if (!llvm::is_contained(to.unreduced, axis))
        reduced.push_back(axis);

    Tensor result = poisoned(op.getType());
    std::vector<spmd::ShardRange> wanted = spmd::ownedRanges(mesh, targetShape, to, device);
    for (size_t d = 0; d < moves.size(); ++d)
      moves[d] = moves[d].inWindowOf(wanted[d].start, spmd::sizesOf(mesh, to.dims[d]));
    bool isReshaped = moves.empty() && shape != targetShape;
    SmallVector<int64_t> sizes, offset(targetShape.size());
    for (const spmd::ShardRange &range : wanted)
      sizes.push_back(range.size);
    if (elementCount(sizes) == 0)
      return result;
    do {
      const Tensor *holder = nullptr;
      SmallVector<int64_t> position(shape.size());
      SmallVector<int64_t> index(shape.size());
      bool isInside = true;
      int64_t place = 0; // The row-major position in the global array.
      for (size_t d = 0; d < targetShape.size(); ++d)
        place = place * targetShape[d] + wanted[d].start + offset[d];
      for (size_t d = shape.size(); isReshaped && d-- > 0; place /= shape[d])
        index[d] = place % shape[d];
      for (size_t d = 0; !isReshaped && d < shape.size(); ++d) {
        index[d] = wanted[d].start + offset[d];
        if (!moves.empty()) {
          isInside &= index[d] >= moves[d].begin && index[d] < moves[d].end;
          index[d] = moves[d].shift + index[d] * moves[d].stride;
          if (moves[d].wraps && shape[d] > 0)
            index[d] = ((index[d] % shape[d]) + shape[d]) % shape[d];
          isInside &= index[d] % moves[d].dilation == 0;
          index[d] /= moves[d].dilation;
        }
        isInside &= index[d] >= 0 && index[d] < shape[d];
      }
      if (!isInside) {
        result.at(offset) = Scalar();
        continue;
      }
      for (int64_t member : group) {
        std::vector<int64_t> coordinates = mesh.coordinates(member);
        bool holds = true;
        for (size_t d = 0; d < shape.size(); ++d) {
          spmd::ShardRange has = spmd::ownedSource(mesh, {shape, from}, moves, d, coordinates);
          position[d] = index[d] - has.start;
          holds &= position[d] >= 0 && position[d] < has.size;
        }
        if (!holds)
          continue;
        holder = &operands[member];
        if (reduced.empty()) {
          result.at(offset) = holder->at(position);
        } else {
          SmallVector<Tensor> terms;
          SmallVector<const Tensor *> pointers;
          for (int64_t peer : spmd::groupOf(mesh, reduced, member))
            terms.emplace_back(ArrayRef<int64_t>{}, holder->elementType, operands[peer].at(position));
          for (const Tensor &term : terms)
            pointers.push_back(&term);
          result.at(offset) = reduceInTree(ReductionKind::sum, pointers).elements[0];
        }
        break;
      }
      if (!holder)
        return op.emitError() << "device " << device << " needs an element that no device of its group has";
    } while (nextIndex(offset, sizes));
    return result;
  }

  const spmd::MeshShape &mesh;
  Poison poison;
};

} // namespace

FailureOr<DeviceTensors> evaluateCollective(Operation *op, const spmd::MeshShape &mesh,
                                            ArrayRef<DeviceTensors> operands, Poison poison) {
  return Grid(mesh, poison).evaluate(op, operands);
}

} // namespace spmdc
