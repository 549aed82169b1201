//===- SplitAttributes.cpp - attributes for more dimensions ---------------===//

#include "passes/simplify/SplitAttributes.h"

#include "ir/array/FourierOp.h"
#include "ir/array/ScatterOp.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

/// Start positions of a window that has the full size of each split dimension. There the start is irrelevant, and
/// repeated.
SmallVector<Value> spreadStarts(ValueRange starts, const Renumbering &dims, size_t parts) {
  SmallVector<Value> result;
  for (auto [dim, start] : llvm::enumerate(starts))
    result.append(dims.isSplit(static_cast<int64_t>(dim)) ? parts : 1, start);
  return result;
}

/// Positions along the dimension that is split into `parts`, as an array with a dimension for each part.
Value buildIota(OpBuilder &b, Location loc, ArrayType type, int64_t first, ArrayRef<int64_t> parts) {
  int64_t last = 1;
  for (int64_t part : parts)
    last *= part;
  // Counted as integers and converted once: sums of narrow floats would round several times.
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

/// Updates the labels of an einsum: the major part of a split dimension keeps its label, the others get new labels.
void relabel(EinsumOp op, ArrayRef<Renumbering> operands, const Renumbering &result, int64_t parts) {
  int64_t next = 0;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    for (int64_t label : op.getLabelsOf(i))
      next = std::max(next, label + 1);
  // All arrays with a label split it in the same way; the first one determines the new labels.
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

Value splitAttributes(Operation *op, ArrayRef<Renumbering> operands, const Renumbering &result,
                      ArrayRef<int64_t> parts) {
  auto type = cast<ArrayType>(op->getResult(0).getType());
  OpBuilder b(op);
  Value replacement;
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
        replacement = buildIota(b, iota.getLoc(), type, first, parts);
      })
      .Case([&](BroadcastInDimOp broadcast) {
        SmallVector<int64_t> dims;
        for (auto [from, to] : llvm::enumerate(broadcast.getDims())) {
          if (operands[0].isSplit(static_cast<int64_t>(from)))
            llvm::append_range(dims, result.all(to));
          else
            dims.push_back(result.first(to));
        }
        broadcast.setDims(dims);
      })
      .Case([&](TransposeOp transpose) { transpose.setPerm(operands[0].all(transpose.getPerm())); })
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
      .Case([&](ReverseOp reverse) { reverse.setDims(operands[0].all(reverse.getDims())); })
      .Case([&](ReduceOp reduce) { reduce.setDims(operands[0].all(reduce.getDims())); })
      .Case([&](DotGeneralOp dot) {
        dot.setLhsContract(operands[0].all(dot.getLhsContract()));
        dot.setRhsContract(operands[1].all(dot.getRhsContract()));
        dot.setLhsBatch(operands[0].all(dot.getLhsBatch()));
        dot.setRhsBatch(operands[1].all(dot.getRhsBatch()));
      })
      .Case([&](EinsumOp einsum) { relabel(einsum, operands, result, static_cast<int64_t>(parts.size())); })
      .Case<ConcatenateOp, ArgReduceOp, CumulativeOp, ArgsortOp, TakeOp, TakeAlongOp, ScatterAddOp, ScatterAddAlongOp,
            ScatterOp, FftOp>(
          [&](auto along) { along.setDim(number(operands[0].first(static_cast<int64_t>(along.getDim())))); })
      .Case([&](DynamicSliceOp slice) {
        slice.setSizes(result.spread(slice.getSizes(), parts));
        slice.getStartsMutable().assign(spreadStarts(slice.getStarts(), operands[0], parts.size()));
      })
      .Case([&](DynamicUpdateSliceOp update) {
        update.getStartsMutable().assign(spreadStarts(update.getStarts(), operands[0], parts.size()));
      });
  return replacement;
}

} // namespace spmdc
