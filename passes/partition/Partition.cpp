//===- Partition.cpp - the global program as one device's program ---------===//
//
// The pass walks the program in order and builds a new one on local arrays. Each operation creates its local version
// itself (ShardingRuleOpInterface::createLocal). The pass adds masks over padding, the collectives of reductions other
// than sums, and the collectives of each spmd.reshard.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/PartialSums.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/OwnerRead.h"
#include "passes/exchange/Reasons.h"
#include "passes/exchange/Regrouping.h"
#include "passes/exchange/ReshapeExchange.h"
#include "passes/exchange/Windows.h"
#include "passes/partition/Passes.h"
#include "passes/reductions/WidenSums.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/sharding/FactorAxes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_PARTITION
#include "passes/partition/Passes.h.inc"

namespace {

class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp func, ReshardPlanner &planner)
      : func(func), meshAttr(getMesh(func)), mesh(meshAttr.toValue()), planner(planner), builder(func.getContext()) {}

  LogicalResult run() {
    // The local program grows in a separate block, because sharding rules are derived from global types until the end.
    Block *global = &func.getBody().front();
    windows.emplace(Windows::listMovers(func.getBody()), meshAttr);
    auto *local = new Block();
    func.getBody().push_back(local);
    if (failed(partitionBlock(*global, *local)))
      return failure();
    SmallVector<ArrayType> arguments;
    for (BlockArgument argument : global->getArguments())
      arguments.push_back(globals[argument]);
    global->erase();
    updateSignature(arguments);
    return success();
  }

private:
  LogicalResult partitionBlock(Block &global, Block &local) {
    OpBuilder::InsertionGuard guard(builder);
    for (BlockArgument argument : global.getArguments()) {
      auto type = cast<ArrayType>(argument.getType());
      globals[argument] = type;
      locals[argument] = local.addArgument(type.getLocal(meshAttr), argument.getLoc());
    }
    builder.setInsertionPointToEnd(&local);
    for (Operation &op : global)
      if (failed(partition(&op)))
        return failure();
    return success();
  }

  /// Loops, branches and their yields stay the same operations, around local blocks.
  LogicalResult partitionControl(Operation *op) {
    OperationState state(op->getLoc(), op->getName());
    state.addAttributes(op->getAttrs());
    for (Value operand : op->getOperands())
      state.addOperands(locals[operand]);
    for (OpResult result : op->getResults()) {
      globals[result] = cast<ArrayType>(result.getType());
      state.addTypes(globals[result].getLocal(meshAttr));
    }
    for (Region &region : op->getRegions()) {
      state.addRegion()->emplaceBlock();
      if (failed(partitionBlock(region.front(), state.regions.back()->front())))
        return failure();
    }
    Operation *local = builder.create(state);
    for (auto [result, localResult] : llvm::zip(op->getResults(), local->getResults()))
      locals[result] = localResult;
    return success();
  }

  void partitionPrint(PrintOp op) {
    SmallVector<Value> values;
    SmallVector<Attribute> types;
    for (Value value : op.getValues()) {
      values.push_back(locals[value]);
      types.push_back(TypeAttr::get(globalOf(value)));
    }
    builder.create<PrintOp>(op.getLoc(), op.getTextsAttr(), values, builder.getArrayAttr(types));
  }

  LogicalResult partition(Operation *op) {
    if (isa<ForOp, WhileOp, IfOp, YieldOp>(op))
      return partitionControl(op);
    if (auto print = dyn_cast<PrintOp>(op))
      return partitionPrint(print), success();
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      ArrayType from = globalOf(reshard.getOperand());
      StringRef why = reshard.getWhy().value_or("");
      globals[reshard] = reshard.getType();
      if ((locals[reshard] = readFromOwner(reshard)))
        return success();
      locals[reshard] =
          planner.build(builder, op->getLoc(), locals[reshard.getOperand()], from, reshard.getType(), why);
      return success();
    }
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : ret->getOperands())
        operands.push_back(locals[operand]);
      builder.create<func::ReturnOp>(op->getLoc(), operands);
      return success();
    }
    if (auto manual = dyn_cast<ManualOp>(op))
      return manual.hasAutomaticAxes() ? partitionManual(manual) : (inlineManual(manual), success());
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rule || op->getNumResults() != 1)
      return op->emitOpError("cannot be partitioned: it has no sharding rule");
    partitionByRule(rule);
    return success();
  }

  /// Builds the reshard of a read as a broadcast from the device that owns the element, without partial sums; null if
  /// the operand is not such a read.
  Value readFromOwner(ReshardOp reshard) {
    Operation *read = reshard.getOperand().getDefiningOp();
    if (!isa_and_present<TakeOp, DynamicSliceOp>(read))
      return {};
    SmallVector<ArrayType> types =
        llvm::map_to_vector(read->getOperands(), [&](Value value) { return globalOf(value); });
    std::optional<OwnerRead> found =
        OwnerRead::find(planner, read, types, globalOf(reshard.getOperand()), reshard.getType());
    if (!found)
      return {};
    SmallVector<Value> operands = llvm::map_to_vector(read->getOperands(), [&](Value value) { return locals[value]; });
    return found->build(builder, read, operands, types.front(), reshard.getType(), mesh);
  }

  /// The body of a shard_map over all axes is one device's program already.
  void inlineManual(ManualOp op) {
    IRMapping mapping;
    for (auto [argument, input] : llvm::zip(op.getBlock().getArguments(), op.getInputs()))
      mapping.map(argument, locals[input]);
    for (Operation &inner : op.getBlock().without_terminator())
      builder.clone(inner, mapping);
    for (auto [output, value] : llvm::zip(op.getOutputs(), op.getBlock().getTerminator()->getOperands())) {
      locals[output] = mapping.lookup(value);
      globals[output] = cast<ArrayType>(output.getType());
    }
  }

  /// Partitions the body of a shard_map over some of the axes along the other ones. The inserted collectives are over
  /// axes that the body's shardings name, so their groups are devices with the same position along the manual axes.
  LogicalResult partitionManual(ManualOp op) {
    for (auto [argument, input] : llvm::zip(op.getBlock().getArguments(), op.getInputs())) {
      globals[argument] = cast<ArrayType>(argument.getType());
      locals[argument] = locals.lookup(input);
    }
    for (Operation &inner : op.getBlock().without_terminator())
      if (failed(partition(&inner)))
        return failure();
    for (auto [output, value] : llvm::zip(op.getOutputs(), op.getBlock().getTerminator()->getOperands())) {
      locals[output] = locals.lookup(value);
      globals[output] = cast<ArrayType>(output.getType());
    }
    return success();
  }

  void partitionByRule(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    Value result = op->getResult(0);
    auto global = cast<ArrayType>(result.getType());
    SmallVector<ArrayType> types;
    for (Value operand : op->getOperands())
      types.push_back(globalOf(operand));
    globals[result] = global;
    if (windows->isSkipped(op))
      return;
    if (Value local = windows->build(builder, op, [&](Value value) { return locals[value]; })) {
      locals[result] = local;
      return;
    }
    if (needsExchange(op, rule, types, global)) {
      locals[result] = buildMoves(
          builder, op, global, meshAttr, [&](Value value) { return locals[value]; },
          [&](Value value) { return globalOf(value); });
      return;
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op.getOperation());
        reshape && !isLocalReshape(mesh, reshape, types[0], global)) {
      std::optional<Regrouping> regrouping = findRegrouping(
          mesh, reshape, global, [&](Value value) { return globalOf(value); }, /*skipped=*/nullptr,
          [&](Value value) { return static_cast<bool>(locals[value]); });
      if (regrouping) {
        Value outside = regrouping->outside ? locals[regrouping->outside] : Value();
        locals[result] = buildRegrouping(builder, reshape, locals[regrouping->source], outside, *regrouping,
                                         globalOf(regrouping->source), global, meshAttr);
        return;
      }
      if (canExchangeReshape(mesh, types[0], global)) {
        locals[result] =
            buildReshapeExchange(builder, reshape, locals[reshape.getOperand()], types[0], global, meshAttr);
        return;
      }
    }
    AxisRefs reduced;
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      ArrayType type = globalOf(operand);
      operands.push_back(maskPadding(op, rule, index, type, locals[operand]));
      FactorAxes axes = projectToFactors(mesh, rule, rule.operands[index], type.getShardingOrOpen().toValue());
      for (auto [factor, list] : llvm::zip(rule.factors, axes))
        if (factor.kind == FactorKind::Reduction && !overlap(reduced, list))
          reduced.insert(reduced.end(), list.begin(), list.end());
    }
    ArrayType localType = global.getLocal(meshAttr);
    bool isCombined = op.getReductionKind() != ReductionKind::sum && !reduced.empty();
    if (isCombined && combinesElements(op))
      localType = withPartialSums(op, localType);
    // Products read 16-bit floats directly; the operands of other sums are widened first.
    if (combinesElements(op) && !isa<DotGeneralOp>(op.getOperation()))
      for (Value &operand : operands)
        if (isHalfFloat(cast<ArrayType>(operand.getType()).getElementType()))
          operand = convertTo(builder, op->getLoc(), operand, localType.getElementType());
    Value local = op.createLocal(builder, operands, global, localType);
    if (isCombined)
      local = convertTo(builder, op->getLoc(), combine(op, local, reduced), global.getElementType());
    locals[result] = local;
  }

  /// Combines the partial results of a reduction other than a sum by an all_reduce, directly behind the reduction.
  Value combine(ShardingRuleOpInterface op, Value local, const AxisRefs &axes) {
    SmallVector<AxisRefAttr> attrs;
    for (const spmd::AxisRef &axis : axes)
      attrs.push_back(AxisRefAttr::get(func.getContext(), axis.name, axis.preSize, axis.size));
    std::string why =
        (op->getName().stripDialect() + " reduces a dimension sharded over " + spmd::quotedNames(axes)).str();
    why += ": each device has a partial result" + whyForCondition(op->getResult(0));
    return builder.create<AllReduceOp>(op->getLoc(), local.getType(), local, op.getReductionKind(),
                                       AxesAttr::get(func.getContext(), attrs), builder.getStringAttr(why));
  }

  /// The operand with its padding set to the neutral value of the reduction, if a reduced dimension has uneven shards.
  Value maskPadding(ShardingRuleOpInterface op, const ShardingRule &rule, unsigned index, ArrayType global,
                    Value local) {
    TypedAttr padding = op.getPaddingValue(index);
    if (!padding)
      return local;
    ShardingAttr sharding = global.getShardingOrOpen();
    Value isReal;
    auto type = cast<ArrayType>(local.getType());
    Location loc = op->getLoc();
    LocalBuilder positions(builder, loc);
    auto maskType = ArrayType::get(type.getShape(), builder.getI1Type());
    for (auto [dim, factors] : llvm::enumerate(rule.operands[index])) {
      bool isReduced = llvm::any_of(factors, [&](int64_t f) {
        return rule.factors[f].kind == FactorKind::Reduction || rule.factors[f].kind == FactorKind::Combined;
      });
      ArrayRef<AxisRefAttr> axes = sharding.getDims()[dim].getAxes();
      int64_t size = global.getDimSize(dim);
      AxesAttr axesAttr = AxesAttr::get(func.getContext(), axes);
      if (!isReduced || type.getDimSize(dim) * sizeOf(mesh, axesAttr.toValues()) == size)
        continue;
      Value position = builder.create<IotaOp>(loc, positions.positionType(size, type.getShape()), dim);
      Value bound = positions.broadcast(positions.shardSize(size, axes), type.getShape());
      Value isOwned = builder.create<CompareOp>(loc, maskType, position, bound, ComparisonDirection::lt);
      isReal = isReal ? builder.create<AndOp>(loc, isReal, isOwned).getResult() : isOwned;
    }
    if (!isReal)
      return local;
    auto splat = DenseElementsAttr::get(type.getTensorType(), ArrayRef<Attribute>(padding));
    Value fill = builder.create<ConstantOp>(loc, splat);
    return builder.create<SelectOp>(loc, type, isReal, local, fill);
  }

  ArrayType globalOf(Value value) const { return globals.lookup(value); }

  void updateSignature(ArrayRef<ArrayType> globalArguments) {
    SmallVector<Type> results;
    for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
      func.setResultAttr(index, kGlobalTypeAttrName, TypeAttr::get(type));
      results.push_back(cast<ArrayType>(type).getLocal(meshAttr));
    }
    for (auto [index, type] : llvm::enumerate(globalArguments))
      func.setArgAttr(index, kGlobalTypeAttrName, TypeAttr::get(type));
    func.setFunctionType(FunctionType::get(func.getContext(), func.getBody().front().getArgumentTypes(), results));
  }

  func::FuncOp func;
  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  ReshardPlanner &planner;
  OpBuilder builder;
  std::optional<Windows> windows;
  DenseMap<Value, Value> locals;
  DenseMap<Value, ArrayType> globals;
};

class PartitionPass : public impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (succeeded(FunctionPartitioner(func, planner).run()))
        widenWrittenSums(func);
      else
        return signalPassFailure();
  }
};

} // namespace
} // namespace spmdc
