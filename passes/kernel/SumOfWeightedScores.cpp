//===- SumOfWeightedScores.cpp - a sum that needs no scores ---------------===//

#include "passes/kernel/SumOfWeightedScores.h"

#include "passes/kernel/ScratchEmitter.h"
#include "passes/kernel/StreamedProducts.h"

using namespace mlir;

namespace spmdc {

Value SumOfWeightedScores::skipFactors(Value value) {
  int64_t column = reduce.getDims()[0];
  while (true) {
    value = skipConverts(value);
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<NegateOp>(op)) {
      isNegative = !isNegative;
      value = op->getOperand(0);
      continue;
    }
    if (!isa_and_nonnull<MultiplyOp, DivideOp>(op))
      return value;
    if (Value factor = findRowValue(op->getOperand(1), column)) {
      factors.push_back({factor, isa<DivideOp>(op)});
      value = op->getOperand(0);
    } else if (Value first = isa<MultiplyOp>(op) ? findRowValue(op->getOperand(0), column) : Value()) {
      factors.push_back({first, false});
      value = op->getOperand(1);
    } else {
      return value;
    }
  }
}

bool SumOfWeightedScores::matchProduct(Value weights, DotGeneralOp score, DotGeneralOp candidate) {
  // The weights are the left factor, and rows are their dimension before the columns, as in the result.
  ArrayRef<int64_t> batch = candidate.getLhsBatch();
  SmallVector<int64_t> lhsFree = candidate.getLhsFreeDims(), rhsFree = candidate.getRhsFreeDims();
  if (candidate.getLhsContract() != reduce.getDims() || lhsFree.size() != 1 || rhsFree.size() != 1 ||
      score.getLhsContract().size() != 1)
    return false;
  for (int64_t number = 0; number < static_cast<int64_t>(batch.size()); ++number)
    if (batch[number] != number)
      return false;
  if (lhsFree[0] != static_cast<int64_t>(batch.size()))
    return false;
  // The score's right factor is that of the product, with features and columns in the other roles.
  SmallVector<int64_t> columns = score.getRhsFreeDims(), rows = score.getLhsFreeDims();
  if (score.getRhs() != candidate.getRhs() || score.getRhsBatch() != candidate.getRhsBatch() ||
      score.getRhsContract() != ArrayRef<int64_t>(rhsFree) ||
      ArrayRef<int64_t>(columns) != candidate.getRhsContract() || rows.size() != 1)
    return false;
  // The weights of the product, or what they are the quotients of: JAX differentiates exp(x) / sum, not the softmax.
  Value ofProduct = skipConverts(candidate.getLhs());
  if (ofProduct != weights) {
    auto quotient = ofProduct.getDefiningOp<DivideOp>();
    Value divisor = quotient ? findRowValue(quotient.getRhs(), reduce.getDims()[0]) : Value();
    if (!divisor || skipConverts(quotient.getLhs()) != weights)
      return false;
    factors.push_back({divisor, /*divides=*/false});
  }
  product = candidate;
  held = score.getLhs();
  heldDims.assign(score.getLhsBatch().begin(), score.getLhsBatch().end());
  heldDims.push_back(rows[0]);
  heldDims.push_back(score.getLhsContract()[0]);
  return true;
}

std::optional<SumOfWeightedScores> SumOfWeightedScores::match(ReduceOp reduce, ArrayRef<DotGeneralOp> products) {
  if (reduce.getKind() != ReductionKind::sum || reduce.getDims().size() != 1)
    return std::nullopt;
  SumOfWeightedScores found;
  found.reduce = reduce;
  auto both = found.skipFactors(reduce.getOperand()).getDefiningOp<MultiplyOp>();
  if (!both)
    return std::nullopt;
  SumOfWeightedScores outer = found;
  for (unsigned side : {0, 1}) {
    found = outer;
    auto score = found.skipFactors(both->getOperand(side)).getDefiningOp<DotGeneralOp>();
    if (!score)
      continue;
    SumOfWeightedScores withScore = found;
    Value weights = both->getOperand(1 - side);
    // The weights themselves may be a quotient of a row's sum.
    for (DotGeneralOp candidate : products) {
      found = withScore;
      Value behind = weights;
      while (true) {
        behind = skipConverts(behind);
        if (found.matchProduct(behind, score, candidate))
          return found;
        auto quotient = behind.getDefiningOp<DivideOp>();
        Value factor = quotient ? findRowValue(quotient.getRhs(), reduce.getDims()[0]) : Value();
        if (!factor)
          break;
        found.factors.push_back({factor, true});
        behind = quotient.getLhs();
      }
    }
  }
  return std::nullopt;
}

/// The product's result. If only a transpose reads it, the streamed kernel may return that instead.
static Value readProduct(OpBuilder &b, DotGeneralOp product) {
  auto transpose = product->hasOneUse() ? dyn_cast<TransposeOp>(*product->user_begin()) : TransposeOp();
  if (!transpose)
    return product.getResult();
  SmallVector<int64_t> inverse(transpose.getPerm().size());
  for (auto [position, dim] : llvm::enumerate(transpose.getPerm()))
    inverse[dim] = static_cast<int64_t>(position);
  return b.create<TransposeOp>(product.getLoc(), product.getType(), transpose, inverse);
}

void SumOfWeightedScores::appendInputs(SmallVectorImpl<Value> &inputs) const {
  inputs.push_back(held);
  for (const RowFactor &factor : factors)
    inputs.push_back(factor.value);
}

Value SumOfWeightedScores::build(OpBuilder &b) const {
  Location loc = ReduceOp(reduce).getLoc();
  auto toRegister = [&](Value value) -> Value {
    auto type = cast<ArrayType>(value.getType());
    Type wide = registerType(type.getElementType());
    return wide == type.getElementType() ? value : b.create<ConvertOp>(loc, type.withElementType(wide), value);
  };
  auto type = cast<ArrayType>(held.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : heldDims)
    shape.push_back(type.getDimSize(dim));
  Value rows = llvm::is_sorted(heldDims) ? held : b.create<TransposeOp>(loc, type.withShape(shape), held, heldDims);
  Value sum = b.create<MultiplyOp>(loc, toRegister(rows), toRegister(readProduct(b, product)));
  sum = b.create<ReduceOp>(loc, sum, ReductionKind::sum, ArrayRef<int64_t>{static_cast<int64_t>(shape.size()) - 1});
  for (const RowFactor &factor : factors) {
    Value value = toRegister(factor.value);
    if (shapeOf(value) != shapeOf(sum))
      value = b.create<ReshapeOp>(loc, sum.getType(), value);
    sum = factor.divides ? b.create<DivideOp>(loc, sum, value).getResult()
                         : b.create<MultiplyOp>(loc, sum, value).getResult();
  }
  return isNegative ? b.create<NegateOp>(loc, sum).getResult() : sum;
}

} // namespace spmdc
