//===- ElementEmitter.cpp - the code of one element -----------------------===//

#include "passes/kernel/ElementEmitter.h"

#include "ir/array/ScalarEmission.h"
#include "ir/array/ScalarEvaluation.h"

using namespace mlir;

namespace spmdc {
namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<ArrayType>(value.getType()).getShape(); }

bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

/// True where the result of an operation on half precision is one of its operands or needs no rounding.
bool isExact(Operation *op) {
  return isa<MaximumOp, MinimumOp, ClampOp, SelectOp, NegateOp, AbsOp, SignOp, FloorOp, CeilOp, RoundNearestEvenOp>(op);
}

} // namespace

ElementEmitter::ElementEmitter(OpBuilder &builder, Location loc, const KernelBody &body, const KernelSchedule &schedule,
                               Hooks hooks)
    : builder(builder), loc(loc), body(body), schedule(schedule), hooks(std::move(hooks)) {}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type ElementEmitter::registerType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (isHalf(elementType))
    return Float32Type::get(context);
  if (isa<FloatType>(elementType))
    return elementType;
  return IntegerType::get(context, elementType.getIntOrFloatBitWidth());
}

Type ElementEmitter::memoryType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (isa<FloatType>(elementType))
    return elementType;
  return IntegerType::get(context, std::max(8u, elementType.getIntOrFloatBitWidth()));
}

/// f32 to the nearest bf16, ties to even, in integers: the hardware's instruction flushes subnormal numbers.
static Value roundToBf16Bits(OpBuilder &b, Location loc, Value x) {
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) { return emitIntConstant(b, loc, i32, value); };
  Value bits = b.create<arith::BitcastOp>(loc, i32, x);
  Value isOdd = b.create<arith::AndIOp>(loc, b.create<arith::ShRUIOp>(loc, bits, constant(16)), constant(1));
  Value rounded = b.create<arith::AddIOp>(loc, b.create<arith::AddIOp>(loc, bits, constant(0x7fff)), isOdd);
  Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  Value quiet = b.create<arith::OrIOp>(loc, bits, constant(0x400000));
  return b.create<arith::SelectOp>(loc, isNan, quiet, rounded);
}

Value ElementEmitter::toMemory(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (elementType.isBF16()) {
    Value bits = roundToBf16Bits(b, loc, value);
    bits = b.create<arith::ShRUIOp>(loc, bits, emitIntConstant(b, loc, b.getI32Type(), 16));
    return b.create<arith::TruncIOp>(loc, b.getI16Type(), bits);
  }
  if (elementType.isF16())
    return b.create<arith::TruncFOp>(loc, elementType, value);
  if (elementType.isInteger(1))
    return b.create<arith::ExtUIOp>(loc, b.getI8Type(), value);
  return value;
}

Value ElementEmitter::fromMemory(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (elementType.isBF16()) {
    Value wide = b.create<arith::ExtUIOp>(loc, b.getI32Type(), value);
    wide = b.create<arith::ShLIOp>(loc, wide, emitIntConstant(b, loc, b.getI32Type(), 16));
    return b.create<arith::BitcastOp>(loc, b.getF32Type(), wide);
  }
  if (elementType.isF16())
    return b.create<arith::ExtFOp>(loc, b.getF32Type(), value);
  if (elementType.isInteger(1))
    return b.create<arith::TruncIOp>(loc, b.getI1Type(), value);
  return value;
}

Value ElementEmitter::round(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (elementType.isBF16()) {
    Value bits = b.create<arith::AndIOp>(loc, roundToBf16Bits(b, loc, value),
                                         emitIntConstant(b, loc, b.getI32Type(), 0xffff0000));
    return b.create<arith::BitcastOp>(loc, b.getF32Type(), bits);
  }
  if (elementType.isF16())
    return fromMemory(b, loc, elementType, toMemory(b, loc, elementType, value));
  return value;
}

Value ElementEmitter::combine(OpBuilder &b, Location loc, Type elementType, ReductionKind kind, Value x, Value y,
                              bool mayReorder) {
  Value result = emitReduction(b, loc, elementType, kind, x, y);
  if (!mayReorder)
    return result;
  if (auto add = result.getDefiningOp<arith::AddFOp>())
    add.setFastmath(arith::FastMathFlags::reassoc);
  if (auto multiply = result.getDefiningOp<arith::MulFOp>())
    multiply.setFastmath(arith::FastMathFlags::reassoc);
  return result;
}

Value ElementEmitter::identity(OpBuilder &b, Location loc, Type elementType, ReductionKind kind) {
  Scalar value = getReductionIdentity(elementType, kind);
  Type type = registerType(elementType);
  return isa<FloatType>(type) ? emitFloatConstant(b, loc, type, value.f) : emitIntConstant(b, loc, type, value.i);
}

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

unsigned ElementEmitter::guardDepth() const {
  for (unsigned depth = scopes.size(); depth-- > 0;)
    if (scopes[depth].isGuard)
      return depth;
  return 0;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value ElementEmitter::emitConstant(int64_t value) { return emitIntConstant(builder, loc, builder.getI64Type(), value); }

ElementEmitter::Emitted ElementEmitter::emitIndexAt(const IndexExpr &expr) {
  // Atoms first: their scopes say where the sum belongs.
  SmallVector<Emitted> atoms;
  unsigned depth = 0;
  for (const auto &[number, coefficient] : expr.terms) {
    const IndexSpace::Atom &atom = schedule.indexing->space.getAtom(number);
    Emitted emitted;
    if (atom.kind == IndexSpace::Atom::Variable) {
      auto known = variables.find(number);
      if (known == variables.end()) {
        // The only variables that are not loops: starts of slices, known in the outermost scope.
        for (const auto &[op, start] : schedule.indexing->getSliceStarts())
          if (!start.isConstant() && start.terms[0].first == number) {
            moveTo(0);
            auto slice = cast<AllSliceOp>(op);
            Value value =
                emitShardStart(slice.getOperand().getType().getDimSize(slice.getDim()), slice.getAxes(), getMesh(slice))
                    .first;
            known = variables.try_emplace(number, Emitted{value, 0}).first;
            break;
          }
      }
      emitted = known->second;
    } else if (atom.kind == IndexSpace::Atom::Lookup) {
      emitted = emitLookup(number);
    } else {
      Emitted operand = emitIndexAt(atom.operand);
      Scope &scope = scopes[operand.depth];
      IndexExpr key;
      key.terms.emplace_back(number, 1);
      Value &value = scope.indices[key];
      if (!value) {
        moveTo(operand.depth);
        Value divisor = emitConstant(atom.divisor);
        if (atom.kind == IndexSpace::Atom::FloorDiv)
          value = builder.create<arith::DivUIOp>(loc, operand.value, divisor);
        else
          value = builder.create<arith::RemUIOp>(loc, operand.value, divisor);
      }
      emitted = {value, operand.depth};
    }
    depth = std::max(depth, emitted.depth);
    atoms.push_back(emitted);
  }
  Value &known = scopes[depth].indices[expr];
  if (known)
    return {known, depth};
  // What outer scopes know is summed up there.
  SmallVector<size_t> order(atoms.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t x, size_t y) { return std::pair(atoms[x].depth, x) < std::pair(atoms[y].depth, y); });
  Value sum;
  auto flags = arith::IntegerOverflowFlags::nsw;
  for (size_t i : order) {
    int64_t coefficient = expr.terms[i].second;
    moveTo(atoms[i].depth);
    Value term = atoms[i].value;
    if (coefficient != 1)
      term = builder.create<arith::MulIOp>(loc, term, emitConstant(coefficient), flags);
    sum = sum ? builder.create<arith::AddIOp>(loc, sum, term, flags).getResult() : term;
  }
  if (expr.constant || !sum) {
    moveTo(depth);
    Value constant = emitConstant(expr.constant);
    sum = sum ? builder.create<arith::AddIOp>(loc, sum, constant, flags).getResult() : constant;
  }
  scopes[depth].indices[expr] = sum;
  return {sum, depth};
}

ElementEmitter::Emitted ElementEmitter::emitLookup(unsigned atom) {
  const IndexLookup &lookup = schedule.indexing->getLookup(atom);
  Emitted index = emitAt(lookup.indices, lookup.place);
  IndexExpr key;
  key.terms.emplace_back(atom, 1);
  Value &position = scopes[index.depth].indices[key];
  if (!position) {
    moveTo(index.depth);
    position = builder.create<arith::ExtSIOp>(loc, builder.getI64Type(), index.value);
    position = builder.create<arith::MaxSIOp>(loc, position, emitConstant(0));
    position = builder.create<arith::MinSIOp>(loc, position, emitConstant(lookup.high));
  }
  return {position, index.depth};
}

Value ElementEmitter::emitIndex(const IndexExpr &expr) {
  Emitted emitted = emitIndexAt(expr);
  moveTo(getDepth());
  return emitted.value;
}

/// The device's position along one axis (or part of one).
static Value emitAxisCoordinate(OpBuilder &b, Location loc, const spmd::AxisRef &axis, const spmd::MeshShape &mesh,
                                const std::function<Value(OpBuilder &, unsigned)> &coordinate) {
  int number = mesh.indexOf(axis.name);
  Value position = coordinate(b, static_cast<unsigned>(number));
  if (axis.isWholeAxis())
    return position;
  auto constant = [&](int64_t value) { return emitIntConstant(b, loc, b.getI64Type(), value); };
  int64_t minor = mesh.axes[number].size / (axis.preSize * axis.size);
  position = b.create<arith::DivUIOp>(loc, position, constant(minor));
  return b.create<arith::RemUIOp>(loc, position, constant(axis.size));
}

std::pair<Value, Value> ElementEmitter::emitShardStart(int64_t size, AxesAttr axes, MeshAttr meshAttr) {
  // Nested ceilings, as spmd::shardRange has them.
  spmd::MeshShape mesh = meshAttr.toValue();
  Value start = emitConstant(0), owned = emitConstant(size), zero = emitConstant(0);
  int64_t piece = size;
  for (const spmd::AxisRef &axis : axes.toValues()) {
    int64_t pieces = axis.sizeIn(mesh);
    piece = (piece + pieces - 1) / pieces;
    Value position = emitAxisCoordinate(builder, loc, axis, mesh, hooks.coordinate);
    Value offset = builder.create<arith::MulIOp>(loc, position, emitConstant(piece));
    Value available = builder.create<arith::SubIOp>(loc, owned, offset);
    available = builder.create<arith::MaxSIOp>(loc, available, zero);
    start = builder.create<arith::AddIOp>(loc, start, builder.create<arith::MinSIOp>(loc, offset, owned));
    owned = builder.create<arith::MinSIOp>(loc, available, emitConstant(piece));
  }
  return {start, owned};
}

ElementEmitter::Emitted ElementEmitter::emitPosition(Operation *op) {
  moveTo(0);
  Value result;
  MeshAttr mesh = getMesh(op);
  if (auto start = dyn_cast<ShardStartOp>(op)) {
    result = emitShardStart(start.getSize(), start.getAxes(), mesh).first;
  } else if (auto size = dyn_cast<ShardSizeOp>(op)) {
    result = emitShardStart(size.getSize(), size.getAxes(), mesh).second;
  } else {
    spmd::MeshShape shape = mesh.toValue();
    result = emitConstant(0);
    for (const spmd::AxisRef &axis : cast<AxisIndexOp>(op).getAxes().toValues()) {
      result = builder.create<arith::MulIOp>(loc, result, emitConstant(axis.sizeIn(shape)));
      result =
          builder.create<arith::AddIOp>(loc, result, emitAxisCoordinate(builder, loc, axis, shape, hooks.coordinate));
    }
  }
  return {builder.create<arith::TruncIOp>(loc, builder.getI32Type(), result), 0};
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
  if (std::optional<Emitted> stashed = hooks.stashed(value, index)) {
    result = *stashed;
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
  // Behind a condition only where it holds.
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

ElementEmitter::Emitted ElementEmitter::emitGuarded(Type type, ArrayRef<IndexGuard> guards,
                                                    llvm::function_ref<Value()> inside,
                                                    llvm::function_ref<Value()> outside) {
  Value condition;
  for (const IndexGuard &guard : guards) {
    Value position = emitIndex(guard.expr);
    // One unsigned comparison checks both ends.
    if (guard.low)
      position = builder.create<arith::SubIOp>(loc, position, emitConstant(guard.low));
    Value holds =
        builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, position, emitConstant(guard.high - guard.low));
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
  // Each branch begins anew from the scope in front of it.
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
  // part(begin, end): one of these operands, found by halves.
  std::function<Value(size_t, size_t)> part = [&](size_t begin, size_t end) -> Value {
    if (end - begin == 1) {
      Index partIndex = index;
      partIndex[dim] = space.add(index[dim], -offsets[begin]);
      return emit(op.getOperands()[begin], partIndex);
    }
    size_t middle = begin + (end - begin) / 2;
    IndexRange range = space.rangeOf(index[dim]);
    auto before = [&] { return part(begin, middle); };
    auto behind = [&] { return part(middle, end); };
    if (range.high < offsets[middle])
      return before();
    if (range.low >= offsets[middle])
      return behind();
    return emitGuarded(type, IndexGuard{index[dim], std::min<int64_t>(range.low, 0), offsets[middle]}, before, behind)
        .value;
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
      value = round(builder, loc, elementType, builder.create<arith::SIToFPOp>(loc, type, position.value));
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
    return {round(builder, loc, elementType, value.value), value.depth};
  }
  if (isIndexOp(op)) {
    MappedIndex mapped = schedule.indexing->map(op, index);
    if (mapped.guards.empty())
      return emitAt(op->getOperand(isa<DynamicUpdateSliceOp>(op) ? 1 : 0), std::move(mapped.index));
    Type type = registerType(elementType);
    bool isUpdate = isa<DynamicUpdateSliceOp>(op);
    return emitGuarded(
        type, mapped.guards, [&] { return emit(op->getOperand(isUpdate ? 1 : 0), mapped.index); },
        [&] {
          if (isUpdate)
            return emit(op->getOperand(0), index);
          if (isa<PadOp>(op))
            return emit(op->getOperand(1), {});
          // Behind the end of an all_slice lies padding.
          return isa<FloatType>(type) ? emitFloatConstant(builder, loc, type, 0)
                                      : emitIntConstant(builder, loc, type, 0);
        });
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
    // The bits of half precision are those in memory.
    Type from = bitcast.getOperand().getType().getElementType();
    Value bits = toMemory(builder, loc, from, operands[0]);
    Type memory = memoryType(elementType);
    if (bits.getType() != memory)
      bits = builder.create<arith::BitcastOp>(loc, memory, bits);
    return {fromMemory(builder, loc, elementType, bits), depth};
  }
  Value value = cast<ElementwiseOpInterface>(op).emitScalar(builder, loc, operands);
  if (!isExact(op))
    value = round(builder, loc, elementType, value);
  return {value, depth};
}

} // namespace spmdc
