//===- ContractionSide.cpp - an operand of a contraction ------------------===//

#include "passes/kernel/ContractionSide.h"

#include <numeric>

using namespace mlir;

namespace spmdc {

void ContractionSide::absorbTransposes() {
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    for (SmallVector<int64_t> *dims : {&batch, &free, &contract})
      for (int64_t &dim : *dims)
        dim = transpose.getPerm()[dim];
    value = transpose.getOperand();
  }
}

int64_t ContractionSide::sizeOf(ArrayRef<int64_t> dims) const {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= cast<ArrayType>(value.getType()).getDimSize(dim);
  return size;
}

bool ContractionSide::isLaidOut(ArrayRef<int64_t> first, ArrayRef<int64_t> second, ArrayRef<int64_t> third) const {
  int64_t last = -1;
  for (ArrayRef<int64_t> dims : {first, second, third})
    for (int64_t dim : dims) {
      if (cast<ArrayType>(value.getType()).getDimSize(dim) == 1)
        continue;
      if (dim < last)
        return false;
      last = dim;
    }
  return true;
}

Value ContractionSide::transposed(OpBuilder &b, Location loc, ArrayRef<int64_t> perm) const {
  auto type = cast<ArrayType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : perm)
    shape.push_back(type.getDimSize(dim));
  return b.create<TransposeOp>(loc, type.withShape(shape), value, perm);
}

void orderContracted(ContractionSide &first, ContractionSide &second) {
  SmallVector<size_t> order(first.contract.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t x, size_t y) { return first.contract[x] < first.contract[y]; });
  SmallVector<int64_t> ofFirst, ofSecond;
  for (size_t i : order) {
    ofFirst.push_back(first.contract[i]);
    ofSecond.push_back(second.contract[i]);
  }
  first.contract = ofFirst;
  second.contract = ofSecond;
}

} // namespace spmdc
