//===- Translation.cpp - from StableHLO to array operations ---------------===//

#include "frontend/stablehlo/Translation.h"

#include "frontend/stablehlo/Frames.h"

#include "ir/spmd/Location.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

SmallVector<Value> Translation::get(ValueRange range) const {
  return llvm::map_to_vector(range, [&](Value value) { return get(value); });
}

ArrayType Translation::typeOf(Type tensor) {
  auto ranked = llvm::cast<RankedTensorType>(tensor);
  return ArrayType::get(ranked.getShape(), ranked.getElementType());
}

//===- Operations ---------------------------------------------------------===//

Results Translation::translate(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(translate(&op)))
      return failure();
  return get(block.getTerminator()->getOperands());
}

LogicalResult Translation::translate(Operation *op) {
  loc = locOf(op);
  // A scalar is an array there, so that a new shape of it, or a sharding, says nothing.
  if (elementwiseShape && isa<BroadcastInDimOp, ReshapeOp, sdy::ShardingConstraintOp>(op)) {
    set(op->getResult(0), get(op->getOperand(0)));
    return success();
  }
  const Rules::Rule *rule = Rules::get().find(op->getName().getStringRef());
  if (!rule)
    return refuse(op, "has no translation yet; write it with other operations of jax.numpy or jax.lax");
  Results results = (*rule)(*this, op);
  if (failed(results))
    return failure();
  if (results->size() != op->getNumResults())
    return refuse(op, "has ") << op->getNumResults() << " results, but its operands give " << results->size();
  for (auto [value, result] : llvm::zip_equal(op->getResults(), *results)) {
    ArrayType type = typeOf(value.getType());
    if (elementwiseShape ? typeOf(result).getElementType() != type.getElementType() : plainTypeOf(result) != type)
      return refuse(op, "has the result ") << value.getType() << ", but its operands give " << typeOf(result).str();
    set(value, elementwiseShape && isa<ConstantOp>(op) ? broadcast(result, *elementwiseShape) : result);
  }
  return constrainResults(op);
}

/// The shardings that an operation carries as an attribute.
LogicalResult Translation::constrainResults(Operation *op) {
  Attribute attribute = op->getAttr("sdy.sharding");
  if (!attribute || elementwiseShape || op->getNumResults() == 0) // A callback without results names its device.
    return success();
  auto shardings = llvm::dyn_cast<sdy::TensorShardingsAttr>(attribute);
  if (!shardings || shardings.getShardings().size() != op->getNumResults())
    return refuse(op, "has no sharding for each of its results");
  for (auto [value, annotation] : llvm::zip_equal(op->getResults(), shardings.getShardings())) {
    Value array = get(value);
    FailureOr<ReadSharding> read = readSharding(op, annotation, shapeOf(array));
    if (failed(read))
      return failure();
    set(value, constrain(array, read->sharding, read->replicated));
  }
  return success();
}

Location Translation::locOf(Operation *op) const {
  Location own = toArrayLoc(op->getLoc());
  return getSourcePosition(own) ? own : callLoc;
}

Results Translation::call(Operation *op, StringRef name, ArrayRef<Value> arguments) {
  auto function = source.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal())
    return refuse(op, "names the function '" + name + "', which the module does not define");
  if (llvm::is_contained(calls, name))
    return refuse(op, "calls '" + name + "', which calls itself");
  Block &entry = function.getBody().front();
  if (entry.getNumArguments() != arguments.size() || !llvm::hasSingleElement(function.getBody()))
    return refuse(op, "has other operands than '" + name + "'");
  for (auto [parameter, argument] : llvm::zip_equal(entry.getArguments(), arguments)) {
    if (!elementwiseShape && shapeOf(argument) != llvm::cast<RankedTensorType>(parameter.getType()).getShape())
      return refuse(op, "has other operands than '" + name + "'");
    set(parameter, argument);
  }
  Location around = callLoc;
  callLoc = loc;
  calls.push_back(name);
  Results results = translate(entry);
  calls.pop_back();
  callLoc = around;
  return results;
}

Results Translation::applyElementwise(Region &body, ArrayRef<Value> arguments) {
  Block &block = body.front();
  for (auto [parameter, argument] : llvm::zip_equal(block.getArguments(), arguments))
    set(parameter, argument);
  std::optional<SmallVector<int64_t>> around = std::move(elementwiseShape);
  elementwiseShape.emplace(shapeOf(arguments.front()));
  Value activeAround = std::exchange(activeElements, Value());
  Results results = translate(block);
  activeElements = activeAround;
  elementwiseShape = std::move(around);
  return results;
}

std::optional<ReductionKind> Translation::getReductionKind(Region &body) {
  Block &block = body.front();
  Operation *end = block.getTerminator();
  if (block.getNumArguments() != 2 || end->getNumOperands() != 1)
    return std::nullopt;
  Value result = end->getOperand(0);
  while (auto constraint = result.getDefiningOp<sdy::ShardingConstraintOp>()) // Of a scalar: it says nothing.
    result = constraint.getInput();
  Operation *combine = result.getDefiningOp();
  return combine ? getReductionKind(combine, block.getArgument(0), block.getArgument(1)) : std::nullopt;
}

std::optional<ReductionKind> Translation::getReductionKind(Operation *combine, Value x, Value y) {
  bool takesBoth = combine->getNumOperands() == 2 && combine->getNumResults() == 1 &&
                   ((combine->getOperand(0) == x && combine->getOperand(1) == y) ||
                    (combine->getOperand(0) == y && combine->getOperand(1) == x));
  if (!takesBoth)
    return std::nullopt;
  bool isBool = llvm::cast<RankedTensorType>(x.getType()).getElementType().isInteger(1);
  if (isa<AddOp>(combine))
    return isBool ? ReductionKind::or_ : ReductionKind::sum;
  if (isa<MultiplyOp>(combine))
    return isBool ? ReductionKind::and_ : ReductionKind::prod;
  if (isa<MaximumOp>(combine))
    return isBool ? ReductionKind::or_ : ReductionKind::max;
  if (isa<MinimumOp>(combine))
    return isBool ? ReductionKind::and_ : ReductionKind::min;
  if (isa<AndOp>(combine))
    return ReductionKind::and_;
  if (isa<OrOp>(combine))
    return ReductionKind::or_;
  return std::nullopt;
}

bool Translation::isIota(Value array, int64_t dim) {
  while (auto broadcast = array.getDefiningOp<spmdc::BroadcastInDimOp>()) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    int64_t size = shapeOf(array)[dim], place = llvm::find(dims, dim) - dims.begin();
    array = broadcast.getOperand();
    dim = place;
    if (place == static_cast<int64_t>(dims.size()) || shapeOf(array)[place] != size)
      return false;
  }
  auto iota = array.getDefiningOp<spmdc::IotaOp>();
  return iota && static_cast<int64_t>(iota.getDim()) == dim;
}

bool areDims(ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(dims, [&](int64_t dim) { return dim >= 0 && dim < rank && seen.insert(dim).second; });
}

std::optional<int64_t> integerOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto number = constant ? llvm::dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!number || !number.isSplat() || number.getElementType().getIntOrFloatBitWidth() > 64)
    return std::nullopt;
  APInt bits = number.getSplatValue<APInt>();
  return isUnsigned(number.getElementType()) ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue();
}

//===- Rules --------------------------------------------------------------===//

const Rules::Rule *Rules::find(StringRef name) const {
  auto it = rules.find(name);
  return it == rules.end() ? nullptr : &it->second;
}

const Rules &Rules::get() {
  static const Rules all = [] {
    Rules rules;
    addElementwiseRules(rules);
    addBitRules(rules);
    addSpecialRules(rules);
    addMovementRules(rules);
    addContractionRules(rules);
    addConvolutionRules(rules);
    addReductionRules(rules);
    addWindowRules(rules);
    addSelectAndScatterRules(rules);
    addLinearRules(rules);
    addRandomRules(rules);
    addIndexRules(rules);
    addScatterRules(rules);
    addSortRules(rules);
    addFourierRules(rules);
    addControlRules(rules);
    addManualRules(rules);
    addCollectiveRules(rules);
    addDeviceRules(rules);
    return rules;
  }();
  return all;
}

//===- Locations ----------------------------------------------------------===//

static Location toArrayFrames(Location loc) {
  if (auto site = llvm::dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(toArrayFrames(site.getCallee()), toArrayFrames(site.getCaller()));
  return toArrayLoc(loc);
}

Location toArrayLoc(Location loc) {
  // JAX names an operation by the transformations that made it: `jit(step)/transpose(jvp())/dot_general`.
  if (auto named = llvm::dyn_cast<NameLoc>(loc)) {
    Location inner = toArrayLoc(named.getChildLoc());
    bool isNamedBackward = named.getName().getValue().contains("transpose(") && getSourcePosition(inner);
    return isNamedBackward ? getBackwardLoc(inner) : inner;
  }
  if (auto site = llvm::dyn_cast<CallSiteLoc>(loc))
    return toArrayFrames(withoutFrameworkFrames(site));
  auto fused = llvm::dyn_cast<FusedLoc>(loc);
  if (!fused || fused.getMetadata()) // A range (Location.h) has metadata.
    return loc;
  return fuseLocs(loc.getContext(), llvm::map_to_vector(fused.getLocations(), toArrayLoc));
}

} // namespace spmdc::stablehlo
