//===- NormalizeContractions.cpp - dot_general to batched matrix products ---===//
//
// The library multiplies [batch, m, k] by [batch, k, n], each possibly transposed in its last two groups. An operand
// whose dimensions have such an order in memory is used without a copy. Others are read by a view where the library can
// and it pays, or else transposed first.
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/ContractionSide.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/SharedPads.h"
#include "passes/kernel/StridedViews.h"

#include <functional>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_NORMALIZECONTRACTIONS
#include "passes/kernel/Passes.h.inc"

namespace {

/// Adjacent elements of an operand that is read by a view: fewer are a small part of each cache line.
constexpr int64_t kLeastAdjacent = 4;
/// Products with so few rows or columns are loops of their own in the library, without tiles, and read no views.
constexpr int64_t kMostThin = 4;

struct Side : ContractionSide {
  explicit Side(ContractionSide side) : ContractionSide(std::move(side)) {}

  /// The view by which a product reads the operand where it is, if it is not stored as a matrix: rows and columns are
  /// these dimensions. The operand is then the array of the view.
  std::optional<spmd::OperandView> takeView(ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
    std::optional<StridedView> view = StridedView::of(value);
    bool isMatrix = isLaidOut(batch, rows, columns) || isLaidOut(batch, columns, rows);
    if (!view || (isMatrix && view->isWholeArray()))
      return std::nullopt;
    auto digitsOf = [&](ArrayRef<int64_t> dims) {
      spmd::ViewDigits digits;
      for (int64_t dim : dims)
        llvm::append_range(digits, view->dims[dim]);
      return digits;
    };
    spmd::OperandView result{view->offset, digitsOf(batch), digitsOf(rows), digitsOf(columns)};
    // Elements apart from each other in both directions are faster to copy by blocks first.
    auto isAdjacent = [](const spmd::ViewDigits &digits) {
      return !digits.empty() && digits.back().stride == 1 && digits.back().size >= kLeastAdjacent;
    };
    if (!isAdjacent(result.rows) && !isAdjacent(result.columns))
      return std::nullopt;
    value = view->array;
    return result;
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
    value = transposed(b, loc, perm);
    return false;
  }
};

/// The product with its sides exchanged, and a transpose behind it.
DotGeneralOp exchangeSides(DotGeneralOp op) {
  OpBuilder b(op);
  size_t batch = op.getLhsBatch().size(), left = op.getLhsFreeDims().size(), right = op.getRhsFreeDims().size();
  SmallVector<int64_t> shape(op.getType().getShape()), perm;
  std::rotate(shape.begin() + batch, shape.begin() + batch + left, shape.end());
  for (size_t dim = 0; dim < batch; ++dim)
    perm.push_back(static_cast<int64_t>(dim));
  for (size_t dim = 0; dim < left; ++dim)
    perm.push_back(static_cast<int64_t>(batch + right + dim));
  for (size_t dim = 0; dim < right; ++dim)
    perm.push_back(static_cast<int64_t>(batch + dim));
  auto exchanged = b.create<DotGeneralOp>(op.getLoc(), op.getType().withShape(shape), op.getRhs(), op.getLhs(),
                                          op.getRhsContract(), op.getLhsContract(), op.getRhsBatch(), op.getLhsBatch());
  op.replaceAllUsesWith(b.create<TransposeOp>(op.getLoc(), op.getType(), exchanged.getResult(), perm).getResult());
  op.erase();
  return exchanged;
}

/// Whether a small result has many rows that are read by a view across the lines of memory, as the gradient by a
/// kernel: such elements are packed as fast as they are copied if they are columns of the right side. An outer product
/// has no columns.
bool isBetterExchanged(const spmd::OperandView &lhs, int64_t m, int64_t n, int64_t k) {
  return !lhs.columns.empty() && lhs.columns.back().stride != 1 && m > n && 8 * m * n < (m + n) * k;
}

void normalize(DotGeneralOp op, bool readsViews) {
  OpBuilder b(op);
  Side lhs(ContractionSide::leftOf(op)), rhs(ContractionSide::rightOf(op));
  lhs.absorbTransposes();
  rhs.absorbTransposes();
  orderContracted(lhs, rhs);
  int64_t batch = lhs.sizeOf(lhs.batch), m = lhs.sizeOf(lhs.free), n = rhs.sizeOf(rhs.free),
          k = lhs.sizeOf(lhs.contract);
  std::optional<spmd::OperandView> lhsView, rhsView;
  if (readsViews && m > kMostThin && n > kMostThin) {
    lhsView = lhs.takeView(lhs.free, lhs.contract);
    rhsView = rhs.takeView(rhs.contract, rhs.free);
    if (lhsView && !rhsView && isBetterExchanged(*lhsView, m, n, k))
      return normalize(exchangeSides(op), readsViews);
  }
  bool transposeLhs = !lhsView && lhs.layOut(b, op.getLoc(), /*contractsFirst=*/false);
  bool transposeRhs = !rhsView && rhs.layOut(b, op.getLoc(), /*contractsFirst=*/true);
  auto attrOf = [&](const std::optional<spmd::OperandView> &view) {
    return view ? plan::ViewAttr::get(op.getContext(), *view) : plan::ViewAttr();
  };
  auto matmul = b.create<plan::MatmulOp>(op.getLoc(), op.getType(), lhs.value, rhs.value, ValueRange(), batch, m, n, k,
                                         transposeLhs, transposeRhs, attrOf(lhsView), attrOf(rhsView),
                                         FlatSymbolRefAttr(), plan::LibraryEpilogueAttr(), ArrayAttr());
  op.replaceAllUsesWith(matmul.getResult());
  op.erase();
}

/// Whether only products read the value, in any order of its dimensions.
bool isOnlyMultiplied(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<DotGeneralOp>(user) || (isa<ReshapeOp, TransposeOp>(user) && isOnlyMultiplied(user->getResult(0)));
  });
}

/// A concatenation of concatenations along its dimension, like the rows and columns of patches, becomes one of their
/// parts.
ConcatenateOp flatten(ConcatenateOp op) {
  SmallVector<Value> parts;
  std::function<void(Value)> add = [&](Value value) {
    auto inner = value.getDefiningOp<ConcatenateOp>();
    if (!inner || inner.getDim() != op.getDim())
      return parts.push_back(value);
    llvm::for_each(inner.getOperands(), add);
  };
  llvm::for_each(op.getOperands(), add);
  if (parts.size() == op->getNumOperands())
    return op;
  OpBuilder b(op);
  auto flat = b.create<ConcatenateOp>(op.getLoc(), op.getType(), parts, op.getDim());
  op.replaceAllUsesWith(flat.getResult());
  op.erase();
  return flat;
}

class NormalizeContractionsPass : public impl::NormalizeContractionsBase<NormalizeContractionsPass> {
public:
  using NormalizeContractionsBase::NormalizeContractionsBase;

private:
  void runOnOperation() override {
    if (views)
      for (ConcatenateOp op : collectOps<ConcatenateOp>(getOperation()))
        if (isOnlyMultiplied(op.getResult()))
          if (Value shared = sharePad(op = flatten(op)); shared && StridedView::of(shared)->array != shared)
            op.getResult().replaceAllUsesWith(shared);
    for (DotGeneralOp op : collectOps<DotGeneralOp>(getOperation()))
      normalize(op, views);
    // Operations that chose the elements of views.
    getOperation().walk([](func::FuncOp function) {
      for (Block *block : getNestedBlocks(function))
        for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
          if (isOpTriviallyDead(&op))
            op.erase();
    });
  }
};

} // namespace
} // namespace spmdc
