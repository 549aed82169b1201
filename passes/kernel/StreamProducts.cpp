//===- StreamProducts.cpp - outlines products of products -----------------===//
//
// Finds products whose operands are element-wise functions of products of features (StreamedProducts.h), and outlines
// them as streamed kernels, if no other operation needs the scores: then they never exist in memory. Each kernel
// multiplies the scores that it needs again.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/ReducePrecision.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/PositionMask.h"
#include "passes/kernel/ResultOrder.h"
#include "passes/kernel/ScratchEmitter.h"
#include "passes/kernel/StreamTiles.h"
#include "passes/kernel/SumOfWeightedScores.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_STREAMPRODUCTS
#include "passes/kernel/Passes.h.inc"

namespace {

DebugTrace trace("stream-products", "not streamed");

/// Rows and columns of scores below which a tile would be nearly empty: matrix units multiply 16 rows at a time.
constexpr int64_t kLeastRows = 16;
/// Accumulators of all products of a kernel, by their widths: a thread has registers for twice as many elements of 16
/// rows.
constexpr int64_t kMaxResultWidth = 256;

/// The multiplications of an element that a CPU's core does in the time in which it writes an element of scores or
/// weights to memory, and reads it again. (Gradients without a mask do 32 more for each array if there are 64 features,
/// and 64 more if there are 128: with 2 MiB to 128 MiB of scores they take 0.84 to 1.05 of the time.)
constexpr int64_t kMultiplicationsOfArray = 96;
/// Scores of a device that had better not be in memory, whatever it takes.
constexpr int64_t kLargeScoreBytes = int64_t(1) << 30;

/// A product of two arrays whose result is large beside them.
bool isScore(DotGeneralOp op, StreamUnit unit, int64_t leastBytes) {
  if (!canStream(elementTypeOf(op.getLhs()), unit) || op.getLhsContract().size() != 1)
    return false;
  auto type = cast<ArrayType>(op.getType());
  if (type.getNumElements() * byteSizeOf(type.getElementType()) < leastBytes)
    return false;
  SmallVector<int64_t> lhsFree = op.getLhsFreeDims(), rhsFree = op.getRhsFreeDims();
  int64_t width = shapeOf(op.getLhs())[op.getLhsContract()[0]];
  return lhsFree.size() == 1 && rhsFree.size() == 1 && width <= kMaxStreamedWidth &&
         (unit == StreamUnit::Vector || width % kStreamedUnit == 0) && shapeOf(op.getLhs())[lhsFree[0]] >= kLeastRows &&
         shapeOf(op.getRhs())[rhsFree[0]] >= kLeastRows;
}

/// The values that are element-wise functions of some scores, and the operations that end in results.
struct Component {
  llvm::SetVector<Operation *> weights; ///< Scores, and operations on them.
  llvm::SetVector<Operation *> ends;    ///< Products of weights, and reductions of them.
};

class Outliner {
public:
  /// `sharedBytes` and `matrixUnit` are of a GPU; without a matrix unit the kernels are for a CPU.
  Outliner(Block &block, int64_t sharedBytes, MatrixUnit matrixUnit, int64_t leastBytes, SymbolTable &symbols,
           unsigned &kernelCount)
      : block(block), sharedBytes(sharedBytes), matrixUnit(matrixUnit), leastBytes(leastBytes),
        unit(matrixUnit == MatrixUnit::None ? StreamUnit::Vector : StreamUnit::Matrix), symbols(symbols),
        kernelCount(kernelCount) {}

  void run() {
    SmallVector<DotGeneralOp> products(block.getOps<DotGeneralOp>());
    llvm::DenseSet<Operation *> tried;
    bool hasChanged = false;
    for (DotGeneralOp product : products) {
      if (tried.contains(product) || !isScore(product, unit, leastBytes))
        continue;
      Component component;
      bool isClosed = collect(product, component);
      for (Operation *op : component.weights)
        if (isa<DotGeneralOp>(op))
          tried.insert(op);
      hasChanged |= isClosed && outline(product, component);
    }
    if (!hasChanged)
      return;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    sortLaunches(block);
  }

private:
  /// Collects what depends on the scores. Returns false if another operation needs them in memory.
  bool collect(DotGeneralOp score, Component &component) {
    SmallVector<Operation *> pending = {score};
    component.weights.insert(score);
    auto add = [&](Operation *op) {
      if (component.weights.insert(op))
        pending.push_back(op);
    };
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      for (Operation *user : op->getUsers()) {
        if (user->getBlock() != &block)
          return trace.skip(score, "the scores are used in another block");
        if (isa<DotGeneralOp>(user) || isa<ReduceOp>(user))
          component.ends.insert(user);
        else if (isa<ElementwiseOpInterface>(user))
          add(user);
        else
          return trace.skip(score, "the scores are needed in memory (", user, ")");
      }
      if (isa<ElementwiseOpInterface>(op))
        for (Value operand : op->getOperands())
          if (isOfScores(operand))
            add(operand.getDefiningOp());
    }
    return !component.ends.empty() || trace.skip(score, "its result is not multiplied or reduced");
  }

  /// True for scores and element-wise functions of them.
  bool isOfScores(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &block)
      return false;
    if (auto product = dyn_cast<DotGeneralOp>(op))
      return isScore(product, unit, leastBytes);
    if (!isa<ElementwiseOpInterface>(op))
      return false;
    if (auto known = ofScores.find(op); known != ofScores.end())
      return known->second;
    bool result = llvm::any_of(op->getOperands(), [&](Value operand) { return isOfScores(operand); });
    return ofScores[op] = result;
  }

  /// True if the value depends on the result of `source`.
  bool dependsOn(Value value, Operation *source) {
    SmallVector<Value> pending = {value};
    llvm::DenseSet<Operation *> seen;
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val().getDefiningOp();
      if (op == source)
        return true;
      if (!op || op->getBlock() != &block || !seen.insert(op).second)
        continue;
      op->walk([&](Operation *inner) { llvm::append_range(pending, inner->getOperands()); });
    }
    return false;
  }

  /// True if an operation that no kernel computes again reads the value, directly or behind broadcasts.
  bool isNeeded(Value value, const Component &component, ArrayRef<Value> inputs) {
    if (llvm::is_contained(inputs, value))
      return true;
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (component.weights.contains(user))
        return false;
      if (isa<BroadcastInDimOp, ReshapeOp, TransposeOp, ConvertOp>(user))
        return isNeeded(user->getResult(0), component, inputs);
      return true;
    });
  }

  struct Kernel {
    SmallVector<Value> values;
    StreamedProducts products;
  };

  std::optional<StreamedProducts> match(ArrayRef<Value> values, bool withSoftmax, const Component &component) {
    return StreamedProducts::match(values, withSoftmax, unit,
                                   [&](Value value) { return component.weights.contains(value.getDefiningOp()); });
  }

  /// Lets products of weights have the layouts that their users read.
  void orderResults(const Component &component) {
    for (Operation *end : component.ends) {
      auto product = dyn_cast<DotGeneralOp>(end);
      bool isLeft = product && component.weights.contains(product.getLhs().getDefiningOp());
      if (!product || isLeft == component.weights.contains(product.getRhs().getDefiningOp()))
        continue;
      mergeTransposes(product);
      orderForReaders(product, product.getType().getRank() - (isLeft ? 1 : 2));
    }
  }

  /// The value that a streamed kernel returns for a product: the transpose that alone reads it, or its result.
  Value layOut(DotGeneralOp product, const Component &component) {
    Value value = product.getResult();
    auto transpose = product->hasOneUse() ? dyn_cast<TransposeOp>(*product->user_begin()) : TransposeOp();
    if (transpose && match({transpose.getResult()}, /*withSoftmax=*/false, component))
      return transpose.getResult();
    return value;
  }

  /// Plans the kernels of a component. Returns false if one of its ends has no form to stream.
  bool plan(DotGeneralOp score, const Component &component, std::vector<Kernel> &kernels,
            std::vector<SumOfWeightedScores> &sums) {
    orderResults(component);
    llvm::DenseSet<Operation *> covered;
    SmallVector<DotGeneralOp> products;
    // Products of a softmax, and then sums of softmaxes without a product.
    for (bool ofProducts : {true, false})
      for (Operation *end : component.ends) {
        auto product = dyn_cast<DotGeneralOp>(end);
        if (covered.contains(end) || ofProducts != static_cast<bool>(product))
          continue;
        Value value = product ? layOut(product, component) : end->getResult(0);
        std::optional<StreamedProducts> found = match({value}, /*withSoftmax=*/true, component);
        if (!found)
          continue;
        for (Operation *op : {end, found->softmax->max.getOperation(), found->softmax->sum.getOperation()})
          covered.insert(op);
        if (product)
          products.push_back(product);
        kernels.push_back({product ? SmallVector<Value>{value} : SmallVector<Value>(), std::move(*found)});
      }
    size_t softmaxes = kernels.size();
    for (Operation *end : component.ends) {
      if (covered.contains(end))
        continue;
      auto product = dyn_cast<DotGeneralOp>(end);
      if (!product)
        if (auto sum = SumOfWeightedScores::match(cast<ReduceOp>(end), products)) {
          sums.push_back(std::move(*sum));
          continue;
        }
      Value value = product ? layOut(product, component) : end->getResult(0);
      std::optional<StreamedProducts> found = match({value}, /*withSoftmax=*/false, component);
      if (!found)
        return trace.skip(score, "this operation has no form to stream (", end, ")");
      Kernel kernel{{value}, std::move(*found)};
      bool isMerged = false;
      for (size_t number = softmaxes; number < kernels.size() && !isMerged; ++number)
        isMerged = merge(kernels[number], kernel, component);
      if (!isMerged)
        kernels.push_back(std::move(kernel));
    }
    SmallVector<Value> inputs;
    for (const Kernel &kernel : kernels)
      llvm::append_range(inputs, kernel.products.inputs);
    // The sums read maxima and sums of the softmax, too.
    for (const SumOfWeightedScores &sum : sums)
      sum.appendInputs(inputs);
    for (Kernel &kernel : MutableArrayRef<Kernel>(kernels).take_front(softmaxes)) {
      for (Operation *statistic : {kernel.products.softmax->max, kernel.products.softmax->sum})
        if (isNeeded(statistic->getResult(0), component, inputs))
          kernel.values.push_back(statistic->getResult(0));
      if (!kernel.values.empty())
        kernel.products = *match(kernel.values, /*withSoftmax=*/true, component);
    }
    llvm::erase_if(kernels, [](const Kernel &kernel) { return kernel.values.empty(); });
    if (!pays(kernels))
      return trace.skip(score, "the scores that its kernels multiply again take longer than scores in memory");
    return llvm::all_of(kernels, [&](const Kernel &kernel) { return fits(kernel.products); }) ||
           trace.skip(score, "its tiles do not fit the shared memory of a block");
  }

  /// Whether a CPU computes the kernels faster than products of its library that keep scores and weights in memory.
  bool pays(ArrayRef<Kernel> kernels) {
    llvm::DenseSet<Operation *> scores;
    int64_t streamed = 0, once = 0, arrays = 0, bytes = 0;
    for (const Kernel &kernel : kernels) {
      int64_t widths = 0;
      for (const StreamedProducts::Score &score : kernel.products.scores) {
        widths += score.held.width;
        if (!scores.insert(score.op).second)
          continue;
        once += score.held.width;
        ++arrays;
        auto type = cast<ArrayType>(DotGeneralOp(score.op).getType());
        bytes += type.getNumElements() * byteSizeOf(type.getElementType());
      }
      for (const StreamedProducts::Result &result : kernel.products.results) {
        widths += result.width;
        once += result.width;
        arrays += result.streamed.has_value();
      }
      // A causal mask removes half of the tiles.
      streamed += PositionMask::find(kernel.products) ? widths / 2 : widths;
    }
    return unit == StreamUnit::Matrix || bytes >= kLargeScoreBytes ||
           streamed - once <= kMultiplicationsOfArray * arrays;
  }

  bool fits(const StreamedProducts &products) {
    return unit == StreamUnit::Vector || StreamTiles::choose(products, sharedBytes, matrixUnit).has_value();
  }

  /// Computes two kernels as one, if they have the same rows and columns and neither needs the other's results.
  bool merge(Kernel &first, const Kernel &second, const Component &component) {
    auto isIndependent = [&](const Kernel &reader, const Kernel &writer) {
      return llvm::none_of(reader.products.inputs, [&](Value input) {
        return llvm::any_of(writer.products.results,
                            [&](const StreamedProducts::Result &result) { return dependsOn(input, result.op); });
      });
    };
    if (!isIndependent(first, second) || !isIndependent(second, first))
      return false;
    SmallVector<Value> values(first.values);
    llvm::append_range(values, second.values);
    std::optional<StreamedProducts> both = match(values, /*withSoftmax=*/false, component);
    int64_t width = 0;
    if (both)
      for (const StreamedProducts::Result &result : both->results)
        width += result.width;
    if (!both || width > kMaxResultWidth || !fits(*both))
      return false;
    first = {std::move(values), std::move(*both)};
    return true;
  }

  bool outline(DotGeneralOp score, const Component &component) {
    std::vector<Kernel> kernels;
    std::vector<SumOfWeightedScores> sums;
    if (!plan(score, component, kernels, sums)) {
      // The orders for readers are of no use.
      for (Operation *end : component.ends)
        if (auto product = dyn_cast<DotGeneralOp>(end))
          mergeTransposes(product);
      return false;
    }
    produced.clear();
    for (const Kernel &kernel : kernels)
      produced.insert(kernel.values.begin(), kernel.values.end());
    for (const SumOfWeightedScores &sum : sums)
      produced.insert(sum.getReduce().getResult());
    // Kernels read results of one another, which are replaced once all bodies are copied.
    SmallVector<plan::LaunchOp> launches;
    for (const Kernel &kernel : kernels)
      launches.push_back(outline(kernel));
    OpBuilder builder = OpBuilder::atBlockTerminator(&block);
    for (const SumOfWeightedScores &sum : sums)
      replace(sum.getReduce().getResult(), sum.build(builder), launches);
    for (size_t number = 0; number < kernels.size(); ++number)
      for (auto [value, result] : llvm::zip(kernels[number].values, launches[number].getResults()))
        replace(value, result, launches);
    return true;
  }

  /// True for rows' maxima and sums that one kernel computes and another one reads: between them they stay in f32, like
  /// values in the kernels, since differences of weights and such sums would be little more than their roundings.
  bool isWide(Value value) {
    return produced.contains(value) && value.getDefiningOp<ReduceOp>() && isHalfFloat(elementTypeOf(value));
  }
  static Value convert(OpBuilder &builder, Value value, ArrayType type) {
    return builder.create<ConvertOp>(value.getLoc(), type, value);
  }
  static ArrayType toF32(Value value) {
    auto type = cast<ArrayType>(value.getType());
    return type.withElementType(Float32Type::get(type.getContext()));
  }

  void replace(Value value, Value result, ArrayRef<plan::LaunchOp> launches) {
    if (!isWide(value))
      return value.replaceAllUsesWith(result);
    for (plan::LaunchOp launch : launches)
      launch->replaceUsesOfWith(value, result);
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (isa<ConvertOp>(user) && user->getResult(0).getType() == result.getType())
        user->replaceAllUsesWith(ValueRange(result));
    OpBuilder builder(result.getContext());
    builder.setInsertionPointAfterValue(result);
    if (!value.use_empty())
      value.replaceAllUsesWith(convert(builder, result, cast<ArrayType>(value.getType())));
  }

  /// The operations of a kernel, in their order: those before the loops around the block, such as a transpose of the
  /// factor that all iterations read, come first.
  SmallVector<Operation *> sortOps(const StreamedProducts &products) {
    SmallVector<Block *> blocks = {&block};
    while (!isa<func::FuncOp>(blocks.back()->getParentOp()))
      blocks.push_back(blocks.back()->getParentOp()->getBlock());
    SmallVector<Operation *> sorted;
    for (Block *around : llvm::reverse(blocks))
      for (Operation &op : *around)
        if (products.ops.contains(&op))
          sorted.push_back(&op);
    return sorted;
  }

  plan::LaunchOp outline(const Kernel &kernel) {
    const StreamedProducts &products = kernel.products;
    SmallVector<Operation *> ops;
    SmallVector<Location> locs;
    for (Operation *op : sortOps(products))
      if (!products.inputs.contains(op->getResult(0))) {
        ops.push_back(op);
        if (isa<DotGeneralOp, ReduceOp>(op))
          locs.push_back(op->getLoc());
      }
    OpBuilder builder(block.getParentOp()->getContext());
    Location loc = fuseLocs(builder.getContext(), locs);
    OperationState state(loc, plan::KernelOp::getOperationName());
    std::string name = (products.softmax ? "attention_" : "streamed_") + std::to_string(kernelCount++);
    state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
    state.addAttribute(kStreamedAttrName, builder.getStringAttr(stringifyStreamUnit(unit)));
    auto *body = new Block();
    state.addRegion()->push_back(body);
    auto outlined = cast<plan::KernelOp>(Operation::create(state));
    symbols.insert(outlined);
    IRMapping mapping;
    builder.setInsertionPointToStart(body);
    for (Value input : products.inputs) {
      Value argument = body->addArgument(isWide(input) ? toF32(input) : input.getType(), input.getLoc());
      mapping.map(input, isWide(input) ? convert(builder, argument, cast<ArrayType>(input.getType())) : argument);
    }
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    SmallVector<Type> types;
    for (Value value : kernel.values) {
      Value result = mapping.lookup(value);
      results.push_back(isWide(value) ? convert(builder, result, toF32(value)) : result);
      types.push_back(results.back().getType());
    }
    builder.create<plan::ReturnOp>(loc, results);
    builder.setInsertionPoint(block.getTerminator());
    return builder.create<plan::LaunchOp>(loc, types, FlatSymbolRefAttr::get(outlined), products.inputs.getArrayRef(),
                                          ArrayAttr());
  }

  Block &block;
  int64_t sharedBytes;
  MatrixUnit matrixUnit;
  int64_t leastBytes; ///< Of scores.
  StreamUnit unit;
  SymbolTable &symbols;
  unsigned &kernelCount;
  llvm::DenseSet<Value> produced;             ///< By the kernels of the current component.
  llvm::DenseMap<Operation *, bool> ofScores; ///< Element-wise operations: whether they depend on scores.
};

class StreamProductsPass : public impl::StreamProductsBase<StreamProductsPass> {
public:
  using StreamProductsBase::StreamProductsBase;

private:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    unsigned kernelCount = 0;
    MatrixUnit matrixUnit = sharedBytes == 0 ? MatrixUnit::None : warpgroups ? MatrixUnit::Warpgroup : MatrixUnit::Warp;
    for (func::FuncOp function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      for (Block *inner : getNestedBlocks(function))
        Outliner(*inner, sharedBytes, matrixUnit, leastScoreBytes, symbols, kernelCount).run();
  }
};

} // namespace
} // namespace spmdc
