//===- IndexMaps.cpp - how operations read their operands -----------------===//

#include "passes/kernel/IndexMaps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

static int64_t groupSize(AllSliceOp slice) {
  spmd::MeshShape mesh = getMesh(slice).toValue();
  int64_t size = 1;
  for (const spmd::AxisRef &axis : slice.getAxes().toValues())
    size *= axis.sizeIn(mesh);
  return size;
}

bool isIndexOp(Operation *op) {
  return isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp, PadOp, AllSliceOp, DynamicSliceOp,
             DynamicUpdateSliceOp, TakeOp, TakeAlongOp>(op);
}

void KernelIndexing::addGuard(MappedIndex &mapped, const IndexExpr &expr, int64_t low, int64_t high) {
  IndexRange range = space.rangeOf(expr);
  if (range.low < low || range.high >= high)
    mapped.guards.push_back({expr, low, high});
}

IndexExpr KernelIndexing::lookUp(MappedIndex &mapped, Value indices, ArrayRef<IndexExpr> place, int64_t high) {
  if (high <= 0)
    return 0;
  auto [entry, isNew] = known.try_emplace({indices.getAsOpaquePointer(), high, place.vec()});
  if (isNew) {
    entry->second = space.createLookup(place, 0, high);
    lookups[entry->second.terms[0].first] = {indices, Index(place), high};
  }
  mapped.lookups.push_back({indices, Index(place), high});
  return entry->second;
}

IndexGuard KernelIndexing::getFirstParts(ConcatenateOp op, ArrayRef<IndexExpr> index, size_t count) const {
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t end = 0;
  for (Value operand : op.getOperands().take_front(count))
    end += shapeOf(operand)[dim];
  return {index[dim], std::min<int64_t>(space.rangeOf(index[dim]).low, 0), end};
}

MappedIndex KernelIndexing::map(Operation *op, ArrayRef<IndexExpr> index) {
  MappedIndex mapped;
  ArrayRef<int64_t> source = shapeOf(op->getOperand(0));
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](BroadcastInDimOp broadcast) {
        for (auto [d, dim] : llvm::enumerate(broadcast.getDims()))
          mapped.index.push_back(source[d] == 1 ? IndexExpr(0) : index[dim]);
      })
      .Case([&](ReshapeOp reshape) {
        mapped.index = space.delinearize(space.linearize(index, shapeOf(reshape)), source);
      })
      .Case([&](TransposeOp transpose) {
        mapped.index.resize(index.size());
        for (auto [d, dim] : llvm::enumerate(transpose.getPerm()))
          mapped.index[dim] = index[d];
      })
      .Case([&](SliceOp slice) {
        for (auto [d, position] : llvm::enumerate(index))
          mapped.index.push_back(space.add(space.scale(position, slice.getStrides()[d]), slice.getStarts()[d]));
      })
      .Case([&](ReverseOp reverse) {
        mapped.index.assign(index.begin(), index.end());
        for (int64_t dim : reverse.getDims())
          mapped.index[dim] = space.add(space.scale(index[dim], -1), source[dim] - 1);
      })
      .Case([&](PadOp pad) {
        for (auto [d, position] : llvm::enumerate(index)) {
          int64_t pitch = pad.getInterior()[d] + 1;
          IndexExpr offset = space.add(position, -pad.getLow()[d]);
          addGuard(mapped, offset, 0, source[d] ? (source[d] - 1) * pitch + 1 : 0);
          if (pitch > 1)
            addGuard(mapped, space.mod(offset, pitch), 0, 1);
          mapped.index.push_back(space.floorDiv(offset, pitch));
        }
      })
      .Case([&](AllSliceOp slice) {
        int64_t dim = slice.getDim();
        auto [entry, isNew] = sliceStarts.insert({op, IndexExpr()});
        if (isNew)
          entry->second = space.createVariable(0, source[dim]);
        mapped.index.assign(index.begin(), index.end());
        mapped.index[dim] = space.add(index[dim], entry->second);
        // If shards have equal size, the last one ends with the operand: no element is behind the end.
        if (shapeOf(slice)[dim] * groupSize(slice) != source[dim])
          addGuard(mapped, mapped.index[dim], 0, source[dim]);
      })
      .Case([&](DynamicSliceOp slice) {
        for (auto [d, position] : llvm::enumerate(index))
          mapped.index.push_back(
              space.add(position, lookUp(mapped, slice.getStarts()[d], {}, source[d] - slice.getSizes()[d])));
      })
      .Case([&](DynamicUpdateSliceOp update) {
        ArrayRef<int64_t> window = shapeOf(update.getUpdate());
        for (auto [d, position] : llvm::enumerate(index)) {
          IndexExpr start = lookUp(mapped, update.getStarts()[d], {}, source[d] - window[d]);
          mapped.index.push_back(space.add(position, space.scale(start, -1)));
          addGuard(mapped, mapped.index.back(), 0, window[d]);
        }
      })
      .Case([&](TakeOp take) {
        auto dim = static_cast<int64_t>(take.getDim());
        int64_t rank = shapeOf(take.getIndices()).size();
        mapped.index.assign(index.begin(), index.begin() + dim);
        mapped.index.push_back(lookUp(mapped, take.getIndices(), index.slice(dim, rank), source[dim] - 1));
        mapped.index.append(index.begin() + dim + rank, index.end());
      })
      .Case([&](TakeAlongOp take) {
        mapped.index.assign(index.begin(), index.end());
        mapped.index[take.getDim()] = lookUp(mapped, take.getIndices(), index, source[take.getDim()] - 1);
      })
      .Default([](Operation *) { llvm_unreachable("not an operation that moves data"); });
  return mapped;
}

} // namespace spmdc
