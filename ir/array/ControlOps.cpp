//===- ControlOps.cpp - loops, branches and prints ------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/DefinitionNotes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isScalar(Value value, Type elementType) {
  return typeOf(value).getRank() == 0 && typeOf(value).getElementType() == elementType;
}

/// The operands of the region's array.yield; emits an error if it has another terminator.
FailureOr<OperandRange> getYielded(Operation *op, Region &region, StringRef name) {
  auto yield = dyn_cast_if_present<YieldOp>(region.front().empty() ? nullptr : &region.front().back());
  if (!yield)
    return op->emitOpError() << "the " << name << " must end in array.yield";
  return yield.getOperands();
}

/// Verifies that each pair has one shape and element type; shardings may differ.
LogicalResult verifySameValues(Operation *op, StringRef what, ValueRange values, ValueRange results) {
  if (values.size() != results.size())
    return op->emitOpError() << what << ": " << values.size() << " values for " << results.size() << " results";
  for (auto [index, value, result] : llvm::enumerate(values, results)) {
    ArrayType type = typeOf(value).withoutSharding(), expected = typeOf(result).withoutSharding();
    if (type != expected)
      return failWithDefinitions(op->emitOpError() << what << ": value " << index << " is " << type.str()
                                                   << ", the result " << expected.str(),
                                 {{value, "value " + std::to_string(index)}});
  }
  return success();
}

LogicalResult verifyCounter(Operation *op, int64_t bound) {
  if (bound < INT32_MIN || bound > INT32_MAX)
    return op->emitOpError() << "bound " << bound << " is not an i32";
  return success();
}

} // namespace

LogicalResult ForOp::verify() {
  if (failed(verifyCounter(*this, static_cast<int64_t>(getLower()))) ||
      failed(verifyCounter(*this, static_cast<int64_t>(getUpper()))))
    return failure();
  if (getBody().getNumArguments() == 0 || !isScalar(getCounter(), IntegerType::get(getContext(), 32)))
    return emitOpError("the first argument of the body must be its counter, an i32[]");
  FailureOr<OperandRange> yielded = getYielded(*this, getBody(), "body");
  if (failed(yielded))
    return failure();
  SmallVector<Value> carries(getCarries().begin(), getCarries().end());
  return failure(failed(verifySameValues(*this, "inits", getInitials(), getOutputs())) ||
                 failed(verifySameValues(*this, "body arguments", carries, getOutputs())) ||
                 failed(verifySameValues(*this, "the body's yield", *yielded, getOutputs())));
}

LogicalResult WhileOp::verify() {
  FailureOr<OperandRange> condition = getYielded(*this, getCondition(), "condition");
  FailureOr<OperandRange> yielded = getYielded(*this, getBody(), "body");
  if (failed(condition) || failed(yielded))
    return failure();
  if (condition->size() != 1 || !isScalar((*condition)[0], IntegerType::get(getContext(), 1)))
    return emitOpError("the condition must yield one bool[]");
  return failure(failed(verifySameValues(*this, "inits", getInitials(), getOutputs())) ||
                 failed(verifySameValues(*this, "condition arguments", getCondition().getArguments(), getOutputs())) ||
                 failed(verifySameValues(*this, "body arguments", getBody().getArguments(), getOutputs())) ||
                 failed(verifySameValues(*this, "the body's yield", *yielded, getOutputs())));
}

LogicalResult IfOp::verify() {
  if (!isScalar(getPredicate(), IntegerType::get(getContext(), 1)))
    return emitOpError() << "the predicate must be a bool[], got " << getPredicate().getType().withoutSharding().str();
  if (getThenRegion().getNumArguments() != 0 || getElseRegion().getNumArguments() != 0)
    return emitOpError("branches must not take arguments");
  FailureOr<OperandRange> thenValues = getYielded(*this, getThenRegion(), "first branch");
  FailureOr<OperandRange> elseValues = getYielded(*this, getElseRegion(), "second branch");
  if (failed(thenValues) || failed(elseValues))
    return failure();
  return failure(failed(verifySameValues(*this, "the first branch's yield", *thenValues, getOutputs())) ||
                 failed(verifySameValues(*this, "the second branch's yield", *elseValues, getOutputs())));
}

LogicalResult PrintOp::verify() {
  if (getTexts().size() != getValues().size() + 1)
    return emitOpError() << "has " << getTexts().size() << " texts around " << getValues().size()
                         << " values; expected one text more than values";
  if (getGlobals() && getGlobals()->size() != getValues().size())
    return emitOpError("requires one global type for each value, or none");
  return success();
}

SmallVector<Region *> ForOp::getLoopRegions() { return {&getBody()}; }
SmallVector<Region *> WhileOp::getLoopRegions() { return {&getCondition(), &getBody()}; }

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

namespace {

/// True if these values can replace the results: the same types, shardings included.
bool haveSameTypes(ValueRange values, ValueRange results) { return llvm::equal(values.getTypes(), results.getTypes()); }

/// Moves the body of a region before the operation and replaces the results by the yielded values.
void inlineRegion(PatternRewriter &rewriter, Operation *op, Region &region, ValueRange arguments) {
  Operation *yield = region.front().getTerminator();
  SmallVector<Value> values(yield->getOperands());
  for (auto [value, argument] : llvm::zip(region.getArguments(), arguments))
    for (Value &yielded : values)
      if (yielded == value)
        yielded = argument;
  rewriter.inlineBlockBefore(&region.front(), op, arguments);
  rewriter.replaceOp(op, values);
  rewriter.eraseOp(yield);
}

/// A loop without iterations becomes its inits, one with a single iteration its body.
struct ForOfFewIterations : OpRewritePattern<ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForOp op, PatternRewriter &rewriter) const override {
    if (op.getTripCount() > 1 || !haveSameTypes(op.getInitials(), op.getOutputs()))
      return failure();
    if (op.getTripCount() == 0) {
      rewriter.replaceOp(op, op.getInitials());
      return success();
    }
    ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
    SmallVector<Value> carries(op.getCarries().begin(), op.getCarries().end());
    if (!haveSameTypes(op.getInitials(), carries) || !haveSameTypes(yielded, op.getOutputs()))
      return failure();
    auto counterType = cast<ArrayType>(op.getCounter().getType());
    SmallVector<Value> arguments = {
        rewriter.create<ConstantOp>(op.getLoc(), counterType, Scalar::ofInt(static_cast<int64_t>(op.getLower())))};
    llvm::append_range(arguments, op.getInitials());
    inlineRegion(rewriter, op, op.getBody(), arguments);
    return success();
  }
};

/// Removes a carry that the body yields unchanged.
struct ForOfInvariantCarry : OpRewritePattern<ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForOp op, PatternRewriter &rewriter) const override {
    Operation *yield = op.getBody().front().getTerminator();
    llvm::BitVector isInvariant(op.getInitials().size());
    for (auto [index, init] : llvm::enumerate(op.getInitials())) {
      Value argument = op.getCarries()[index];
      Value yielded = yield->getOperand(index);
      if ((yielded == argument || yielded == init) && init.getType() == argument.getType() &&
          init.getType() == op.getOutputs()[index].getType())
        isInvariant.set(index);
    }
    if (isInvariant.none())
      return failure();
    SmallVector<Value> inits, results(op.getOutputs().size());
    SmallVector<Type> types;
    for (auto [index, init] : llvm::enumerate(op.getInitials())) {
      if (isInvariant[index]) {
        rewriter.replaceAllUsesWith(op.getCarries()[index], init);
        results[index] = init;
        continue;
      }
      inits.push_back(init);
      types.push_back(op.getOutputs()[index].getType());
    }
    llvm::BitVector arguments(isInvariant.size() + 1);
    for (unsigned index : isInvariant.set_bits())
      arguments.set(index + 1);
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(isInvariant); });
    rewriter.modifyOpInPlace(op, [&] { op.getBody().front().eraseArguments(arguments); });
    auto loop = rewriter.create<ForOp>(op.getLoc(), types, op.getLowerAttr(), op.getUpperAttr(), inits);
    rewriter.inlineRegionBefore(op.getBody(), loop.getBody(), loop.getBody().end());
    unsigned next = 0;
    for (Value &result : results)
      if (!result)
        result = loop.getOutputs()[next++];
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Replaces an operation by one with fewer results; the dropped results have no users.
void replaceKept(PatternRewriter &rewriter, Operation *old, Operation *kept, const llvm::BitVector &isDropped) {
  auto next = kept->result_begin();
  SmallVector<Value> values(old->getResults());
  for (auto [index, value] : llvm::enumerate(values))
    if (!isDropped[index])
      value = *next++;
  rewriter.replaceOp(old, values);
}

/// Removes a carry on which neither a used result nor an effect of the body depends.
struct ForOfDeadCarry : OpRewritePattern<ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForOp op, PatternRewriter &rewriter) const override {
    Block &body = op.getBody().front();
    Operation *yield = body.getTerminator();
    llvm::BitVector isDead(op.getOutputs().size(), true);
    llvm::DenseSet<Operation *> live = {yield};
    SmallVector<Value> values;
    auto keep = [&](Operation *inside) {
      if (live.insert(inside).second)
        inside->walk([&](Operation *nested) { llvm::append_range(values, nested->getOperands()); });
    };
    auto keepCarry = [&](unsigned index) {
      if (isDead[index])
        values.push_back(yield->getOperand(index));
      isDead.reset(index);
    };
    for (OpResult result : op.getOutputs())
      if (!result.use_empty())
        keepCarry(result.getResultNumber());
    for (Operation &inside : body.without_terminator())
      if (!isMemoryEffectFree(&inside))
        keep(&inside);
    while (!values.empty()) {
      Value value = values.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &body && argument.getArgNumber() > 0)
          keepCarry(argument.getArgNumber() - 1);
      } else if (Operation *inside = body.findAncestorOpInBlock(*value.getDefiningOp())) {
        keep(inside);
      }
    }
    if (isDead.none())
      return failure();
    SmallVector<Value> inits;
    SmallVector<Type> types;
    llvm::BitVector arguments(isDead.size() + 1);
    for (auto [index, init] : llvm::enumerate(op.getInitials())) {
      if (isDead[index]) {
        arguments.set(index + 1);
        continue;
      }
      inits.push_back(init);
      types.push_back(op.getOutputs()[index].getType());
    }
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(isDead); });
    for (Operation &inside : llvm::make_early_inc_range(llvm::reverse(body)))
      if (!live.contains(&inside))
        rewriter.eraseOp(&inside);
    rewriter.modifyOpInPlace(op, [&] { body.eraseArguments(arguments); });
    auto loop = rewriter.create<ForOp>(op.getLoc(), types, op.getLowerAttr(), op.getUpperAttr(), inits);
    rewriter.inlineRegionBefore(op.getBody(), loop.getBody(), loop.getBody().end());
    replaceKept(rewriter, op, loop, isDead);
    return success();
  }
};

/// Removes results without users.
struct IfOfUnusedResults : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    llvm::BitVector isUnused(op.getOutputs().size());
    SmallVector<Type> types;
    for (OpResult result : op.getOutputs()) {
      if (result.use_empty())
        isUnused.set(result.getResultNumber());
      else
        types.push_back(result.getType());
    }
    if (isUnused.none())
      return failure();
    auto branch = rewriter.create<IfOp>(op.getLoc(), types, op.getPredicate());
    for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
      Operation *yield = from.front().getTerminator();
      rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(isUnused); });
      rewriter.inlineRegionBefore(from, to, to.end());
    }
    replaceKept(rewriter, op, branch, isUnused);
    return success();
  }
};

/// Replaces a branch on a constant by the region that runs.
struct IfOfConstant : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    DenseElementsAttr predicate;
    if (!matchPattern(op.getPredicate(), m_Constant(&predicate)))
      return failure();
    Region &taken = predicate.getSplatValue<bool>() ? op.getThenRegion() : op.getElseRegion();
    if (!haveSameTypes(taken.front().getTerminator()->getOperands(), op.getOutputs()))
      return failure();
    inlineRegion(rewriter, op, taken, {});
    return success();
  }
};

} // namespace

void ForOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ForOfFewIterations, ForOfInvariantCarry, ForOfDeadCarry>(context);
}

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<IfOfConstant, IfOfUnusedResults>(context);
}

} // namespace spmdc
