//===- ElementPositions.cpp - code for symbolic positions -----------------===//
//
// Emits index expressions: sums of loop variables, their quotients, indices read from an array, and the start of the
// device's shard.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/ElementEmitter.h"
#include "passes/kernel/ScheduleBuilder.h"

#include "ir/array/ScalarEmission.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {

Value ElementEmitter::emitConstant(int64_t value) { return emitIntConstant(builder, loc, builder.getI64Type(), value); }

ElementEmitter::Emitted ElementEmitter::emitIndexAt(const IndexExpr &expr) {
  // Atoms first: their scopes decide the scope of the sum.
  SmallVector<Emitted> atoms;
  unsigned depth = 0;
  for (const auto &[number, coefficient] : expr.terms) {
    const IndexSpace::Atom &atom = schedule.indexing->space.getAtom(number);
    Emitted emitted;
    if (atom.kind == IndexSpace::Atom::Variable) {
      auto known = variables.find(number);
      if (known == variables.end()) {
        // The only variables that are not loop variables are starts of slices, known in the outermost scope.
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
        value = emitDivision(atom, operand.value);
      }
      emitted = {value, operand.depth};
    }
    depth = std::max(depth, emitted.depth);
    atoms.push_back(emitted);
  }
  Value &known = scopes[depth].indices[expr];
  if (known)
    return {known, depth};
  // The terms that outer scopes know are summed there.
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

/// CPUs have no vectors of 64-bit quotients, nor of the upper halves of 64-bit products by which LLVM replaces them.
/// For x below 2^31, x / d is x * m >> k with m = ceil(2^k / d) and k = 31 + ceil(log2 d): m is below 2^32, so that the
/// product of two 32-bit numbers is exact, and (m * d - 2^k) * x < d * 2^31 <= 2^k (Granlund and Montgomery, "Division
/// by invariant integers using multiplication", PLDI 1994, theorem 4.2).
///
/// Remainders by small powers of two are computed so too, with m = 2^k / d + 1. LLVM takes the usual mask for a counter
/// that wraps around: it guards the vectors by a test that it does not, which always fails, so that single elements are
/// computed (exp(x - b) of 8 columns: 2.5 ns an element, and 0.5).
Value ElementEmitter::emitDivision(const IndexSpace::Atom &atom, Value x) {
  constexpr int64_t limit = int64_t(1) << 31;
  int64_t divisor = atom.divisor;
  bool isQuotient = atom.kind == IndexSpace::Atom::FloorDiv;
  bool isPowerOf2 = llvm::isPowerOf2_64(divisor),
       isMasked =
           isPowerOf2 && (isQuotient || divisor >= ScheduleBuilder::kMinLanes); // Longer rows have their own loop.
  if (!hooks.multipliesQuotients || isMasked || divisor >= limit ||
      schedule.indexing->space.rangeOf(atom.operand).high >= limit) {
    if (isQuotient)
      return builder.create<arith::DivUIOp>(loc, x, emitConstant(divisor));
    return builder.create<arith::RemUIOp>(loc, x, emitConstant(divisor));
  }
  unsigned shift = 31 + llvm::Log2_64_Ceil(divisor);
  uint64_t factor = llvm::divideCeil(uint64_t(1) << shift, static_cast<uint64_t>(divisor)) + isPowerOf2;
  Value low = builder.create<arith::AndIOp>(loc, x, emitConstant(UINT32_MAX)); // For LLVM: a product of 32-bit numbers.
  Value product = builder.create<arith::MulIOp>(loc, low, emitConstant(static_cast<int64_t>(factor)),
                                                arith::IntegerOverflowFlags::nuw);
  Value quotient = builder.create<arith::ShRUIOp>(loc, product, emitConstant(shift));
  if (isQuotient)
    return quotient;
  Value multiple = builder.create<arith::MulIOp>(loc, quotient, emitConstant(divisor));
  return builder.create<arith::SubIOp>(loc, x, multiple);
}

ElementEmitter::Emitted ElementEmitter::emitLookup(unsigned atom) {
  const IndexLookup &lookup = schedule.indexing->getLookup(atom);
  Emitted index = emitAt(lookup.indices, lookup.place);
  IndexExpr key;
  key.terms.emplace_back(atom, 1);
  Value &position = scopes[index.depth].indices[key];
  if (!position) {
    moveTo(index.depth);
    position = index.value;
    if (!position.getType().isInteger(64))
      position = builder.create<arith::ExtSIOp>(loc, builder.getI64Type(), position);
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
  if (axis.isFullAxis())
    return position;
  auto constant = [&](int64_t value) { return emitIntConstant(b, loc, b.getI64Type(), value); };
  int64_t minor = mesh.axes[number].size / (axis.preSize * axis.size);
  position = b.create<arith::DivUIOp>(loc, position, constant(minor));
  return b.create<arith::RemUIOp>(loc, position, constant(axis.size));
}

std::pair<Value, Value> ElementEmitter::emitShardStart(int64_t size, AxesAttr axes, MeshAttr meshAttr) {
  // Nested ceilings, as spmd::shardRange computes them.
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
  auto type = cast<IntegerType>(cast<ArrayType>(op->getResult(0).getType()).getElementType());
  if (type.getWidth() < 64)
    result = builder.create<arith::TruncIOp>(loc, type, result);
  return {result, 0};
}

} // namespace spmdc
