//===- FormKernels.cpp - outlines fused groups into kernels ---------------===//

#include "passes/kernel/Clusters.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/Overlapped.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_FORMKERNELS
#include "passes/kernel/Passes.h.inc"

namespace {

DebugTrace trace("form-kernels", "no epilogue");

/// The words of a kernel's name: the operations of its members. Converts and broadcasts count only if `all` is set.
SmallVector<std::string> wordsOf(const Cluster &cluster, ArrayRef<Operation *> ops, bool all) {
  SmallVector<std::string> words;
  for (Operation *op : ops) {
    if (!cluster.members.contains(op))
      continue;
    std::string word = op->getName().stripDialect().str();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      word = stringifyReductionKind(reduce.getKind()).str();
    else if (auto scan = dyn_cast<CumulativeOp>(op))
      word = "cum" + stringifyReductionKind(scan.getKind()).str();
    else if (isa<ConvertOp, BroadcastInDimOp>(op) && !all)
      continue;
    if (words.empty() || words.back() != word)
      words.push_back(word);
  }
  return words;
}

/// The prefix of a kernel's name, `exp_sum_`: at most three words for what it computes. The kernel's number is
/// appended.
std::string nameOf(const Cluster &cluster, ArrayRef<Operation *> ops) {
  SmallVector<std::string> words = wordsOf(cluster, ops, /*all=*/cluster.members.size() <= 3);
  if (words.empty()) // PTX allows no name that is only a number.
    words = wordsOf(cluster, ops, /*all=*/true);
  // The first two words are the first operations, the third is the last one.
  if (words.size() > 3)
    words.erase(words.begin() + 2, words.end() - 1);
  std::string name;
  for (const std::string &word : words)
    name += word + "_";
  return name;
}

class Outliner {
public:
  Outliner(Block &block, const ScheduleTraits &traits, SymbolTable &symbols, unsigned &kernelCount)
      : block(block), traits(traits), symbols(symbols), kernelCount(kernelCount) {}

  void run() {
    ClusterBuilder builder(block, traits);
    builder.run();
    std::vector<Cluster> clusters = builder.take();
    for (Operation &op : block)
      position[&op] = position.size();
    // Kernels in the order of their first result, so that names and the module follow the program.
    llvm::sort(clusters, [&](const Cluster &x, const Cluster &y) { return lastOf(x) < lastOf(y); });
    SmallVector<Operation *> launches;
    for (const Cluster &cluster : clusters)
      launches.push_back(outline(cluster));
    for (auto [cluster, launch] : llvm::zip(clusters, launches))
      for (auto [output, result] : llvm::zip(cluster.body.outputs, launch->getResults()))
        output.replaceUsesWithIf(result, [&](OpOperand &use) { return !isDead(use.getOwner()); });
    eraseDead();
    sortLaunches(block);
  }

private:
  int64_t lastOf(const Cluster &cluster) const {
    int64_t last = -1;
    for (Value output : cluster.body.outputs)
      last = std::max(last, position.lookup(output.getDefiningOp()));
    return last;
  }

  /// Operations that kernels compute have no users left; a reshape with a remaining user stays.
  bool isDead(Operation *op) const {
    return position.contains(op) && isKernelOp(op) && !isa<ReshapeOp>(op) && !isStoredConstant(op);
  }

  Operation *outline(const Cluster &cluster) {
    MLIRContext *context = block.getParentOp()->getContext();
    SmallVector<Operation *> ops(cluster.body.ops.begin(), cluster.body.ops.end());
    llvm::sort(ops, [&](Operation *x, Operation *y) { return position.lookup(x) < position.lookup(y); });
    SmallVector<Location> locs;
    llvm::SetVector<Value> inputs;
    for (Operation *op : ops) {
      if (cluster.members.contains(op))
        locs.push_back(op->getLoc());
      for (Value operand : op->getOperands())
        if (!cluster.body.contains(operand))
          inputs.insert(operand);
    }
    Location loc = fuseLocs(context, locs);
    OpBuilder builder(context);
    OperationState state(loc, plan::KernelOp::getOperationName());
    std::string name = nameOf(cluster, ops) + std::to_string(kernelCount++);
    state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
    Block *body = new Block();
    state.addRegion()->push_back(body);
    auto kernel = cast<plan::KernelOp>(Operation::create(state));
    symbols.insert(kernel);
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    builder.setInsertionPointToStart(body);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    SmallVector<Type> types;
    for (Value output : cluster.body.outputs) {
      results.push_back(mapping.lookup(output));
      types.push_back(output.getType());
    }
    builder.create<plan::ReturnOp>(loc, results);
    builder.setInsertionPoint(block.getTerminator());
    return builder.create<plan::LaunchOp>(loc, types, FlatSymbolRefAttr::get(kernel), inputs.getArrayRef(),
                                          ArrayAttr());
  }

  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isKernelOp(&op) && op.use_empty())
        op.erase();
  }

  Block &block;
  const ScheduleTraits &traits;
  SymbolTable &symbols;
  unsigned &kernelCount;
  llvm::DenseMap<Operation *, int64_t> position;
};

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// True if the value comes from a transfer that overlaps with products: a product with such an extra operand would
/// wait.
bool isOverlapped(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value.getDefiningOp() && value.getDefiningOp()->hasAttr(kOverlappedAttrName);
}

/// Fuses a kernel that only rewrites the rows of a product into the product as its epilogue, which runs while the rows
/// are in cache. Returns false if it cannot.
bool tryFuseEpilogue(plan::MatmulOp matmul, const ScheduleTraits &traits, SymbolTable &symbols, bool isGpu) {
  if (matmul.getEpilogue())
    return false;
  if (!matmul.getResult().hasOneUse())
    return trace.skip(matmul, "the product has several users");
  auto launch = dyn_cast<plan::LaunchOp>(*matmul->user_begin());
  if (!launch || launch->getBlock() != matmul->getBlock())
    return trace.skip(matmul, "its user is not a kernel in its block (", *matmul->user_begin(), ")");
  if (launch.getNumResults() != 1)
    return trace.skip(matmul, "the kernel that reads it has several results");
  if (llvm::any_of(launch.getInputs(), isOverlapped))
    return trace.skip(matmul, "the kernel reads an array that is being transferred");
  auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
  unsigned position = llvm::find(launch.getInputs(), matmul.getResult()) - launch.getInputs().begin();
  BlockArgument product = kernel.getBlock().getArgument(position);
  Value output = kernel.getBlock().getTerminator()->getOperand(0);
  auto type = cast<ArrayType>(output.getType());
  // On a GPU, where the epilogue runs behind the product, it need not be in place: the library may round the product to
  // another type (spmdc-match-library-epilogues).
  bool isSameType = type.getElementType() == matmul.getType().getElementType();
  bool isRounded = isGpu && !isSameType && isa<FloatType>(type.getElementType()) &&
                   isa<FloatType>(matmul.getType().getElementType());
  if ((!isSameType && !isRounded) || type.getNumElements() != matmul.getType().getNumElements())
    return trace.skip(matmul, "the kernel's result is no array of its size and element type (", type, ")");
  int64_t rows = matmul.getBatch() * matmul.getM();
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(KernelBody::of(kernel), rows, /*isTrial=*/true, traits);
  if (failed(schedule) || !(isRounded ? schedule->writesOwnRow(0, output) : schedule->rewritesRows(product, output)))
    return trace.skip(matmul, "the kernel does not rewrite each row in place");
  OpBuilder builder(launch);
  kernel->setAttr(kRowsAttrName, builder.getI64IntegerAttr(rows));
  // The product is the first argument.
  Block &block = kernel.getBlock();
  BlockArgument first = block.insertArgument(0u, product.getType(), product.getLoc());
  block.getArgument(position + 1).replaceAllUsesWith(first);
  block.eraseArgument(position + 1);
  SmallVector<Value> extras(launch.getInputs());
  extras.erase(extras.begin() + position);
  auto fused = builder.create<plan::MatmulOp>(
      fuseLocs(launch.getContext(), {matmul.getLoc(), launch.getLoc()}), launch.getResult(0).getType(), matmul.getLhs(),
      matmul.getRhs(), extras, matmul.getBatch(), matmul.getM(), matmul.getN(), matmul.getK(), matmul.getTransposeLhs(),
      matmul.getTransposeRhs(), matmul.getLhsViewAttr(), matmul.getRhsViewAttr(), launch.getKernelAttr(),
      plan::LibraryEpilogueAttr(), ArrayAttr());
  launch.getResult(0).replaceAllUsesWith(fused.getResult());
  launch.erase();
  matmul.erase();
  return true;
}

class FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
public:
  using FormKernelsBase::FormKernelsBase;

private:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    ScheduleTraits traits =
        gpuSharedBytes ? ScheduleTraits::forGpu({gpuSharedBytes, gpuClusterBlocks}) : ScheduleTraits();
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      sinkFreeOperations(function);
      unsigned kernelCount = 0;
      for (Block *block : getNestedBlocks(function))
        Outliner(*block, traits, symbols, kernelCount).run();
      SmallVector<plan::MatmulOp> products;
      function.walk([&](plan::MatmulOp product) { products.push_back(product); });
      for (plan::MatmulOp product : products)
        tryFuseEpilogue(product, traits, symbols, gpuSharedBytes != 0);
    }
  }
};

} // namespace
} // namespace spmdc
