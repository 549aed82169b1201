//===- Expander.cpp - complex arrays as pairs of real ones ----------------===//

#include "frontend/stablehlo/complex/Expander.h"

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/ExpandComplex.h"
#include "frontend/stablehlo/complex/JoinedParts.h"

using namespace mlir;

namespace spmdc::stablehlo {

bool isComplex(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  return tensor && llvm::isa<ComplexType>(tensor.getElementType());
}

Type partOf(Type type) {
  if (!isComplex(type))
    return type;
  auto tensor = llvm::cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), llvm::cast<ComplexType>(tensor.getElementType()).getElementType());
}

bool isZero(Value array) {
  while (Operation *op = array.getDefiningOp()) {
    if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
      auto value = llvm::dyn_cast<DenseFPElementsAttr>(constant.getValue());
      return value && value.isSplat() && value.getSplatValue<APFloat>().isZero();
    }
    if (!isa<BroadcastInDimOp, ReshapeOp, ConvertOp, SliceOp, TransposeOp, sdy::ShardingConstraintOp>(op))
      return false;
    array = op->getOperand(0);
  }
  return false;
}

//===- The kinds of operations --------------------------------------------===//

bool isPartwise(Operation *op) {
  bool isAlike =
      isa<AddOp, AllGatherOp, AllReduceOp, AllToAllOp, BroadcastInDimOp, CollectiveBroadcastOp, CollectivePermuteOp,
          CollectiveReduceOp, ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, NegateOp, PadOp, ReduceOp,
          ReduceScatterOp, ReduceWindowOp, ReshapeOp, ReturnOp, ReverseOp, ScatterOp, SelectOp, SliceOp, SubtractOp,
          TransposeOp, sdy::PropagationBarrierOp, sdy::ReshardOp, sdy::ShardingConstraintOp, sdy::ShardingGroupOp>(op);
  return isAlike && llvm::all_of(op->getRegions(), [](Region &region) {
           return llvm::all_of(region.getOps(), [](Operation &inner) { return isPartwise(&inner); });
         });
}

/// Operations that give values to regions, functions and results, one by one.
static bool passesValuesOn(Operation *op) {
  return isa<AllReduceOp, CaseOp, CollectiveReduceOp, CompositeOp, CustomCallOp, IfOp, OptimizationBarrierOp, ReduceOp,
             ReduceScatterOp, ReduceWindowOp, ScatterOp, SortOp, WhileOp, func::CallOp, sdy::ManualComputationOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

static const ComplexRules &getRules() {
  static const ComplexRules all = [] {
    ComplexRules rules;
    addArithmeticRules(rules);
    addBitRules(rules);
    addFunctionRules(rules);
    addFourierRules(rules);
    addLinearRules(rules);
    return rules;
  }();
  return all;
}

//===- Values -------------------------------------------------------------===//

Parts Expander::get(Value value) {
  if (auto found = parts.find(value); found != parts.end())
    return found->second;
  auto type = llvm::cast<RankedTensorType>(value.getType());
  auto zero = DenseElementsAttr::get(type, b.getZeroAttr(type.getElementType())); // Of integers, too.
  return {value, b.create<ConstantOp>(loc, type, zero)};
}

bool haveComplexValues(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), isComplex) && llvm::all_of(op->getResultTypes(), isComplex);
}

SmallVector<Value> Expander::expandValues(ValueRange range) {
  SmallVector<Value> values;
  for (Value value : range) {
    if (!isComplex(value.getType())) {
      values.push_back(value);
      continue;
    }
    auto [re, im] = get(value);
    values.append({re, im});
  }
  return values;
}

static SmallVector<Type> expandTypes(TypeRange range) {
  SmallVector<Type> types;
  for (Type type : range)
    types.append(isComplex(type) ? 2 : 1, partOf(type));
  return types;
}

/// The shardings of values, with those of a complex value twice.
static Attribute expandShardings(Attribute attribute, TypeRange types) {
  auto shardings = llvm::dyn_cast_or_null<sdy::TensorShardingsAttr>(attribute);
  if (!shardings || shardings.getShardings().size() != types.size())
    return attribute;
  SmallVector<sdy::TensorShardingAttr> all;
  for (auto [sharding, type] : llvm::zip_equal(shardings.getShardings(), types))
    all.append(isComplex(type) ? 2 : 1, sharding);
  return sdy::TensorShardingsAttr::get(attribute.getContext(), all);
}

void Expander::expandArguments(Block &block, bool hasPairs) {
  SmallVector<BlockArgument> old(block.getArguments());
  size_t group = hasPairs && old.size() % 2 == 0 ? 2 : 1;
  for (size_t i = 0; i < old.size(); i += group) {
    ArrayRef<BlockArgument> arguments = ArrayRef(old).slice(i, group);
    if (llvm::none_of(arguments, [](BlockArgument argument) { return isComplex(argument.getType()); }))
      continue;
    SmallVector<Parts> added(group);
    unsigned at = arguments.back().getArgNumber() + 1;
    for (unsigned part : {0, 1})
      for (auto [argument, pair] : llvm::zip_equal(arguments, added))
        (part ? pair.im : pair.re) = block.insertArgument(at++, partOf(argument.getType()), argument.getLoc());
    for (auto [argument, pair] : llvm::zip_equal(arguments, added)) {
      parts[argument] = pair;
      expandedArguments.push_back(argument);
    }
  }
}

//===- Copies -------------------------------------------------------------===//

Value Expander::copy(Operation *op, ArrayRef<Value> operands, Type result) {
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResult(0);
}

Operation *Expander::copyPart(Operation *op, unsigned part, IRMapping &local) {
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(local.contains(operand)        ? local.lookup(operand)
                             : isComplex(operand.getType()) ? get(operand)[part]
                                                            : operand);
  state.addTypes(llvm::map_to_vector(op->getResultTypes(), partOf));
  state.addAttributes(op->getAttrs());
  if (part && isa<sdy::ShardingConstraintOp>(op))
    state.addAttribute(kSecondPartAttrName, b.getUnitAttr());
  for (Region &region : op->getRegions()) {
    Region *target = state.addRegion();
    OpBuilder::InsertionGuard guard(b);
    for (Block &block : region) {
      Block &copied = target->emplaceBlock();
      for (BlockArgument argument : block.getArguments())
        local.map(argument, copied.addArgument(partOf(argument.getType()), argument.getLoc()));
      b.setInsertionPointToStart(&copied);
      for (Operation &inner : block)
        local.map(inner.getResults(), copyPart(&inner, part, local)->getResults());
    }
  }
  return b.create(state);
}

SmallVector<Value> Expander::copyPart(Operation *op, unsigned part) {
  IRMapping local;
  return copyPart(op, part, local)->getResults();
}

//===- Operations ---------------------------------------------------------===//

/// The operation with two operands, results and block arguments in the place of each complex one.
LogicalResult Expander::expandPassing(Operation *op) {
  SmallVector<Value> operands = expandValues(op->getOperands());
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    op->setOperands(operands);
    return success();
  }
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(expandTypes(op->getResultTypes()));
  for (NamedAttribute attribute : op->getAttrs()) {
    bool isOfOperands = attribute.getName() == "in_shardings";
    state.addAttribute(attribute.getName(),
                       expandShardings(attribute.getValue(), isOfOperands ? TypeRange(op->getOperandTypes())
                                                                          : TypeRange(op->getResultTypes())));
  }
  if (isa<CustomCallOp>(op)) {
    auto flags = [&](TypeRange range) {
      return b.getDenseBoolArrayAttr(llvm::map_to_vector(range, [](Type type) { return isComplex(type); }));
    };
    state.addAttribute(kComplexOperandsAttrName, flags(op->getOperandTypes()));
    state.addAttribute(kComplexResultsAttrName, flags(op->getResultTypes()));
  }
  for (Region &region : op->getRegions()) {
    state.addRegion()->takeBody(region);
    if (failed(expand(*state.regions.back(), isa<SortOp>(op))))
      return failure();
  }
  b.setInsertionPoint(op);
  Operation *made = b.create(state);
  SmallVector<Parts> results;
  unsigned next = 0;
  for (Type type : op->getResultTypes()) {
    Parts &result = results.emplace_back();
    result.re = made->getResult(next++);
    if (isComplex(type))
      result.im = made->getResult(next++);
  }
  return expandResults(op, results);
}

LogicalResult Expander::expandResults(Operation *op, Results results) {
  if (failed(results))
    return failure();
  for (auto [old, made] : llvm::zip_equal(op->getResults(), *results)) {
    if (made.re.getType() != partOf(old.getType()) || (made.im && made.im.getType() != made.re.getType()))
      return refuse(op, "has the result ") << old.getType() << ", but its operands give " << made.re.getType();
    if (isComplex(old.getType()))
      parts[old] = {made.re, made.im ? made.im : real(made.re).like(0).get()};
    else
      old.replaceAllUsesWith(made.re);
  }
  expanded.push_back(op);
  return success();
}

LogicalResult Expander::expand(Operation *op) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
  auto hasComplex = [](TypeRange types) { return llvm::any_of(types, isComplex); };
  if (!hasComplex(op->getOperandTypes()) && !hasComplex(op->getResultTypes())) {
    for (Region &region : op->getRegions())
      if (failed(expand(region, isa<SortOp>(op))))
        return failure();
    return success();
  }
  if (isPartwise(op) && !op->hasTrait<OpTrait::IsTerminator>()) {
    SmallVector<Value> re = copyPart(op, 0), im = copyPart(op, 1);
    SmallVector<Parts> results;
    for (auto [first, second] : llvm::zip_equal(re, im))
      results.push_back({first, second});
    return expandResults(op, results);
  }
  if (auto rule = getRules().find(op->getName().getStringRef()); rule != getRules().end()) {
    Results results = rule->second(*this, op);
    if (failed(results) || !results->empty())
      return expandResults(op, results);
  }
  if (passesValuesOn(op))
    return expandPassing(op);
  return refuse(op, "takes complex numbers, for which it has no translation; write it with their real and imaginary "
                    "parts");
}

LogicalResult Expander::expand(Region &region, bool hasPairs) {
  for (Block &block : region) {
    expandArguments(block, hasPairs);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(expand(&op)))
        return failure();
  }
  return success();
}

//===- Functions ----------------------------------------------------------===//

LogicalResult Expander::expand(func::FuncOp function) {
  if (failed(expand(function.getBody())))
    return failure();
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs = expandTypes(type.getInputs()), results = expandTypes(type.getResults());
  if (inputs.size() != type.getNumInputs())
    function.removeArgAttrsAttr(); // Only those of the entry have a meaning.
  if (results.size() != type.getNumResults())
    function.removeResAttrsAttr();
  function.setFunctionType(b.getFunctionType(inputs, results));
  return success();
}

void Expander::eraseExpanded() {
  for (Operation *op : llvm::reverse(expanded)) {
    op->dropAllUses();
    op->erase();
  }
  for (BlockArgument argument : llvm::reverse(expandedArguments)) {
    argument.dropAllUses();
    argument.getOwner()->eraseArgument(argument.getArgNumber());
  }
}

LogicalResult Expander::run() {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(expand(function)))
      return failure();
  eraseExpanded();
  return success();
}

LogicalResult expandComplex(ModuleOp module, func::FuncOp entry) {
  OpBuilder builder(module.getContext());
  if (failed(joinParts(entry, builder)))
    return failure();
  return Expander(module, builder).run();
}

} // namespace spmdc::stablehlo
