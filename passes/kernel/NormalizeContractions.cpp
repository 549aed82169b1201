//===- NormalizeContractions.cpp - dot_general to batched matrix products ---===//
//
// The library multiplies [batch, m, k] by [batch, k, n], each possibly transposed in its last two groups. An operand
// whose dimensions have such an order in memory is used without a copy; others are transposed first.
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"

#include <numeric>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_NORMALIZECONTRACTIONS
#include "passes/kernel/Passes.h.inc"

namespace {

/// One operand: its dimensions by role, in the order in which the product iterates over them.
struct Side {
  Value value;
  SmallVector<int64_t> batch, free, contract;

  /// Absorbs a transpose that defines the operand: the roles move to the dimensions of the transpose's operand.
  void absorbTransposes() {
    while (auto transpose = value.getDefiningOp<TransposeOp>()) {
      for (SmallVector<int64_t> *dims : {&batch, &free, &contract})
        for (int64_t &dim : *dims)
          dim = transpose.getPerm()[dim];
      value = transpose.getOperand();
    }
  }

  int64_t sizeOf(ArrayRef<int64_t> dims) const {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= cast<ArrayType>(value.getType()).getDimSize(dim);
    return size;
  }

  /// True if memory holds the groups in this order; dimensions of size 1 may have any position.
  bool isLaidOut(ArrayRef<int64_t> first, ArrayRef<int64_t> second, ArrayRef<int64_t> third) const {
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

  /// Brings the operand into one of the two orders; true if that is the transposed one. The plain order has the
  /// contracted dimensions before the free ones in the right operand of a product, behind them in the left one.
  bool layOut(OpBuilder &b, Location loc, bool contractsFirst) {
    ArrayRef<int64_t> first = contractsFirst ? contract : free, second = contractsFirst ? free : contract;
    if (isLaidOut(batch, first, second))
      return false;
    if (isLaidOut(batch, second, first))
      return true;
    SmallVector<int64_t> perm(batch);
    llvm::append_range(perm, first);
    llvm::append_range(perm, second);
    auto type = cast<ArrayType>(value.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : perm)
      shape.push_back(type.getDimSize(dim));
    value = b.create<TransposeOp>(loc, type.withShape(shape), value, perm);
    return false;
  }
};

/// Gives the contracted dimensions the order of the left operand's memory, if one of the operands then needs no
/// transpose.
void orderContracted(Side &lhs, Side &rhs) {
  SmallVector<size_t> order(lhs.contract.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t x, size_t y) { return lhs.contract[x] < lhs.contract[y]; });
  SmallVector<int64_t> left, right;
  for (size_t i : order) {
    left.push_back(lhs.contract[i]);
    right.push_back(rhs.contract[i]);
  }
  lhs.contract = left;
  rhs.contract = right;
}

void normalize(DotGeneralOp op) {
  OpBuilder b(op);
  Side lhs{op.getLhs(), SmallVector<int64_t>(op.getLhsBatch()), op.getLhsFreeDims(),
           SmallVector<int64_t>(op.getLhsContract())};
  Side rhs{op.getRhs(), SmallVector<int64_t>(op.getRhsBatch()), op.getRhsFreeDims(),
           SmallVector<int64_t>(op.getRhsContract())};
  lhs.absorbTransposes();
  rhs.absorbTransposes();
  orderContracted(lhs, rhs);
  int64_t batch = lhs.sizeOf(lhs.batch), m = lhs.sizeOf(lhs.free), n = rhs.sizeOf(rhs.free),
          k = lhs.sizeOf(lhs.contract);
  bool transposeLhs = lhs.layOut(b, op.getLoc(), /*contractsFirst=*/false);
  bool transposeRhs = rhs.layOut(b, op.getLoc(), /*contractsFirst=*/true);
  auto matmul = b.create<plan::MatmulOp>(op.getLoc(), op.getType(), lhs.value, rhs.value, ValueRange(), batch, m, n, k,
                                         transposeLhs, transposeRhs, FlatSymbolRefAttr(), ArrayAttr());
  op.replaceAllUsesWith(matmul.getResult());
  op.erase();
}

class NormalizeContractionsPass : public impl::NormalizeContractionsBase<NormalizeContractionsPass> {
  void runOnOperation() override { llvm::for_each(collectOps<DotGeneralOp>(getOperation()), normalize); }
};

} // namespace
} // namespace spmdc
