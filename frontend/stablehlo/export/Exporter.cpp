//===- Exporter.cpp - from array operations to StableHLO ------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/array/ScalarEvaluation.h"
#include "ir/spmd/Location.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

//===- Values -------------------------------------------------------------===//

SmallVector<Value> Exporter::get(ValueRange arrays) const {
  return llvm::map_to_vector(arrays, [&](Value array) { return get(array); });
}

void Exporter::set(ValueRange arrays, ValueRange tensors) {
  for (auto [array, tensor] : llvm::zip_equal(arrays, tensors))
    set(array, tensor);
}

static Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

//===- Emission -----------------------------------------------------------===//

Value Exporter::splat(RankedTensorType type, Scalar value) {
  TypedAttr number = scalarAttr(type.getElementType(), value);
  return create<ConstantOp>(type, DenseElementsAttr::get(type, ArrayRef<Attribute>(number)));
}

Value Exporter::splatLike(Value tensor, double value) {
  bool isFloat = llvm::isa<FloatType>(elementOf(tensor));
  return splat(llvm::cast<RankedTensorType>(tensor.getType()),
               isFloat ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value)));
}

Value Exporter::integer(Type element, int64_t value) {
  return splat(RankedTensorType::get({}, element), Scalar::ofInt(value));
}

Value Exporter::convert(Value tensor, Type element) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  return type.getElementType() == element ? tensor : create<ConvertOp>(type.clone(element), tensor).getResult();
}

Value Exporter::compare(Value x, StringRef direction, Value y, bool isTotal) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  Type element = type.getElementType();
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  StringRef how = llvm::isa<FloatType>(element) ? (isTotal ? "TOTALORDER" : "FLOAT")
                  : isUnsigned                  ? "UNSIGNED"
                                                : "SIGNED";
  return create<CompareOp>(type.clone(b.getI1Type()), x, y, ComparisonDirectionAttr::get(b.getContext(), direction),
                           ComparisonTypeAttr::get(b.getContext(), how));
}

Value Exporter::select(Value predicate, Value onTrue, Value onFalse) {
  return create<SelectOp>(onTrue.getType(), predicate, onTrue, onFalse);
}

Value Exporter::combine(ReductionKind kind, Value x, Value y) {
  Type type = x.getType();
  bool isBool = elementOf(x).isInteger(1);
  switch (kind) {
  case ReductionKind::sum:
    return isBool ? create<OrOp>(type, x, y).getResult() : create<AddOp>(type, x, y).getResult();
  case ReductionKind::prod:
    return isBool ? create<AndOp>(type, x, y).getResult() : create<MultiplyOp>(type, x, y).getResult();
  case ReductionKind::max:
    return isBool ? create<OrOp>(type, x, y).getResult() : create<MaximumOp>(type, x, y).getResult();
  case ReductionKind::min:
    return isBool ? create<AndOp>(type, x, y).getResult() : create<MinimumOp>(type, x, y).getResult();
  case ReductionKind::and_:
    return create<AndOp>(type, x, y);
  case ReductionKind::or_:
    return create<OrOp>(type, x, y);
  }
  llvm_unreachable("all kinds are handled");
}

void Exporter::fill(Region &region, TypeRange arguments,
                    llvm::function_ref<SmallVector<Value>(Block::BlockArgListType)> body) {
  OpBuilder::InsertionGuard guard(b);
  Block &block = region.emplaceBlock();
  for (Type type : arguments)
    block.addArgument(type, loc);
  b.setInsertionPointToStart(&block);
  create<ReturnOp>(body(block.getArguments()));
}

void Exporter::fillCombiner(Region &region, ReductionKind kind, Type element) {
  Type scalar = RankedTensorType::get({}, element);
  fill(region, {scalar, scalar},
       [&](auto arguments) { return SmallVector<Value>{combine(kind, arguments[0], arguments[1])}; });
}

Type Exporter::accumulatorOf(ReductionKind kind, Type element) {
  bool isAdded = kind == ReductionKind::sum || kind == ReductionKind::prod;
  return isAdded && (element.isBF16() || element.isF16()) ? b.getF32Type() : element;
}

//===- Operations ---------------------------------------------------------===//

LogicalResult Exporter::write(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(write(&op)))
      return failure();
  return success();
}

LogicalResult Exporter::write(Operation *op) {
  loc = toPlainLoc(op->getLoc());
  const ExportRules::Rule *rule = ExportRules::get().find(op->getName().getStringRef());
  if (!rule)
    return op->emitError() << "StableHLO has no operation for '" << op->getName() << "'";
  return (*rule)(*this, op);
}

SmallVector<Value> Exporter::composite(StringRef name, StringRef function, ValueRange arguments, TypeRange results,
                                       llvm::function_ref<SmallVector<Value>(ValueRange)> fill) {
  if (!symbols.lookup(function)) {
    OpBuilder::InsertionGuard guard(b);
    Location around = loc;
    loc = b.getUnknownLoc();
    auto made = func::FuncOp::create(loc, function, b.getFunctionType(arguments.getTypes(), results));
    made.setPrivate();
    symbols.insert(made, target.getBody()->end());
    b.setInsertionPointToStart(made.addEntryBlock());
    create<func::ReturnOp>(fill(ValueRange(made.getArguments())));
    loc = around;
  }
  auto made = create<CompositeOp>(results, arguments, name, DictionaryAttr(), function, IntegerAttr());
  return llvm::to_vector_of<Value>(made.getResults());
}

sdy::TensorShardingAttr Exporter::shardingOf(ArrayType type) {
  return sdy::TensorShardingAttr::get(b.getContext(), kExportedMesh, type.getShardingOrOpen(), {});
}

Location toPlainLoc(Location loc) {
  MLIRContext *context = loc.getContext();
  SmallVector<SmallVector<SourcePosition>> stacks = getSourceCallStacks(loc);
  if (stacks.empty() || stacks.front().empty())
    return UnknownLoc::get(context);
  SmallVector<Location> places = llvm::map_to_vector(stacks.front(), [&](const SourcePosition &place) -> Location {
    return FileLineColLoc::get(context, place.file, place.line, place.column);
  });
  Location around = places.pop_back_val();
  while (!places.empty())
    around = CallSiteLoc::get(places.pop_back_val(), around);
  return around;
}

//===- Rules --------------------------------------------------------------===//

const ExportRules::Rule *ExportRules::find(StringRef name) const {
  auto it = rules.find(name);
  return it == rules.end() ? nullptr : &it->second;
}

const ExportRules &ExportRules::get() {
  static const ExportRules all = [] {
    ExportRules rules;
    addElementwiseExports(rules);
    addMovementExports(rules);
    addContractionExports(rules);
    addReductionExports(rules);
    addIndexExports(rules);
    addFourierExports(rules);
    addRandomExports(rules);
    addControlExports(rules);
    addManualExports(rules);
    addCollectiveExports(rules);
    return rules;
  }();
  return all;
}

} // namespace spmdc::stablehlo
