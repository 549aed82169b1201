//===- StreamedProducts.cpp - products of products, tile by tile ----------===//

#include "passes/kernel/StreamedProducts.h"

#include "ir/spmd/ReducePrecision.h"
#include "passes/kernel/ScratchEmitter.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace spmdc {

llvm::StringRef stringifyStreamUnit(StreamUnit unit) { return unit == StreamUnit::Matrix ? "matrix" : "vector"; }

bool canStream(Type elementType, StreamUnit unit) {
  return unit == StreamUnit::Matrix ? isHalfFloat(elementType) : isa<FloatType>(elementType);
}

Value skipConverts(Value value) {
  while (auto convert = value.getDefiningOp<ConvertOp>()) {
    if (!isa<FloatType>(elementTypeOf(convert.getOperand())))
      break;
    value = convert.getOperand();
  }
  return value;
}

Value findRowValue(Value value, int64_t dim) {
  KernelIndexing indexing;
  Index index, expected;
  for (auto [d, size] : llvm::enumerate(shapeOf(value))) {
    index.push_back(indexing.space.createVariable(0, size - 1));
    if (static_cast<int64_t>(d) != dim)
      expected.push_back(index.back());
  }
  // The same elements, in the same order.
  auto hasElementsOf = [](const Index &x, const Index &y) {
    auto withoutOnes = [](const Index &all) {
      Index kept;
      llvm::copy_if(all, std::back_inserter(kept), [](const IndexExpr &expr) { return expr != IndexExpr(0); });
      return kept;
    };
    return withoutOnes(x) == withoutOnes(y);
  };
  Value found;
  while (index != expected) {
    if (hasElementsOf(index, expected))
      found = value;
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<BroadcastInDimOp, ReshapeOp, TransposeOp>(op))
      index = indexing.map(op, index).index;
    else if (!isa_and_nonnull<ConvertOp>(op))
      return found;
    value = op->getOperand(0);
  }
  return value;
}

ReduceOp findBroadcastReduce(Value value, int64_t dim) {
  Value row = findRowValue(value, dim);
  auto reduce = row ? skipConverts(row).getDefiningOp<ReduceOp>() : ReduceOp();
  return reduce && reduce.getDims() == ArrayRef<int64_t>{dim} ? reduce : ReduceOp();
}

namespace {

class Matcher {
public:
  /// Rows and columns are these dimensions of the weights, whose shape this is.
  Matcher(ArrayRef<int64_t> shape, int64_t rowDim, int64_t columnDim, StreamUnit unit,
          llvm::function_ref<bool(Value)> isWeight)
      : isWeight(isWeight) {
    found.unit = unit;
    found.indexing = std::make_shared<KernelIndexing>();
    for (auto [d, size] : llvm::enumerate(shape)) {
      IndexExpr variable = space().createVariable(0, size - 1);
      found.weightIndex.push_back(variable);
      if (static_cast<int64_t>(d) == rowDim) {
        found.rowVar = variable;
        found.rows = size;
      } else if (static_cast<int64_t>(d) == columnDim) {
        found.columnVar = variable;
        found.columns = size;
      } else {
        found.batchVars.push_back(variable);
        found.batchShape.push_back(size);
      }
    }
  }

  bool addResult(Value value);
  bool finish(bool withSoftmax);

  StreamedProducts found;

private:
  IndexSpace &space() { return found.indexing->space; }
  bool dependsOn(ArrayRef<IndexExpr> index, const IndexExpr &variable) {
    return llvm::any_of(index, [&](const IndexExpr &expr) {
      return !variable.isConstant() && space().dependsOn(expr, variable.terms[0].first);
    });
  }
  IndexExpr featureVar(int64_t width) {
    auto [known, isNew] = found.featureVars.try_emplace(width);
    if (isNew)
      known->second = space().createVariable(0, width - 1);
    return known->second;
  }

  bool isPosition(const IndexExpr &position, const IndexExpr &feature, bool isAligned);
  /// The array in memory from which the factor `value` can be read, behind operations that only move its elements.
  std::optional<StreamedProducts::Factor> findFactor(Value value, Index index, int64_t width);
  bool addScore(DotGeneralOp op, const Index &index);
  bool addProduct(DotGeneralOp op, Value value);
  bool visit(Value value, const Index &index);
  std::optional<StreamedProducts::Softmax> findSoftmax(ReduceOp sum);
  std::optional<StreamedProducts::Softmax> findSoftmax(Value weight);

  llvm::function_ref<bool(Value)> isWeight;
  std::set<std::pair<const void *, std::vector<IndexExpr>>> visited;
};

/// Whether tiles can be copied from such positions: sums of multiples of the variables, `isAligned` to 16 bytes.
bool Matcher::isPosition(const IndexExpr &position, const IndexExpr &feature, bool isAligned) {
  if (!feature.isConstant() && position.coefficientOf(feature.terms[0].first) != 1)
    return false;
  if (isAligned && position.constant % kStreamedUnit != 0)
    return false;
  for (auto [atom, coefficient] : position.terms) {
    if (!feature.isConstant() && atom == feature.terms[0].first)
      continue;
    if (space().getAtom(atom).kind != IndexSpace::Atom::Variable || (isAligned && coefficient % kStreamedUnit != 0))
      return false;
    bool isKnown = llvm::any_of(found.weightIndex, [&](const IndexExpr &variable) {
      return !variable.isConstant() && variable.terms[0].first == atom;
    });
    if (!isKnown)
      return false;
  }
  return true;
}

std::optional<StreamedProducts::Factor> Matcher::findFactor(Value value, Index index, int64_t width) {
  bool isAligned = found.unit == StreamUnit::Matrix;
  if ((isAligned && width % kStreamedUnit != 0) || width > kMaxStreamedWidth ||
      !canStream(elementTypeOf(value), found.unit))
    return std::nullopt;
  std::optional<StreamedProducts::Factor> best;
  SmallVector<Operation *> passed;
  size_t used = 0;
  while (true) {
    IndexExpr position = space().linearize(index, shapeOf(value));
    if (isPosition(position, featureVar(width), isAligned)) {
      best = {value, position, width};
      used = passed.size();
    }
    Operation *op = value.getDefiningOp();
    if (!op || !isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp>(op))
      break;
    MappedIndex mapped = found.indexing->map(op, index);
    if (!mapped.guards.empty() || !mapped.lookups.empty())
      break;
    passed.push_back(op);
    index = std::move(mapped.index);
    value = op->getOperand(0);
  }
  if (best) {
    found.ops.insert(passed.begin(), passed.begin() + used);
    found.inputs.insert(best->array);
  }
  return best;
}

bool Matcher::addScore(DotGeneralOp op, const Index &index) {
  if (op.getLhsContract().size() != 1)
    return false;
  int64_t width = shapeOf(op.getLhs())[op.getLhsContract()[0]];
  auto indexOf = [&](Value side, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, ArrayRef<int64_t> free,
                     size_t firstFree) {
    Index result(shapeOf(side).size());
    for (auto [number, dim] : llvm::enumerate(batch))
      result[dim] = index[number];
    for (auto [number, dim] : llvm::enumerate(free))
      result[dim] = index[firstFree + number];
    result[contract[0]] = featureVar(width);
    return result;
  };
  SmallVector<int64_t> lhsFree = op.getLhsFreeDims(), rhsFree = op.getRhsFreeDims();
  size_t batch = op.getLhsBatch().size();
  Index lhs = indexOf(op.getLhs(), op.getLhsBatch(), op.getLhsContract(), lhsFree, batch);
  Index rhs = indexOf(op.getRhs(), op.getRhsBatch(), op.getRhsContract(), rhsFree, batch + lhsFree.size());
  auto isOf = [&](const Index &side, const IndexExpr &yes, const IndexExpr &no) {
    return dependsOn(side, yes) && !dependsOn(side, no);
  };
  bool isStraight = isOf(lhs, found.rowVar, found.columnVar) && isOf(rhs, found.columnVar, found.rowVar);
  bool isSwapped = isOf(rhs, found.rowVar, found.columnVar) && isOf(lhs, found.columnVar, found.rowVar);
  if ((!isStraight && !isSwapped) || elementTypeOf(op.getLhs()) != elementTypeOf(op.getRhs()))
    return false;
  std::optional<StreamedProducts::Factor> left = findFactor(op.getLhs(), lhs, width),
                                          right = findFactor(op.getRhs(), rhs, width);
  if (!left || !right)
    return false;
  found.ops.insert(op);
  found.scores.push_back({op, index, isStraight ? *left : *right, isStraight ? *right : *left});
  return true;
}

bool Matcher::visit(Value value, const Index &index) {
  if (!visited.insert({value.getAsOpaquePointer(), {index.begin(), index.end()}}).second)
    return true;
  bool isWeight = dependsOn(index, found.rowVar) && dependsOn(index, found.columnVar);
  Operation *op = value.getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if ((constant && isa<SplatElementsAttr>(constant.getValue())) || isa_and_nonnull<IotaOp>(op)) {
    found.ops.insert(op);
    return true;
  }
  if (auto product = dyn_cast_or_null<DotGeneralOp>(op); product && isWeight)
    return addScore(product, index);
  if (op && isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp>(op)) {
    MappedIndex mapped = found.indexing->map(op, index);
    if (mapped.guards.empty() && mapped.lookups.empty()) {
      found.ops.insert(op);
      return visit(op->getOperand(0), mapped.index);
    }
  }
  // Conversions keep an array from memory as it is.
  if (isa_and_nonnull<ElementwiseOpInterface>(op) && (isWeight || isa<ConvertOp>(op))) {
    found.ops.insert(op);
    return llvm::all_of(op->getOperands(), [&](Value operand) { return visit(operand, index); });
  }
  found.inputs.insert(value);
  return true;
}

bool Matcher::addProduct(DotGeneralOp op, Value value) {
  if (op.getLhsContract().size() != 1 || !canStream(elementTypeOf(op.getLhs()), found.unit) ||
      elementTypeOf(op.getLhs()) != elementTypeOf(op.getRhs()))
    return false;
  SmallVector<int64_t> lhsFree = op.getLhsFreeDims(), rhsFree = op.getRhsFreeDims();
  // The weights are the operand that has rows and columns.
  auto isWeights = [&](Value side, ArrayRef<int64_t> contract, ArrayRef<int64_t> free) {
    return isWeight(side) && shapeOf(side).size() == found.weightIndex.size() && free.size() == 1 &&
           found.weightIndex[contract[0]] == found.columnVar && found.weightIndex[free[0]] == found.rowVar;
  };
  bool isLeft = isWeights(op.getLhs(), op.getLhsContract(), lhsFree);
  if (!isLeft && !isWeights(op.getRhs(), op.getRhsContract(), rhsFree))
    return false;
  ArrayRef<int64_t> batch = isLeft ? op.getLhsBatch() : op.getRhsBatch(),
                    otherBatch = isLeft ? op.getRhsBatch() : op.getLhsBatch();
  ArrayRef<int64_t> otherContract = isLeft ? op.getRhsContract() : op.getLhsContract();
  ArrayRef<int64_t> otherFree = isLeft ? rhsFree : lhsFree;
  if (otherFree.size() != 1)
    return false;
  Value other = isLeft ? op.getRhs() : op.getLhs();
  int64_t width = shapeOf(other)[otherFree[0]];
  Index index(shapeOf(other).size()), resultIndex;
  for (auto [mine, theirs] : llvm::zip(batch, otherBatch)) {
    index[theirs] = found.weightIndex[mine];
    resultIndex.push_back(found.weightIndex[mine]);
  }
  index[otherContract[0]] = found.columnVar;
  index[otherFree[0]] = featureVar(width);
  resultIndex.push_back(isLeft ? found.rowVar : featureVar(width));
  resultIndex.push_back(isLeft ? featureVar(width) : found.rowVar);
  StreamedProducts::Result result;
  result.op = op;
  result.weight = isLeft ? op.getLhs() : op.getRhs();
  result.streamed = findFactor(other, index, width);
  result.width = width;
  if (!result.streamed)
    return false;
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    Index moved;
    for (int64_t dim : transpose.getPerm())
      moved.push_back(resultIndex[dim]);
    resultIndex = moved;
    found.ops.insert(transpose);
  }
  result.position = space().linearize(resultIndex, shapeOf(value));
  if (!isPosition(result.position, featureVar(width), /*isAligned=*/false))
    return false;
  found.ops.insert(op);
  found.results.push_back(result);
  return true;
}

bool Matcher::addResult(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op))
    op = transpose.getOperand().getDefiningOp();
  if (auto product = dyn_cast_or_null<DotGeneralOp>(op))
    return addProduct(product, value);
  auto reduce = skipConverts(value).getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getDims().size() != 1 || found.weightIndex[reduce.getDims()[0]] != found.columnVar ||
      shapeOf(reduce.getOperand()).size() != found.weightIndex.size() ||
      !isa<FloatType>(elementTypeOf(reduce.getOperand())) ||
      (reduce.getKind() != ReductionKind::sum && reduce.getKind() != ReductionKind::max))
    return false;
  StreamedProducts::Result result;
  result.op = reduce;
  result.weight = reduce.getOperand();
  Index index;
  for (const IndexExpr &variable : found.weightIndex)
    if (variable != found.columnVar)
      index.push_back(variable);
  result.position = space().linearize(index, shapeOf(value));
  found.ops.insert(reduce);
  found.results.push_back(result);
  return true;
}

/// The softmax of which `sum` is the sum.
std::optional<StreamedProducts::Softmax> Matcher::findSoftmax(ReduceOp sum) {
  auto column = llvm::find(found.weightIndex, found.columnVar) - found.weightIndex.begin();
  auto exponential = skipConverts(sum.getOperand()).getDefiningOp<ExpOp>();
  auto difference = exponential ? skipConverts(exponential.getOperand()).getDefiningOp<SubtractOp>() : SubtractOp();
  ReduceOp max = difference ? findBroadcastReduce(difference.getRhs(), column) : ReduceOp();
  if (!max || sum.getKind() != ReductionKind::sum || max.getKind() != ReductionKind::max ||
      sum.getDims() != ArrayRef<int64_t>{column} || skipConverts(max.getOperand()) != skipConverts(difference.getLhs()))
    return std::nullopt;
  return StreamedProducts::Softmax{skipConverts(difference.getLhs()), max, sum};
}

/// The softmax that computes the weights of a product.
std::optional<StreamedProducts::Softmax> Matcher::findSoftmax(Value weight) {
  auto column = llvm::find(found.weightIndex, found.columnVar) - found.weightIndex.begin();
  auto quotient = skipConverts(weight).getDefiningOp<DivideOp>();
  ReduceOp sum = quotient ? findBroadcastReduce(quotient.getRhs(), column) : ReduceOp();
  if (!sum || skipConverts(sum.getOperand()) != skipConverts(quotient.getLhs()))
    return std::nullopt;
  return findSoftmax(sum);
}

bool Matcher::finish(bool withSoftmax) {
  if (!withSoftmax)
    return llvm::all_of(
               found.results,
               [&](const StreamedProducts::Result &result) { return visit(result.weight, found.weightIndex); }) &&
           !found.scores.empty();
  // The softmax of the product, or else that of the sum.
  for (bool ofProduct : {true, false})
    for (const StreamedProducts::Result &result : found.results) {
      auto reduce = dyn_cast<ReduceOp>(result.op);
      if (found.softmax || ofProduct == static_cast<bool>(reduce))
        continue;
      found.softmax = reduce ? findSoftmax(reduce) : findSoftmax(result.weight);
    }
  if (!found.softmax || !visit(found.softmax->exponent, found.weightIndex))
    return false;
  unsigned products = 0;
  for (const StreamedProducts::Result &result : found.results) {
    products += isa<DotGeneralOp>(result.op);
    if (!isa<DotGeneralOp>(result.op) && result.op != found.softmax->max && result.op != found.softmax->sum)
      return false;
  }
  return products <= 1 && !found.scores.empty();
}

/// Adds to `ops` all operations between the results and the operations and inputs that are known.
void addBetween(StreamedProducts &found, ArrayRef<Value> values) {
  SmallVector<Value> pending(values);
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (found.inputs.contains(value) || !op || !seen.insert(value).second)
      continue;
    found.ops.insert(op);
    llvm::append_range(pending, op->getOperands());
  }
}

} // namespace

std::optional<StreamedProducts> StreamedProducts::match(ArrayRef<Value> values, bool withSoftmax, StreamUnit unit,
                                                        llvm::function_ref<bool(Value)> isWeight) {
  if (values.empty())
    return std::nullopt;
  Operation *first = values[0].getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(first))
    first = transpose.getOperand().getDefiningOp();
  SmallVector<std::tuple<Value, int64_t, int64_t>> candidates; // The weights, and their dimensions of rows and columns.
  if (auto product = dyn_cast_or_null<DotGeneralOp>(first)) {
    if (product.getLhsContract().size() != 1)
      return std::nullopt;
    SmallVector<int64_t> lhsFree = product.getLhsFreeDims(), rhsFree = product.getRhsFreeDims();
    if (lhsFree.size() == 1 && isWeight(product.getLhs()))
      candidates.push_back({product.getLhs(), lhsFree[0], product.getLhsContract()[0]});
    if (rhsFree.size() == 1 && isWeight(product.getRhs()))
      candidates.push_back({product.getRhs(), rhsFree[0], product.getRhsContract()[0]});
  } else if (auto reduce = skipConverts(values[0]).getDefiningOp<ReduceOp>(); reduce && reduce.getDims().size() == 1) {
    for (int64_t dim = static_cast<int64_t>(shapeOf(reduce.getOperand()).size()); dim-- > 0;)
      if (dim != reduce.getDims()[0])
        candidates.push_back({reduce.getOperand(), dim, reduce.getDims()[0]});
  }
  for (auto [weights, rowDim, columnDim] : candidates) {
    Matcher matcher(shapeOf(weights), rowDim, columnDim, unit, isWeight);
    if (!llvm::all_of(values, [&](Value value) { return matcher.addResult(value); }) || !matcher.finish(withSoftmax))
      continue;
    addBetween(matcher.found, values);
    return std::move(matcher.found);
  }
  return std::nullopt;
}

FailureOr<StreamedProducts> StreamedProducts::of(plan::KernelOp kernel) {
  SmallVector<Value> values(kernel.getBlock().getTerminator()->getOperands());
  // The other factors are inputs.
  auto isWeight = [](Value value) {
    while (value.getDefiningOp() && isIndexOp(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value.getDefiningOp() != nullptr;
  };
  auto name = kernel->getAttrOfType<StringAttr>(kStreamedAttrName);
  bool isVector = name && name.getValue() == stringifyStreamUnit(StreamUnit::Vector);
  for (bool withSoftmax : {false, true})
    if (std::optional<StreamedProducts> found =
            match(values, withSoftmax, isVector ? StreamUnit::Vector : StreamUnit::Matrix, isWeight)) {
      bool isWhole = llvm::all_of(found->inputs, [](Value input) { return isa<BlockArgument>(input); });
      if (isWhole)
        return std::move(*found);
    }
  return kernel.emitError("kernel '") << kernel.getSymName() << "' has the attribute '" << kStreamedAttrName
                                      << "', but is no product of functions of scores";
}

int64_t StreamedProducts::countRowBlocks(int64_t rowsOfBlock) const {
  return std::accumulate(batchShape.begin(), batchShape.end(), llvm::divideCeil(rows, rowsOfBlock),
                         std::multiplies<>());
}

std::string StreamedProducts::str() const {
  std::string text = softmax ? "softmax of " : "";
  text += std::to_string(scores.size()) + (scores.size() == 1 ? " score" : " scores") + " of " + std::to_string(rows) +
          " rows, " + std::to_string(columns) + " columns streamed";
  for (const Result &result : results)
    text += result.streamed ? "; product of width " + std::to_string(result.width)
                            : "; " + stringifyReductionKind(cast<ReduceOp>(result.op).getKind()).str() + " of rows";
  return text;
}

} // namespace spmdc
