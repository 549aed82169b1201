//===- CollectiveMatmulBuilder.cpp - emits a collective matmul ------------===//

#include "passes/collectives/CollectiveMatmulBuilder.h"

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/Overlapped.h"

#include <map>

using namespace mlir;

namespace spmdc {
namespace {

/// The index of a step: `number` plus twice the counter of a loop, if there is one.
struct Step {
  int64_t number = 0;
  Value counter;
};

/// The values of a step: the shards or partial sums sent in each direction, and the result and the gathered array as
/// far as they are computed. A value that this collective matmul does not have is null.
struct State {
  Value forward, backward, result, gathered;
};

class CollectiveMatmulBuilder {
public:
  CollectiveMatmulBuilder(const CollectiveMatmul &given, RingDirections way)
      : ring(given), product(ring.product), b(product), index(b, ring.product.getLoc()), devices(ring.work.devices),
        forwardHops(way == RingDirections::Both ? devices / 2 : devices - 1),
        backwardHops(way == RingDirections::Both ? (devices - 1) / 2 : 0) {
    position = b.create<AxisIndexOp>(loc(), index.indexType(), ring.collective.getGroupAxes());
    const int64_t size = ring.isScatter() ? typeOf(ring.collective->getResult(0)).getDimSize(scatterDim())
                                          : typeOf(product->getOperand(side())).getDimSize(ring.dim) / devices;
    shardElements = size;
  }

  Value build() {
    if (ring.sendsDirectly())
      return buildDirect();
    return ring.isScatter() ? buildScatter() : buildGather();
  }
  /// The complete gathered array if it has other uses (`isKept`), else null.
  Value getGathered() const { return gathered; }

private:
  Location loc() { return product.getLoc(); }
  unsigned side() const { return ring.isLhs ? 0 : 1; }
  int64_t scatterDim() { return static_cast<int64_t>(cast<ReduceScatterOp>(ring.collective.getOperation()).getDim()); }
  bool isBidirectional() const { return backwardHops > 0; }
  /// The number of steps that send in every direction that the ring uses.
  int64_t fullSteps() const { return isBidirectional() ? backwardHops : forwardHops; }

  //===--------------------------------------------------------------------===//
  // Parts of the product
  //===--------------------------------------------------------------------===//

  /// A constant, emitted once for the entire collective matmul.
  Value number(int64_t value) {
    Value &known = numbers[value];
    if (!known) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(position);
      known = index.splat({}, value);
    }
    return known;
  }

  /// The offset of the shard at this device's position plus `shift` (modulo the group). `shift` is a constant below the
  /// size of the group, and with a counter it grows or falls by twice the counter.
  Value startOf(int64_t shift, Value counter, bool grows) {
    Value at = position;
    if (shift % devices != 0 || counter)
      at = index.add(at, number(shift));
    if (counter) {
      Value steps = b.create<MultiplyOp>(loc(), counter, number(2));
      at = grows ? index.add(at, steps) : index.subtract(at, steps);
    }
    if (at != position)
      at = b.create<RemainderOp>(loc(), at, number(devices));
    // Positions in an array of which each device has a shard of `shardElements`.
    Type type = getPositionType(b.getContext(), devices * shardElements);
    if (at == position || typeOf(at).getElementType() != type)
      at = b.createOrFold<ConvertOp>(loc(), typeOf(at).withElementType(type), at);
    return index.multiply(at, number(shardElements));
  }

  SmallVector<Value> startsAlong(ArrayType type, int64_t dim, Value start) {
    SmallVector<Value> starts(type.getRank(), Value());
    for (int64_t d = 0; d < type.getRank(); ++d)
      starts[d] = d == dim ? start : number(0);
    return starts;
  }

  Value slice(Value value, int64_t dim, Value start) {
    SmallVector<int64_t> sizes(typeOf(value).getShape());
    sizes[dim] = shardElements;
    return b.create<DynamicSliceOp>(loc(), value, startsAlong(typeOf(value), dim, start), sizes);
  }

  /// Sums of f16 and bf16 stay f32 until the last addend is added.
  Type sumType() {
    Type type = product.getType().getElementType();
    return isHalfFloat(type) ? b.getF32Type() : type;
  }
  Type partType() { return ring.role == MatmulDimRole::Contracted ? sumType() : product.getType().getElementType(); }

  Value multiply(Value lhs, Value rhs, Type elementType) {
    auto type =
        ArrayType::get(DotGeneralOp::inferShape(typeOf(lhs), typeOf(rhs), product.getLhsContract(),
                                                product.getRhsContract(), product.getLhsBatch(), product.getRhsBatch()),
                       elementType);
    return b.create<DotGeneralOp>(loc(), type, lhs, rhs, product.getLhsContract(), product.getRhsContract(),
                                  product.getLhsBatch(), product.getRhsBatch());
  }

  /// The result so far with the product of one gathered shard: stored at its place, or added (contracted dimension).
  Value useGathered(Value result, Value shard, Value start) {
    for (TransposeOp transpose : ring.transposes)
      shard = b.create<TransposeOp>(loc(), shard, transpose.getPerm());
    Value other = product->getOperand(1 - side());
    if (ring.role != MatmulDimRole::Free)
      other = slice(other, ring.otherDim, start);
    Value part = ring.isLhs ? multiply(shard, other, partType()) : multiply(other, shard, partType());
    if (ring.role == MatmulDimRole::Contracted)
      return result ? b.create<AddOp>(loc(), result, part).getResult() : part;
    return put(product.getType(), result, part, ring.resultDim, start);
  }

  /// `full` with `part` stored at `start`; a null `full` stands for zeros of this type.
  Value put(ArrayType type, Value full, Value part, int64_t dim, Value start) {
    if (!full)
      full = b.create<ConstantOp>(loc(), type, Scalar());
    return b.create<DynamicUpdateSliceOp>(loc(), full, part, startsAlong(type, dim, start));
  }

  /// The part of the device's partial sum that the device with this shard will add up.
  Value makePart(Value start) { return makePart(start, partType()); }
  Value makePart(Value start, Type elementType) {
    Value lhs = product.getLhs(), rhs = product.getRhs();
    if (ring.isLhs)
      lhs = slice(lhs, ring.dim, start);
    else
      rhs = slice(rhs, ring.dim, start);
    if (ring.role == MatmulDimRole::Batch)
      rhs = slice(rhs, ring.otherDim, start);
    return multiply(lhs, rhs, elementType);
  }

  Value add(Value x, Value y) { return b.create<AddOp>(loc(), x, y); }

  Value convert(Value value, Type elementType) {
    ArrayType type = typeOf(value).withElementType(elementType);
    return type == value.getType() ? value : b.create<ConvertOp>(loc(), type, value).getResult();
  }

  /// Applies the transposes between the product and the collective, so that users see the collective's layout.
  Value finishScatter(Value result) {
    for (TransposeOp transpose : ring.transposes)
      result = b.create<TransposeOp>(loc(), result, transpose.getPerm());
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  Value pass(Value value, bool isForward) {
    return send(value, isForward ? devices - 1 : 1, "steps around a ring, under the product");
  }

  /// Sends a value to the device `shift` positions further on.
  Value send(Value value, int64_t shift, const std::string &what) {
    SmallVector<int64_t> pairs;
    for (int64_t source = 0; source < devices; ++source)
      pairs.append({source, (source + shift) % devices});
    std::string why = "one of " + std::to_string(devices - 1) + " " + what;
    if (auto given = ring.collective->getAttrOfType<StringAttr>("why"))
      why = (given.getValue() + "; " + why).str();
    auto permute =
        b.create<CollectivePermuteOp>(ring.collective->getLoc(), value.getType(), value, b.getDenseI64ArrayAttr(pairs),
                                      ring.collective.getGroupAxes(), b.getStringAttr(why));
    permute->setAttr(kOverlappedAttrName, b.getUnitAttr());
    return permute;
  }

  /// Emits the steps `first` to `first` + `count` - 1, most of them in a loop, and returns the state after them.
  State repeat(State state, int64_t first, int64_t count, llvm::function_ref<State(State, Step)> makeStep) {
    int64_t pairs = count / 2;
    int64_t done = 0;
    if (pairs > 1) {
      SmallVector<Value> inits = carriesOf(state);
      SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
      auto loop = b.create<ForOp>(loc(), types, 0, pairs, inits);
      {
        OpBuilder::InsertionGuard guard(b);
        Block *body = b.createBlock(&loop.getBody());
        Value counter = body->addArgument(index.indexType(), loc());
        for (Type type : types)
          body->addArgument(type, loc());
        State inside = withCarries(state, loop.getCarries());
        inside = makeStep(inside, {first, counter});
        inside = makeStep(inside, {first + 1, counter});
        b.create<YieldOp>(loc(), carriesOf(inside));
      }
      state = withCarries(state, loop.getOutputs());
      done = 2 * pairs;
    }
    for (; done < count; ++done)
      state = makeStep(state, {first + done, Value()});
    return state;
  }

  static SmallVector<Value> carriesOf(const State &state) {
    SmallVector<Value> carries;
    for (Value value : {state.forward, state.backward, state.result, state.gathered})
      if (value)
        carries.push_back(value);
    return carries;
  }
  static State withCarries(State state, ValueRange carries) {
    for (Value *value : {&state.forward, &state.backward, &state.result, &state.gathered})
      if (*value) {
        *value = carries.front();
        carries = carries.drop_front();
      }
    return state;
  }

  Value buildGather() {
    Value own = ring.collective->getOperand(0);
    // Multiplies with the shards that arrived in a step, while they are sent on to the neighbours.
    auto gather = cast<AllGatherOp>(ring.collective.getOperation());
    auto useOne = [&](State &state, Value shard, Value start) {
      state.result = useGathered(state.result, shard, start);
      if (ring.isKept)
        state.gathered = put(gather.getType(), state.gathered, shard, static_cast<int64_t>(gather.getDim()), start);
    };
    auto use = [&](State &state, Value forward, Value backward, Step step) {
      useOne(state, forward, startOf(step.number, step.counter, true));
      if (backward)
        useOne(state, backward, startOf(devices - step.number, step.counter, false));
    };
    State state{pass(own, true), isBidirectional() ? pass(own, false) : Value(), Value(), Value()};
    use(state, own, Value(), {});
    state = repeat(state, 1, fullSteps() - 1, [&](State now, Step step) {
      State next{pass(now.forward, true), isBidirectional() ? pass(now.backward, false) : Value(), now.result,
                 now.gathered};
      use(next, now.forward, now.backward, step);
      return next;
    });
    if (isBidirectional() && forwardHops > backwardHops) {
      Value last = pass(state.forward, true);
      use(state, state.forward, state.backward, {backwardHops, Value()});
      use(state, last, Value(), {forwardHops, Value()});
    } else {
      use(state, state.forward, state.backward, {forwardHops, Value()});
    }
    gathered = state.gathered;
    return convert(state.result, product.getType().getElementType());
  }

  Value buildScatter() {
    auto forwardPart = [&](Step step) {
      return makePart(startOf(devices - forwardHops + step.number, step.counter, true));
    };
    auto backwardPart = [&](Step step) { return makePart(startOf(backwardHops - step.number, step.counter, false)); };
    // In an even group with two directions, the forward partial sum needs one step more than the backward one.
    int64_t ahead = forwardHops - fullSteps();
    State state{forwardPart({}), Value(), Value(), Value()};
    if (ahead > 0) {
      Value arrived = pass(state.forward, true), part = forwardPart({1, Value()});
      state.backward = backwardPart({});
      state.forward = add(arrived, part);
    } else if (isBidirectional()) {
      state.backward = backwardPart({});
    }
    state = repeat(state, 1, fullSteps() - 1, [&](State now, Step step) {
      State next{pass(now.forward, true), isBidirectional() ? pass(now.backward, false) : Value(), Value(), Value()};
      Value part = forwardPart({step.number + ahead, step.counter});
      Value other = isBidirectional() ? backwardPart(step) : Value();
      next.forward = add(next.forward, part);
      if (other)
        next.backward = add(next.backward, other);
      return next;
    });
    Value forward = pass(state.forward, true);
    Value backward = isBidirectional() ? pass(state.backward, false) : Value();
    Value result = add(forward, forwardPart({forwardHops, Value()}));
    if (backward)
      result = add(result, backward);
    return finishScatter(result);
  }

  /// Sends each partial sum while the next ones are computed. In an even group with two directions, the sum for the
  /// opposite device is sent first, alone. The device's own partial sum is computed last, and is not rounded.
  Value buildDirect() {
    SmallVector<SmallVector<int64_t>> steps;
    for (int64_t hops = forwardHops; hops > 0; --hops) {
      steps.push_back({hops});
      if (hops <= backwardHops)
        steps.back().push_back(devices - hops);
    }
    auto makeParts = [&](ArrayRef<int64_t> shifts) {
      SmallVector<Value> parts;
      for (int64_t shift : shifts)
        parts.push_back(makePart(startOf(shift, Value(), true)));
      return parts;
    };
    Value sum;
    SmallVector<Value> parts = makeParts(steps[0]);
    for (size_t i = 0; i < steps.size(); ++i) {
      SmallVector<Value> arrived;
      for (auto [part, shift] : llvm::zip(parts, steps[i]))
        arrived.push_back(send(part, shift, "partial sums sent directly to their devices, under the product"));
      bool isLast = i + 1 == steps.size();
      parts = isLast ? SmallVector<Value>{makePart(startOf(0, Value(), true), sumType())} : makeParts(steps[i + 1]);
      for (Value each : arrived)
        sum = sum ? add(sum, convert(each, sumType())) : convert(each, sumType());
    }
    return finishScatter(convert(add(sum, parts[0]), product.getType().getElementType()));
  }

  CollectiveMatmul ring; ///< A copy, because its operations must not be const here.
  DotGeneralOp product;
  OpBuilder b;
  LocalBuilder index;
  const int64_t devices, forwardHops, backwardHops;
  int64_t shardElements = 0;
  Value position, gathered;
  std::map<int64_t, Value> numbers;
};

} // namespace

void replaceByCollectiveMatmul(const CollectiveMatmul &ring, RingDirections way) {
  CollectiveMatmulBuilder builder(ring, way);
  Value result = builder.build();
  Operation *collective = ring.collective, *product = ring.product;
  Operation *first = ring.isScatter() ? product : collective, *last = ring.isScatter() ? collective : product;
  last->getResult(0).replaceAllUsesWith(result);
  last->erase();
  for (TransposeOp transpose : llvm::reverse(ring.transposes))
    transpose->erase();
  if (Value gathered = builder.getGathered())
    first->getResult(0).replaceAllUsesWith(gathered);
  first->erase();
}

} // namespace spmdc
