//===- DimSplitter.cpp - one dimension written as several -----------------===//

#include "passes/propagate/DimSplitter.h"

#include "ir/spmd/SpmdOps.h"
#include "ir/spmd/ValueNames.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

/// The dimensions of one array before and after some of them are split.
class Renumbering {
public:
  Renumbering(SmallVector<int64_t, 2> split, ArrayRef<int64_t> parts) : split(std::move(split)), parts(parts) {}

  bool isSplit(int64_t dim) const { return llvm::is_contained(split, dim); }
  /// The dimension, or the major one of those that it becomes.
  int64_t first(int64_t dim) const {
    auto more = static_cast<int64_t>(parts.size()) - 1;
    return dim + more * llvm::count_if(split, [&](int64_t other) { return other < dim; });
  }
  /// The dimensions that it becomes.
  SmallVector<int64_t> all(int64_t dim) const {
    int64_t begin = first(dim);
    return llvm::to_vector(llvm::seq(begin, begin + (isSplit(dim) ? static_cast<int64_t>(parts.size()) : 1)));
  }
  SmallVector<int64_t> all(ArrayRef<int64_t> dims) const {
    SmallVector<int64_t> result;
    for (int64_t dim : dims)
      llvm::append_range(result, all(dim));
    return result;
  }
  /// A list with an entry for each dimension: `entry` for each of those that a split one becomes.
  SmallVector<int64_t> spread(ArrayRef<int64_t> list, int64_t entry) const {
    return spread(list, SmallVector<int64_t>(parts.size(), entry));
  }
  SmallVector<int64_t> spread(ArrayRef<int64_t> list, ArrayRef<int64_t> entries) const {
    SmallVector<int64_t> result;
    for (auto [dim, old] : llvm::enumerate(list)) {
      if (isSplit(static_cast<int64_t>(dim)))
        llvm::append_range(result, entries);
      else
        result.push_back(old);
    }
    return result;
  }

private:
  SmallVector<int64_t, 2> split;
  ArrayRef<int64_t> parts;
};

/// Start positions of a window that has all of each split dimension: any will do, so that the old one is repeated.
SmallVector<Value> spreadStarts(ValueRange starts, const Renumbering &dims, size_t parts) {
  SmallVector<Value> result;
  for (auto [dim, start] : llvm::enumerate(starts))
    result.append(dims.isSplit(static_cast<int64_t>(dim)) ? parts : 1, start);
  return result;
}

/// Positions along the dimension that `parts` make, as an array with a dimension for each.
Value buildIota(OpBuilder &b, Location loc, ArrayType type, int64_t first, ArrayRef<int64_t> parts) {
  int64_t last = 1;
  for (int64_t part : parts)
    last *= part;
  // Counted as integers, and converted once: sums of narrow floats would round more than once.
  bool isWide = last - 1 > std::numeric_limits<int32_t>::max();
  Type wanted = type.getElementType(), counted = isWide ? b.getI64Type() : b.getI32Type();
  ArrayType counts = type.withElementType(counted);
  Value sum;
  int64_t stride = last;
  for (auto [i, part] : llvm::enumerate(parts)) {
    stride /= part;
    Value along = b.create<IotaOp>(loc, counts, first + static_cast<int64_t>(i));
    if (stride != 1)
      along = b.create<MultiplyOp>(loc, along, b.create<ConstantOp>(loc, counts, Scalar::ofInt(stride)));
    sum = sum ? b.create<AddOp>(loc, sum, along).getResult() : along;
  }
  return wanted == counted ? sum : b.create<ConvertOp>(loc, type, sum).getResult();
}

/// Reads through the reshape in front of this one, and leaves this one without users where it changes nothing.
void foldReshape(ReshapeOp op) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (inner && !inner.getType().getSharding())
    op.getOperandMutable().assign(inner.getOperand());
  bool isSame = op.getOperand().getType() == op.getType().withSharding(op.getOperand().getType().getSharding());
  if (!isSame || (op.getType().getSharding() && op.getOperand().getType() != op.getType()))
    return;
  moveValueNames(op, op.getOperand());
  op.replaceAllUsesWith(op.getOperand());
}

/// Labels for the dimensions of an einsum's arrays: a split one keeps its label for the major dimension, and the others
/// get labels of their own.
void relabel(EinsumOp op, ArrayRef<Renumbering> operands, const Renumbering &result, int64_t parts) {
  int64_t next = 0;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    for (int64_t label : op.getLabelsOf(i))
      next = std::max(next, label + 1);
  // All arrays that have the label split it, the first that does says which labels it gets.
  llvm::SmallDenseMap<int64_t, int64_t> begins;
  auto expand = [&](ArrayRef<int64_t> labels, const Renumbering &dims) {
    SmallVector<int64_t> list;
    for (auto [dim, label] : llvm::enumerate(labels)) {
      list.push_back(label);
      if (!dims.isSplit(static_cast<int64_t>(dim)))
        continue;
      auto [begin, isNew] = begins.try_emplace(label, next);
      next += isNew ? parts - 1 : 0;
      llvm::append_range(list, llvm::seq(begin->second, begin->second + parts - 1));
    }
    return list;
  };
  Builder b(op.getContext());
  SmallVector<Attribute> lists;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    lists.push_back(b.getDenseI64ArrayAttr(expand(op.getLabelsOf(i), operands[i])));
  op.setLabelsAttr(b.getArrayAttr(lists));
  op.setResultLabels(expand(op.getResultLabels(), result));
}

} // namespace

//===----------------------------------------------------------------------===//
// Finding the dimensions
//===----------------------------------------------------------------------===//

void DimSplitter::add(DimOfReshape dim) {
  std::optional<DimGroup> group = dim.ofResult ? getGroup(DimOfValue{dim.reshape.getResult(), dim.dim})
                                               : getGroup(DimOfUse{&dim.reshape.getOperandMutable(), dim.dim});
  if (group)
    addGroup(*group);
}

void DimSplitter::addGroup(const DimGroup &first) {
  SmallVector<DimGroup> open = {first};
  auto addTo = [](Dims &dims, int64_t dim) {
    if (llvm::is_contained(dims, dim))
      return false;
    dims.insert(llvm::lower_bound(dims, dim), dim);
    return true;
  };
  while (!open.empty()) {
    DimGroup group = open.pop_back_val();
    computed |= !group.isEnd && !group.uses.empty() && !isa<ReshapeOp>(group.uses.front().use->getOwner());
    for (DimOfValue dim : group.values) {
      Dims &dims = values[dim.value];
      if (dims.empty())
        found.push_back(dim.value);
      if (addTo(dims, dim.dim))
        for (OpOperand &use : dim.value.getUses())
          if (!llvm::is_contained(uses.lookup(&use), dim.dim))
            if (std::optional<DimGroup> next = getGroup(DimOfUse{&use, dim.dim}))
              open.push_back(*next);
    }
    for (DimOfUse dim : group.uses)
      if (addTo(uses[dim.use], dim.dim))
        if (!llvm::is_contained(values.lookup(dim.use->get()), dim.dim))
          if (std::optional<DimGroup> next = getGroup(DimOfValue{dim.use->get(), dim.dim}))
            open.push_back(*next);
  }
}

//===----------------------------------------------------------------------===//
// Splitting them
//===----------------------------------------------------------------------===//

ArrayType DimSplitter::splitType(ArrayType type, ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> shape;
  SmallVector<DimShardingAttr> shardings;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    bool isSplit = llvm::is_contained(dims, static_cast<int64_t>(dim));
    if (isSplit)
      llvm::append_range(shape, parts);
    else
      shape.push_back(size);
    if (type.getSharding())
      shardings.append(isSplit ? parts.size() : 1, type.getSharding().getDims()[dim]);
  }
  if (!type.getSharding())
    return type.withShape(shape);
  return type.withShape(shape).withSharding(
      ShardingAttr::get(type.getContext(), shardings, type.getSharding().getUnreduced()));
}

void DimSplitter::rewrite(func::FuncOp func) {
  SmallVector<Operation *> touched;
  func.walk([&](Operation *op) {
    auto isSplit = [&](Value value) { return values.contains(value); };
    if (llvm::any_of(op->getOperands(), isSplit) || llvm::any_of(op->getResults(), isSplit) ||
        llvm::any_of(op->getOpOperands(), [&](OpOperand &use) { return uses.contains(&use); }))
      touched.push_back(op);
  });
  for (Value value : found) {
    before[value] = typeOf(value);
    value.setType(splitType(typeOf(value), values.lookup(value)));
  }
  SmallVector<ReshapeOp> reshapes;
  for (Operation *op : touched) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      reshapes.push_back(reshape);
    rewriteOp(op);
  }
  llvm::append_range(reshapes, made);
  llvm::for_each(reshapes, foldReshape);
  // A reshape that another one reads through is used until that one has gone.
  for (bool isAny = true; isAny;) {
    isAny = false;
    llvm::erase_if(reshapes, [&](ReshapeOp reshape) {
      if (!reshape->use_empty())
        return false;
      isAny = true;
      erased.insert(reshape);
      reshape.erase();
      return true;
    });
  }
}

std::optional<int64_t> DimSplitter::getNewDim(DimOfReshape dim) const {
  Dims dims = dim.ofResult ? values.lookup(dim.reshape.getResult()) : uses.lookup(&dim.reshape.getOperandMutable());
  if (llvm::is_contained(dims, dim.dim))
    return std::nullopt;
  return Renumbering(dims, parts).first(dim.dim);
}

void DimSplitter::adaptOperand(OpOperand &use) {
  Value value = use.get();
  Dims have = values.lookup(value), want = uses.lookup(&use);
  if (have == want)
    return;
  ArrayType whole = have.empty() ? typeOf(value) : before.lookup(value);
  ArrayType type = splitType(whole.withoutSharding(), want);
  Value &reshaped = adapted[{value, type}];
  if (!reshaped) {
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    made.push_back(b.create<ReshapeOp>(getUnmarkedLoc(getUnnamedLoc(value.getLoc())), type, value));
    reshaped = made.back();
  }
  use.set(reshaped);
}

void DimSplitter::rewriteOp(Operation *op) {
  SmallVector<Renumbering> of;
  for (OpOperand &use : op->getOpOperands()) {
    of.emplace_back(uses.lookup(&use), parts);
    adaptOperand(use);
  }
  if (op->getNumResults() != 1)
    return;
  Renumbering result(values.lookup(op->getResult(0)), parts);
  ArrayType type = typeOf(op->getResult(0));
  OpBuilder b(op);
  auto number = [&](auto of) { return static_cast<uint64_t>(of); };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConstantOp constant) {
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(type.getTensorType()));
      })
      .Case([&](IotaOp iota) {
        auto dim = static_cast<int64_t>(iota.getDim());
        int64_t first = result.first(dim);
        if (!result.isSplit(dim))
          return iota.setDim(number(first));
        Value positions = buildIota(b, iota.getLoc(), type, first, parts);
        moveValueNames(iota, positions);
        iota.replaceAllUsesWith(positions);
        Dims dims = values.lookup(iota);
        ArrayType whole = before.lookup(iota);
        values.erase(iota);
        before.erase(iota);
        values[positions] = dims;
        before[positions] = whole;
        iota.erase();
      })
      .Case([&](BroadcastInDimOp broadcast) {
        SmallVector<int64_t> dims;
        for (auto [from, to] : llvm::enumerate(broadcast.getDims())) {
          if (of[0].isSplit(static_cast<int64_t>(from)))
            llvm::append_range(dims, result.all(to));
          else
            dims.push_back(result.first(to));
        }
        broadcast.setDims(dims);
      })
      .Case([&](TransposeOp transpose) { transpose.setPerm(of[0].all(transpose.getPerm())); })
      .Case([&](SliceOp slice) {
        slice.setStarts(result.spread(slice.getStarts(), 0));
        slice.setLimits(result.spread(slice.getLimits(), parts));
        slice.setStrides(result.spread(slice.getStrides(), 1));
      })
      .Case([&](PadOp pad) {
        pad.setLow(result.spread(pad.getLow(), 0));
        pad.setHigh(result.spread(pad.getHigh(), 0));
        pad.setInterior(result.spread(pad.getInterior(), 0));
      })
      .Case([&](ReverseOp reverse) { reverse.setDims(of[0].all(reverse.getDims())); })
      .Case([&](ReduceOp reduce) { reduce.setDims(of[0].all(reduce.getDims())); })
      .Case([&](DotGeneralOp dot) {
        dot.setLhsContract(of[0].all(dot.getLhsContract()));
        dot.setRhsContract(of[1].all(dot.getRhsContract()));
        dot.setLhsBatch(of[0].all(dot.getLhsBatch()));
        dot.setRhsBatch(of[1].all(dot.getRhsBatch()));
      })
      .Case([&](EinsumOp einsum) { relabel(einsum, of, result, static_cast<int64_t>(parts.size())); })
      .Case<ConcatenateOp, ArgReduceOp, CumulativeOp, ArgsortOp, TakeOp, TakeAlongOp, ScatterAddOp, ScatterAddAlongOp>(
          [&](auto along) { along.setDim(number(of[0].first(static_cast<int64_t>(along.getDim())))); })
      .Case([&](DynamicSliceOp slice) {
        slice.setSizes(result.spread(slice.getSizes(), parts));
        slice.getStartsMutable().assign(spreadStarts(slice.getStarts(), of[0], parts.size()));
      })
      .Case([&](DynamicUpdateSliceOp update) {
        update.getStartsMutable().assign(spreadStarts(update.getStarts(), of[0], parts.size()));
      });
}

} // namespace spmdc
