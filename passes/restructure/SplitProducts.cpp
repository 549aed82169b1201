//===- SplitProducts.cpp - products with slices of weights ----------------===//
//
// Several matrices that are concatenated (queries, keys and values; a gate and its input) are one product, of which
// each user takes a slice. If the matrix is sharded over devices, each slice of the product is on some devices only,
// and activations are sent to all. Instead the pass slices the matrix, and multiplies by each slice:
//
//   (x @ w)[:, :n]   =   x @ w[:, :n]
//
// The same holds for the derivative, which concatenates the slices' cotangents to multiply them by the matrix:
//
//   concatenate(g, u) @ w.T   =   g @ w[:, :n].T + u @ w[:, n:].T
//   x.T @ concatenate(g, u)   =   concatenate(x.T @ g, x.T @ u)
//
// Element-wise operations, reshapes and transposes may be between (a bias, a cast, a dimension of the heads).
//
//===----------------------------------------------------------------------===//

#include "passes/restructure/SplitProducts.h"

#include "ir/array/PartialSums.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/cost/RunCounts.h"
#include "passes/restructure/Concatenation.h"
#include "passes/restructure/RangeBuilder.h"

#include <set>

using namespace mlir;

namespace spmdc {

namespace {

DebugTrace trace("split-products", "not split");

/// The largest number of operations between a product and slices of it, or behind a concatenation.
constexpr size_t kMostOperations = 32;

/// Program order of operations of one block.
struct InOrder {
  bool operator()(Operation *a, Operation *b) const { return a->isBeforeInBlock(b); }
};

void annotateLike(Operation *op, Value value) {
  if (op->hasAttr(kAnnotatedAttrName) && value.getDefiningOp())
    value.getDefiningOp()->setAttr(kAnnotatedAttrName, UnitAttr::get(op->getContext()));
}

/// A value whose users are all slices.
class SlicedProduct {
public:
  SlicedProduct(Value value, RangeBuilder &parts) : value(value), parts(parts) {}

  /// Slices the operands of the operations that compute the value instead, if that sends less.
  bool rewrite() {
    Operation *op = value.getDefiningOp();
    if (!match())
      return trace.skip(op, "its users are not slices along one dimension that do not overlap");
    if (!collect())
      return trace.skip(op, "no product in front of it is computed for the slices alone");
    parts.start(producers);
    SmallVector<Value> taken;
    for (SliceOp slice : slices) {
      taken.push_back(parts.take(value, *getDimRange(slice), slice.getType(), slice));
      if (!taken.back())
        return parts.discard(), trace.skip(op, "no sharding expresses a part of an operand");
    }
    if (!parts.isBetterThan(SmallVector<Operation *>(slices.begin(), slices.end())))
      return parts.discard(), trace.skip(op, "separate products do not send less in less time");
    for (auto [slice, part] : llvm::zip_equal(slices, taken)) {
      annotateLike(slice, part);
      slice.replaceAllUsesWith(part);
      slice.erase();
    }
    for (Operation *op : llvm::reverse(producers))
      if (op->use_empty()) // Parts read all of an operand that has no dimension of the slices.
        op->erase();
    return true;
  }

private:
  /// Whether all users are slices along one dimension that do not overlap.
  bool match() {
    std::vector<DimRange> ranges;
    for (Operation *user : value.getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      std::optional<DimRange> range = slice ? getDimRange(slice) : std::nullopt;
      if (!range || slice->getBlock() != value.getParentBlock())
        return false;
      slices.push_back(slice);
      ranges.push_back(*range);
    }
    llvm::sort(ranges, [](const DimRange &a, const DimRange &b) { return a.start < b.start; });
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].dim != ranges[0].dim || ranges[i].start < ranges[i - 1].start + ranges[i - 1].size)
        return false;
    llvm::sort(slices, [](SliceOp a, SliceOp b) { return a->isBeforeInBlock(b); });
    return true;
  }

  /// Collects the operations that only the slices use, directly or not; false if there is no product among them.
  bool collect() {
    std::set<Operation *, InOrder> open;
    llvm::SmallPtrSet<Operation *, 16> members(slices.begin(), slices.end());
    bool hasProduct = false;
    auto add = [&](Value operand) {
      if (Operation *op = operand.getDefiningOp(); op && op->getBlock() == value.getParentBlock())
        open.insert(op);
    };
    add(value);
    while (!open.empty() && producers.size() < kMostOperations) {
      Operation *op = *std::prev(open.end()); // All of its users have been visited.
      open.erase(op);
      bool isForSlices = llvm::all_of(op->getUsers(), [&](Operation *user) { return members.contains(user); });
      if (!isForSlices || !canTakeRanges(op))
        continue;
      producers.push_back(op);
      members.insert(op);
      hasProduct |= isa<DotGeneralOp>(op);
      if (!isa<DotGeneralOp, ReduceOp>(op))
        for (Value operand : op->getOperands())
          add(operand);
    }
    std::reverse(producers.begin(), producers.end());
    return hasProduct;
  }

  Value value;
  RangeBuilder &parts;
  SmallVector<SliceOp> slices;
  SmallVector<Operation *> producers; ///< Operations that only the slices use, in program order.
};

/// A concatenated value whose users are products and sums.
class ConcatenatedOperand {
public:
  ConcatenatedOperand(Value value, RangeBuilder &parts) : value(value), parts(parts) {}

  /// Multiplies the parts instead of the concatenation, if that sends less.
  bool rewrite() {
    std::optional<Concatenation> join = matchConcatenation(value);
    if (!join)
      return false;
    parts.start({});
    SmallVector<Value> joined;
    for (const Concatenation::Part &part : join->parts)
      joined.push_back(part.value);
    Operation *op = value.getDefiningOp();
    if (!push(value, joined, join->dim))
      return parts.discard(), trace.skip(op, "one of its users cannot be computed from the concatenated parts");
    if (!hasProduct)
      return parts.discard(), trace.skip(op, "no product uses it");
    if (!parts.isBetterThan(join->movers))
      return parts.discard(), trace.skip(op, "products of the parts do not send less in less time");
    for (auto [op, result] : results) {
      annotateLike(op, result);
      op->getResult(0).replaceAllUsesWith(result);
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (Operation *op : join->adders)
      op->erase();
    for (Operation *op : join->movers)
      op->erase();
    return true;
  }

private:
  /// Computes all users of a value from its parts; false if that is not possible for one of them.
  bool push(Value concatenated, ArrayRef<Value> operandParts, int64_t dim) {
    return llvm::all_of(concatenated.getUses(), [&](OpOperand &use) { return pushThrough(use, operandParts, dim); });
  }

  bool pushThrough(OpOperand &use, ArrayRef<Value> operandParts, int64_t dim) {
    Operation *op = use.getOwner();
    bool isEnd = isa<DotGeneralOp, ReduceOp>(op);
    // An operation that is reached twice (a product of an array with its own transpose) depends on two parts at once.
    if (replaced.size() == kMostOperations || llvm::is_contained(replaced, op) ||
        op->getBlock() != value.getParentBlock() || isPerDevice(op) || !isConcatenable(op) ||
        (!isEnd && op->hasAttr(kAnnotatedAttrName)) || llvm::count(op->getOperands(), use.get()) != 1)
      return false;
    hasProduct |= isa<DotGeneralOp>(op);
    replaced.push_back(op);
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    const ValueFactors &own = rule.operands[use.getOperandNumber()];
    std::optional<int64_t> factor = findFactor(rule, own[dim]);
    if (!factor)
      return false;
    SmallVector<Value> made;
    std::optional<DimRange> ofResult;
    int64_t start = 0;
    for (Value part : operandParts) {
      int64_t size = typeOf(part).getDimSize(dim);
      std::optional<FactorRange> range = toFactorRange(rule, own, *factor, {dim, start, size});
      Value result = range ? multiply(use, rule, *range, part) : Value();
      if (!result)
        return false;
      made.push_back(result);
      ofResult = toDimRange(rule, rule.results[0], *range);
      start += size;
    }
    if (!isEnd)
      return ofResult && push(op->getResult(0), made, ofResult->dim);
    results.emplace_back(op, ofResult ? join(op, made, ofResult->dim) : add(op, made));
    return true;
  }

  /// Whether the operation gives for concatenated parts what it gives for each of them, concatenated or added up: it
  /// sums, computes each element by itself, or moves all of them.
  static bool isConcatenable(Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    bool isUnary = isa<ElementwiseOpInterface>(op) && op->getNumOperands() == 1;
    return isUnary || isa<DotGeneralOp, TransposeOp, ReshapeOp>(op) ||
           (reduce && reduce.getKind() == ReductionKind::sum);
  }

  /// Clones the operation for one part; null if no sharding expresses that.
  Value multiply(OpOperand &use, const ShardingRule &rule, FactorRange range, Value part) {
    Operation *op = use.getOwner();
    const ValueFactors &own = rule.operands[use.getOperandNumber()];
    SmallVector<Value> operands(op->getOperands());
    operands[use.getOperandNumber()] = part;
    auto typeOfPart = [&](const ValueFactors &factors, Value of) {
      return getRangeType(parts.getMesh(), rule, range, factors, typeOf(of), own, typeOf(part));
    };
    for (auto [number, operand, factors] : llvm::enumerate(operands, rule.operands)) {
      std::optional<DimRange> needed = toDimRange(rule, factors, range);
      if (!needed || number == use.getOperandNumber())
        continue;
      std::optional<ArrayType> type = typeOfPart(factors, operand);
      operand = type ? parts.take(operand, *needed, *type, op) : Value();
      if (!operand)
        return {};
    }
    std::optional<ArrayType> type = typeOfPart(rule.results[0], op->getResult(0));
    // A reduction along the parts adds up in f32, and `add` rounds once behind it.
    if (type && isHalfFloat(type->getElementType()) && !toDimRange(rule, rule.results[0], range)) {
      type = type->withElementType(Float32Type::get(op->getContext()));
      if (isa<ReduceOp>(op))
        operands[0] = convert(op, operands[0], type->getElementType());
    }
    return type ? parts.clone(op, operands, *type)->getResult(0) : Value();
  }

  Value join(Operation *op, ArrayRef<Value> made, int64_t dim) {
    auto joined = OpBuilder(op).create<ConcatenateOp>(op->getLoc(), op->getResult(0).getType(), made, dim);
    parts.note(joined, /*isMover=*/true);
    return joined;
  }

  Value add(Operation *op, ArrayRef<Value> made) {
    Value sum = made.front();
    ArrayType type = typeOf(op->getResult(0)).withElementType(typeOf(sum).getElementType());
    for (Value term : made.drop_front()) {
      sum = OpBuilder(op).create<AddOp>(op->getLoc(), type, sum, term);
      parts.note(sum.getDefiningOp(), /*isMover=*/false);
    }
    return convert(op, sum, typeOf(op->getResult(0)).getElementType());
  }

  Value convert(Operation *op, Value value, Type elementType) {
    OpBuilder builder(op);
    Value converted = convertTo(builder, op->getLoc(), value, elementType);
    if (converted != value)
      parts.note(converted.getDefiningOp(), /*isMover=*/false);
    return converted;
  }

  Value value;
  RangeBuilder &parts;
  bool hasProduct = false;
  SmallVector<Operation *> replaced;                  ///< Operands before users.
  SmallVector<std::pair<Operation *, Value>> results; ///< Replacements of products and sums.
};

/// Splits products of one block, and records their locations.
class BlockSplitter {
public:
  BlockSplitter(Block &block, RangeBuilder &parts, SmallVectorImpl<Location> &places)
      : block(block), parts(parts), places(places) {}

  /// From the last value to the first, since a rewrite may create slices of an earlier value.
  void splitSliced() {
    std::set<Operation *, InOrder> open;
    auto add = [&](Value value) {
      if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &block && !isPerDevice(op))
        open.insert(op);
    };
    for (auto slice : block.getOps<SliceOp>())
      add(slice.getOperand());
    while (!open.empty()) {
      Operation *op = *std::prev(open.end());
      open.erase(op);
      Location loc = op->getLoc();
      if (op->getNumResults() != 1 || !SlicedProduct(op->getResult(0), parts).rewrite())
        continue;
      llvm::for_each(parts.getSources(), add);
      places.push_back(loc);
    }
  }

  void splitConcatenated() {
    SmallVector<Value> joins;
    for (Operation &op : block)
      if (isa<ConcatenateOp, AddOp>(op) && !isPerDevice(&op) && matchConcatenation(op.getResult(0)))
        joins.push_back(op.getResult(0));
    for (Value value : joins) {
      Location loc = value.getLoc();
      if (ConcatenatedOperand(value, parts).rewrite())
        places.push_back(loc);
    }
  }

private:
  Block &block;
  RangeBuilder &parts;
  SmallVectorImpl<Location> &places;
};

} // namespace

SmallVector<Location> splitProducts(func::FuncOp func, ReshardPlanner &planner) {
  RunCounts runs;
  RangeBuilder parts(planner, runs);
  SmallVector<Block *> blocks;
  func.walk([&](Block *block) { blocks.push_back(block); });
  SmallVector<Location> places;
  for (Block *block : blocks) {
    BlockSplitter splitter(*block, parts, places);
    splitter.splitSliced();
    splitter.splitConcatenated();
  }
  return places;
}

} // namespace spmdc
