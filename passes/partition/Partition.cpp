//===- Partition.cpp - the global program as one device's program ---------===//
//
// Walks the program in order and builds it anew on local arrays. Each operation knows how it looks on one device
// (ShardingRuleOpInterface::createLocal); here is what lies between operations: masks over padding, reductions that
// are no sums, and the collectives of each spmd.reshard.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/collective/ReshardPlanner.h"
#include "passes/partition/Conditions.h"
#include "passes/partition/FactorAxes.h"
#include "passes/partition/Passes.h"

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
    // The local program grows in a block of its own: an operation's rule is read off its global types to the end.
    Block *global = &func.getBody().front();
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

  /// Loops, branches and what they yield: the same on each device, around local blocks.
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
      if (!planner.plan(from, reshard.getType()).isPossible)
        return reshard.emitOpError() << "takes " << from.str() << " to " << reshard.getType().str()
                                     << "; only an operation can make partial sums";
      StringRef why = reshard.getWhy().value_or("");
      locals[reshard] =
          planner.build(builder, op->getLoc(), locals[reshard.getOperand()], from, reshard.getType(), why);
      globals[reshard] = reshard.getType();
      return success();
    }
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : ret->getOperands())
        operands.push_back(locals[operand]);
      builder.create<func::ReturnOp>(op->getLoc(), operands);
      return success();
    }
    if (auto manual = dyn_cast<ManualOp>(op)) {
      inlineManual(manual);
      return success();
    }
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rule || op->getNumResults() != 1)
      return op->emitOpError("cannot be partitioned: it has no sharding rule");
    partitionByRule(rule);
    return success();
  }

  /// What was written for one device is one device's program already.
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

  /// Slices and pads whose shifted dimensions are cut, or that change the sharding: one exchange.
  bool needsExchange(ShardingRuleOpInterface op, const ShardingRule &rule) {
    if (!op.getShift())
      return false;
    spmd::Sharding from = globalOf(op->getOperand(0)).getShardingOrOpen().toValue();
    spmd::Sharding to = cast<ArrayType>(op->getResult(0).getType()).getShardingOrOpen().toValue();
    for (size_t d = 0; d < from.dims.size(); ++d)
      if (from.dims[d] != to.dims[d] || (!from.dims[d].empty() && !canCut(rule.factors[rule.operands[0][d][0]])))
        return true;
    return false;
  }

  /// Where each device finds its whole piece of the result in its own piece of the operand: where it begins there, if
  /// that is the same on all.
  std::optional<SmallVector<int64_t>> getLocalStart(ArrayType from, ArrayType to, ArrayRef<int64_t> shift) {
    auto sizesOf = [](ArrayType type) { return std::vector<int64_t>(type.getShape().begin(), type.getShape().end()); };
    std::vector<int64_t> fromShape = sizesOf(from), toShape = sizesOf(to);
    spmd::Sharding source = from.getShardingOrOpen().toValue(), target = to.getShardingOrOpen().toValue();
    ArrayType localFrom = from.getLocal(meshAttr), localTo = to.getLocal(meshAttr);
    std::optional<SmallVector<int64_t>> start;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      auto has = spmd::ownedRanges(mesh, fromShape, source, device);
      auto needs = spmd::ownedRanges(mesh, toShape, target, device);
      if (llvm::any_of(needs, [](const spmd::ShardRange &range) { return range.size == 0; }))
        continue;
      SmallVector<int64_t> own;
      for (size_t d = 0; d < has.size(); ++d) {
        own.push_back(needs[d].start + shift[d] - has[d].start);
        if (own[d] < 0 || own[d] + needs[d].size > has[d].size ||
            own[d] + localTo.getDimSize(d) > localFrom.getDimSize(d))
          return std::nullopt;
      }
      if (start && *start != own)
        return std::nullopt;
      start = std::move(own);
    }
    return start;
  }

  void exchangeShifted(ShardingRuleOpInterface op) {
    ArrayType from = globalOf(op->getOperand(0)), to = cast<ArrayType>(op->getResult(0).getType());
    SmallVector<int64_t> shift = *op.getShift();
    globals[op->getResult(0)] = to;
    if (std::optional<SmallVector<int64_t>> start = getLocalStart(from, to, shift)) {
      ArrayType local = to.getLocal(meshAttr);
      SmallVector<int64_t> limits, strides(local.getRank(), 1);
      for (auto [begin, size] : llvm::zip(*start, local.getShape()))
        limits.push_back(begin + size);
      locals[op->getResult(0)] =
          builder.create<SliceOp>(op->getLoc(), local, locals[op->getOperand(0)], *start, limits, strides);
      return;
    }
    SmallVector<AxisRefAttr> axes;
    auto isNamed = [](ArrayType type, StringRef name) {
      spmd::Sharding sharding = type.getShardingOrOpen().toValue();
      return llvm::any_of(sharding.dims, [&](const AxisList &dim) {
        return llvm::any_of(dim, [&](const spmd::AxisRef &axis) { return axis.name == name; });
      });
    };
    for (const spmd::MeshAxis &axis : mesh.axes)
      if (isNamed(from, axis.name) || isNamed(to, axis.name))
        axes.push_back(AxisRefAttr::get(func.getContext(), axis.name, 1, 0));
    std::string why =
        (op->getName().stripDialect() + " takes " + from.str() + " to " + to.str() +
         ": devices send one another the elements that their pieces do not share" + whyForCondition(op->getResult(0)))
            .str();
    Value local = builder.create<ExchangeOp>(
        op->getLoc(), to.getLocal(meshAttr), locals[op->getOperand(0)], AxesAttr::get(func.getContext(), axes),
        TypeAttr::get(from), TypeAttr::get(to), builder.getDenseI64ArrayAttr(shift), builder.getStringAttr(why));
    locals[op->getResult(0)] = fillOutside(op, local, from, to, shift);
  }

  /// What lies outside of the operand is zero after an exchange; here it becomes the scalar that it should be.
  Value fillOutside(ShardingRuleOpInterface op, Value local, ArrayType from, ArrayType to, ArrayRef<int64_t> shift) {
    if (op->getNumOperands() < 2 || matchPattern(op->getOperand(1), m_AnyZeroFloat()) ||
        matchPattern(op->getOperand(1), m_Zero()))
      return local;
    auto type = cast<ArrayType>(local.getType());
    Location loc = op->getLoc();
    auto scalarType = ArrayType::get({}, builder.getI32Type());
    auto indexType = ArrayType::get(type.getShape(), builder.getI32Type());
    auto maskType = ArrayType::get(type.getShape(), builder.getI1Type());
    auto scalar = [&](int64_t value) -> Value {
      auto number = builder.getI32IntegerAttr(static_cast<int32_t>(value));
      return builder.create<ConstantOp>(loc, DenseElementsAttr::get(scalarType.getTensorType(), Attribute(number)));
    };
    Value isInside;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (shift[d] >= 0 && to.getDimSize(d) + shift[d] <= from.getDimSize(d))
        continue;
      Value start =
          builder.create<ShardStartOp>(loc, scalarType, to.getDimSize(d),
                                       AxesAttr::get(func.getContext(), to.getShardingOrOpen().getDims()[d].getAxes()));
      Value position =
          builder.create<AddOp>(loc, builder.create<IotaOp>(loc, indexType, d),
                                builder.create<BroadcastInDimOp>(loc, indexType, start, ArrayRef<int64_t>{}));
      auto compare = [&](int64_t bound, ComparisonDirection direction) {
        Value limit = builder.create<BroadcastInDimOp>(loc, indexType, scalar(bound), ArrayRef<int64_t>{});
        Value holds = builder.create<CompareOp>(loc, maskType, position, limit, direction);
        isInside = isInside ? builder.create<AndOp>(loc, isInside, holds).getResult() : holds;
      };
      compare(-shift[d], ComparisonDirection::ge);
      compare(from.getDimSize(d) - shift[d], ComparisonDirection::lt);
    }
    if (!isInside)
      return local;
    Value fill = builder.create<BroadcastInDimOp>(loc, type, locals[op->getOperand(1)], ArrayRef<int64_t>{});
    return builder.create<SelectOp>(loc, type, isInside, local, fill);
  }

  void partitionByRule(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    if (needsExchange(op, rule))
      return exchangeShifted(op);
    Value result = op->getResult(0);
    auto global = cast<ArrayType>(result.getType());
    AxisList reduced;
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      ArrayType type = globalOf(operand);
      operands.push_back(maskPadding(op, rule, index, type, locals[operand]));
      FactorAxes axes = projectToFactors(mesh, rule, rule.operands[index], type.getShardingOrOpen().toValue());
      for (auto [factor, list] : llvm::zip(rule.factors, axes))
        if (factor.kind == FactorKind::Reduction && !overlap(mesh, reduced, list))
          reduced.insert(reduced.end(), list.begin(), list.end());
    }
    Value local = op.createLocal(builder, operands, global, global.getLocal(meshAttr));
    if (op.getReductionKind() != ReductionKind::sum && !reduced.empty())
      local = combine(op, local, reduced);
    locals[result] = local;
    globals[result] = global;
  }

  /// Partial results of a reduction that is no sum are combined at once.
  Value combine(ShardingRuleOpInterface op, Value local, const AxisList &axes) {
    SmallVector<AxisRefAttr> attrs;
    std::string why = (op->getName().stripDialect() + " reduces a dimension that is cut over ").str();
    for (const spmd::AxisRef &axis : axes) {
      why += (attrs.empty() ? "'" : ", '") + axis.str() + "'";
      attrs.push_back(AxisRefAttr::get(func.getContext(), axis.name, axis.preSize, axis.size));
    }
    why += ": each device has a partial result" + whyForCondition(op->getResult(0));
    return builder.create<AllReduceOp>(op->getLoc(), local.getType(), local, op.getReductionKind(),
                                       AxesAttr::get(func.getContext(), attrs), builder.getStringAttr(why));
  }

  /// The operand with its padding set to what the reduction ignores, where a reduced dimension is cut unevenly.
  Value maskPadding(ShardingRuleOpInterface op, const ShardingRule &rule, unsigned index, ArrayType global,
                    Value local) {
    TypedAttr padding = op.getPaddingValue(index);
    if (!padding)
      return local;
    ShardingAttr sharding = global.getShardingOrOpen();
    Value isReal;
    auto type = cast<ArrayType>(local.getType());
    Location loc = op->getLoc();
    auto indexType = ArrayType::get(type.getShape(), builder.getI32Type());
    auto maskType = ArrayType::get(type.getShape(), builder.getI1Type());
    for (auto [dim, factors] : llvm::enumerate(rule.operands[index])) {
      bool isReduced = llvm::any_of(factors, [&](int64_t f) { return rule.factors[f].kind == FactorKind::Reduction; });
      ArrayRef<AxisRefAttr> axes = sharding.getDims()[dim].getAxes();
      int64_t size = global.getDimSize(dim);
      AxesAttr axesAttr = AxesAttr::get(func.getContext(), axes);
      if (!isReduced || type.getDimSize(dim) * sizeOf(mesh, axesAttr.toValues()) == size)
        continue;
      Value position = builder.create<IotaOp>(loc, indexType, dim);
      Value owned = builder.create<ShardSizeOp>(loc, ArrayType::get({}, builder.getI32Type()), size, axesAttr);
      Value bound = builder.create<BroadcastInDimOp>(loc, indexType, owned, ArrayRef<int64_t>{});
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
  DenseMap<Value, Value> locals;
  DenseMap<Value, ArrayType> globals;
};

class PartitionPass : public impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    ReshardPlanner planner(getMesh(getOperation()).toValue());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(FunctionPartitioner(func, planner).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace spmdc
