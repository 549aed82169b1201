//===- ElementEmitter.cpp - the code of one element -----------------------===//

#include "passes/kernel/ElementEmitter.h"

#include "ir/array/ScalarEmission.h"

using namespace mlir;

namespace spmdc {
ElementEmitter::ElementEmitter(OpBuilder &builder, Location loc, const KernelBody &body, const KernelSchedule &schedule,
                               Hooks hooks)
    : builder(builder), loc(loc), body(body), schedule(schedule), hooks(std::move(hooks)) {}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void ElementEmitter::pushScope(Block *block) {
  if (!scopes.empty())
    scopes.back().end = scopes.back().block->getTerminator();
  scopes.emplace_back();
  scopes.back().block = block;
  builder.setInsertionPointToEnd(block);
}

void ElementEmitter::popScope(Block *block) {
  unsigned depth = getDepth();
  llvm::SmallVector<unsigned> gone;
  for (auto &[variable, value] : variables)
    if (value.depth == depth)
      gone.push_back(variable);
  for (unsigned variable : gone)
    variables.erase(variable);
  scopes.pop_back();
  scopes.back().block = block;
  scopes.back().end = nullptr;
  builder.setInsertionPointToEnd(block);
}

void ElementEmitter::moveTo(unsigned depth) {
  Scope &scope = scopes[depth];
  if (scope.end)
    builder.setInsertionPoint(scope.end);
  else
    builder.setInsertionPointToEnd(scope.block);
}

void ElementEmitter::bind(const IndexExpr &variable, Value value) {
  if (!variable.isConstant())
    variables[variable.terms[0].first] = {value, getDepth()};
}

void ElementEmitter::assume(std::vector<IndexAssumption> assumptions) {
  scopes.back().isGuard = true;
  scopes.back().assumed = std::move(assumptions);
}

bool ElementEmitter::isAssumed(const IndexAssumption &assumption) const {
  return llvm::any_of(scopes, [&](const Scope &scope) { return llvm::is_contained(scope.assumed, assumption); });
}

unsigned ElementEmitter::guardDepth() const {
  for (unsigned depth = scopes.size(); depth-- > 0;)
    if (scopes[depth].isGuard)
      return depth;
  return 0;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ElementEmitter::emit(Value value, ArrayRef<IndexExpr> index) {
  Emitted emitted = emitAt(value, Index(index));
  moveTo(getDepth());
  return emitted.value;
}

ElementEmitter::Emitted ElementEmitter::emitAt(Value value, Index index) {
  Key key{value.getAsOpaquePointer(), {index.begin(), index.end()}};
  for (unsigned depth = scopes.size(); depth-- > 0;)
    if (auto known = scopes[depth].values.find(key); known != scopes[depth].values.end())
      return {known->second, depth};
  Emitted result;
  if (std::optional<Emitted> cachedValue = hooks.cachedValue(value, index)) {
    result = *cachedValue;
  } else if (!body.contains(value)) {
    result = emitLoad(value, index);
  } else {
    result = emitOp(value.getDefiningOp(), index);
  }
  scopes[result.depth].values[key] = result.value;
  return result;
}

ElementEmitter::Emitted ElementEmitter::emitLoad(Value value, const Index &index) {
  auto type = cast<ArrayType>(value.getType());
  Emitted position = emitIndexAt(schedule.indexing->space.linearize(index, type.getShape()));
  // A position behind a condition is computed only where the condition holds.
  unsigned depth = std::max(position.depth, guardDepth());
  moveTo(depth);
  Type memory = memoryType(type.getElementType());
  auto pointer = builder.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), memory,
                                             hooks.pointerOf(value), ArrayRef<LLVM::GEPArg>{position.value},
                                             /*inbounds=*/true);
  auto load = builder.create<LLVM::LoadOp>(loc, memory, pointer, spmd::byteSize(type.getDType()));
  if (depth == getDepth() && hooks.annotate)
    hooks.annotate(load);
  return {fromMemory(builder, loc, type.getElementType(), load), depth};
}

void ElementEmitter::store(Value pointer, ArrayType type, ArrayRef<IndexExpr> index, Value value) {
  Value position = emitIndex(schedule.indexing->space.linearize(index, type.getShape()));
  Type memory = memoryType(type.getElementType());
  auto address = builder.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), memory, pointer,
                                             ArrayRef<LLVM::GEPArg>{position}, /*inbounds=*/true);
  auto store = builder.create<LLVM::StoreOp>(loc, toMemory(builder, loc, type.getElementType(), value), address,
                                             spmd::byteSize(type.getDType()));
  if (hooks.annotate)
    hooks.annotate(store);
}

Value ElementEmitter::emitGuard(const IndexGuard &guard) {
  Value position = emitIndex(guard.expr);
  // One unsigned comparison checks both ends.
  if (guard.low)
    position = builder.create<arith::SubIOp>(loc, position, emitConstant(guard.low));
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, position, emitConstant(guard.high - guard.low));
}

ElementEmitter::Emitted ElementEmitter::emitGuarded(Type type, ArrayRef<IndexGuard> guards,
                                                    llvm::function_ref<Value()> inside,
                                                    llvm::function_ref<Value()> outside) {
  Value condition;
  for (const IndexGuard &guard : guards) {
    Value holds = emitGuard(guard);
    condition = condition ? builder.create<arith::AndIOp>(loc, condition, holds).getResult() : holds;
  }
  Region *region = getBlock()->getParent();
  Block *onTrue = builder.createBlock(region, region->end()), *onFalse = builder.createBlock(region, region->end());
  Block *merge = builder.createBlock(region, region->end());
  Value result = merge->addArgument(type, loc);
  moveTo(getDepth());
  builder.create<LLVM::CondBrOp>(loc, condition, onTrue, onFalse);
  auto branch = [&](Block *block, llvm::function_ref<Value()> emitValue) {
    pushScope(block);
    scopes.back().isGuard = true;
    Value value = emitValue();
    moveTo(getDepth());
    builder.create<LLVM::BrOp>(loc, ValueRange(value), merge);
    popScope(merge);
  };
  // Each branch starts from the scope before the conditional.
  Block *front = getBlock();
  branch(onTrue, inside);
  scopes.back().block = front;
  branch(onFalse, outside);
  return {result, getDepth()};
}

ElementEmitter::Emitted ElementEmitter::emitConcatenate(ConcatenateOp op, const Index &index) {
  Type type = registerType(op.getType().getElementType());
  int64_t dim = op.getDim();
  IndexSpace &space = schedule.indexing->space;
  SmallVector<int64_t> offsets = {0};
  for (Value operand : op.getOperands())
    offsets.push_back(offsets.back() + shapeOf(operand)[dim]);
  // part(begin, end) emits one of these operands, found by binary search.
  std::function<Value(size_t, size_t)> part = [&](size_t begin, size_t end) -> Value {
    if (end - begin == 1) {
      Index partIndex = index;
      partIndex[dim] = space.add(index[dim], -offsets[begin]);
      return emit(op.getOperands()[begin], partIndex);
    }
    size_t middle = begin + (end - begin) / 2;
    IndexRange range = space.rangeOf(index[dim]);
    IndexGuard guard = schedule.indexing->getFirstParts(op, index, middle);
    auto before = [&] { return part(begin, middle); };
    auto behind = [&] { return part(middle, end); };
    if (range.high < guard.high || isAssumed({guard, true}))
      return before();
    if (range.low >= guard.high || isAssumed({guard, false}))
      return behind();
    return emitGuarded(type, guard, before, behind).value;
  };
  Value result = part(0, op.getNumOperands());
  return {result, getDepth()};
}

ElementEmitter::Emitted ElementEmitter::emitOp(Operation *op, const Index &index) {
  Type elementType = cast<ArrayType>(op->getResult(0).getType()).getElementType();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    moveTo(0);
    auto splat = cast<DenseElementsAttr>(constant.getValue());
    Type type = registerType(elementType);
    if (isa<FloatType>(elementType))
      return {emitFloatConstant(builder, loc, type, splat.getSplatValue<APFloat>().convertToDouble()), 0};
    return {emitIntConstant(builder, loc, type, splat.getSplatValue<APInt>().getSExtValue()), 0};
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    Emitted position = emitIndexAt(index[iota.getDim()]);
    moveTo(position.depth);
    Type type = registerType(elementType);
    Value value;
    if (isa<FloatType>(type))
      value = round(elementType, builder.create<arith::SIToFPOp>(loc, type, position.value));
    else if (type.getIntOrFloatBitWidth() < 64)
      value = builder.create<arith::TruncIOp>(loc, type, position.value);
    else
      value = position.value;
    return {value, position.depth};
  }
  if (isa<ShardStartOp, ShardSizeOp, AxisIndexOp>(op))
    return emitPosition(op);
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Emitted value = hooks.rowValue(reduce);
    moveTo(value.depth);
    return {round(elementType, value.value), value.depth};
  }
  if (isIndexOp(op)) {
    MappedIndex mapped = schedule.indexing->map(op, index);
    bool isUpdate = isa<DynamicUpdateSliceOp>(op);
    Value source = op->getOperand(isUpdate ? 1 : 0);
    Type type = registerType(elementType);
    auto emitOutside = [&]() -> Value {
      if (isUpdate)
        return emit(op->getOperand(0), index);
      if (isa<PadOp>(op))
        return emit(op->getOperand(1), {});
      // The elements after the end of an all_slice are padding.
      return isa<FloatType>(type) ? emitFloatConstant(builder, loc, type, 0) : emitIntConstant(builder, loc, type, 0);
    };
    if (llvm::any_of(mapped.guards, [&](const IndexGuard &guard) { return isAssumed({guard, false}); }))
      return {emitOutside(), getDepth()};
    size_t asked = mapped.guards.size();
    llvm::erase_if(mapped.guards, [&](const IndexGuard &guard) { return isAssumed({guard, true}); });
    if (mapped.guards.empty()) {
      Emitted emitted = emitAt(source, std::move(mapped.index));
      if (asked > 0) // The value is known only where the guards hold.
        emitted.depth = std::max(emitted.depth, guardDepth());
      return emitted;
    }
    return emitGuarded(type, mapped.guards, [&] { return emit(source, mapped.index); }, emitOutside);
  }
  if (auto concatenate = dyn_cast<ConcatenateOp>(op))
    return emitConcatenate(concatenate, index);

  SmallVector<Value> operands;
  unsigned depth = 0;
  for (Value operand : op->getOperands()) {
    Emitted emitted = emitAt(operand, index);
    operands.push_back(emitted.value);
    depth = std::max(depth, emitted.depth);
  }
  moveTo(depth);
  if (auto bitcast = dyn_cast<BitcastConvertOp>(op)) {
    // The bits of half precision are those of the memory type.
    Type from = bitcast.getOperand().getType().getElementType();
    Value bits = toMemory(builder, loc, from, operands[0]);
    Type memory = memoryType(elementType);
    if (bits.getType() != memory)
      bits = builder.create<arith::BitcastOp>(loc, memory, bits);
    return {fromMemory(builder, loc, elementType, bits), depth};
  }
  Value value = cast<ElementwiseOpInterface>(op).emitScalar(builder, loc, operands);
  if (!op->hasTrait<ExactInHalf>())
    value = roundElement(builder, loc, elementType, value, hooks.rounding, operands);
  return {value, depth};
}

} // namespace spmdc
