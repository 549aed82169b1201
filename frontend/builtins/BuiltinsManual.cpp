//===- BuiltinsManual.cpp - collectives in shard_map ----------------------===//
//
// Names and semantics are those of jax.lax inside of shard_map. They apply to trees (tuples, structs) leaf by leaf.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"
#include "ir/spmd/ReducePrecision.h"
#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

using spmd::DType;

std::string quoted(const Args &args) { return "'" + std::string(args.function) + "'"; }

AxesAttr axesOf(const Args &args, size_t i) {
  return AxesAttr::get(args.e.builder.getContext(), args[i].partition.front().getAxes());
}

int64_t groupSize(Args &args, AxesAttr axes) {
  MeshAttr mesh = args.e.mesh();
  int64_t size = 1;
  for (const spmd::AxisRef &axis : axes.toValues())
    size *= axis.sizeIn(mesh.toValue());
  return size;
}

/// The reason of the collective, for reports.
mlir::StringAttr why(Args &args) { return args.e.builder.getStringAttr(quoted(args) + " is written here"); }

/// Applies a collective to each array of the first argument.
Value forEachLeaf(Args &args, llvm::function_ref<mlir::Value(mlir::Value, const Value &)> collective) {
  Emitter &e = args.e;
  e.needManual(args.range, args.function);
  e.needManualAxes(args[1], args.function);
  std::vector<Value> leaves;
  for (const Value &leaf : getLeaves(args[0])) {
    if (!leaf.isNumeric())
      e.fail(args[0].range, quoted(args) + " takes arrays, not " + leaf.describe());
    mlir::Value operand = e.materialize(leaf);
    mlir::Block *block = e.builder.getInsertionBlock();
    mlir::Operation *last = block->empty() ? nullptr : &block->back();
    leaves.push_back(args.result(collective(operand, leaf)));
    for (mlir::Operation *made = &block->back(); made != last; made = made->getPrevNode())
      if (mlir::isa<CollectiveOpInterface>(made))
        e.manualRanges[made] = args.range;
  }
  return withLeaves(args[0], leaves);
}

/// A sum over devices, which `build` makes of its operand. With `precision=TYPE` (argument `place`) devices round what
/// they send to that type; the sum keeps the type of the operand. Without it, sums of bf16 and f16 are sent before they
/// are rounded (passes/reductions/WidenSums.h). Integers are exact only in their own type.
mlir::Value inPrecision(Args &args, size_t place, mlir::Value x, llvm::function_ref<mlir::Value(mlir::Value)> build) {
  if (!args.has(place))
    return build(x);
  DType own = plainTypeOf(x).getDType();
  bool isFloat = args[place].kind == ValueKind::Type && args[place].type.getRank() == 0 &&
                 spmd::isFloat(args[place].type.getDType());
  if (!isFloat)
    args.fail(place, "the dtype in which floats are sent, as in precision=bf16");
  if (!spmd::isFloat(own))
    args.e.fail(args[place].range, quoted(args) + " of " + std::string(spmd::dtypeName(own)) +
                                       " takes no precision: only floats are rounded");
  mlir::Value sum = build(args.e.convert(x, args[place].type.getDType()));
  sum.getDefiningOp()->setAttr(kKeepsPrecisionAttrName, args.e.builder.getUnitAttr());
  return args.e.convert(sum, own);
}

mlir::Value allReduce(Args &args, mlir::Value x, ReductionKind kind) {
  return args.e.create<AllReduceOp>(plainTypeOf(x), x, kind, axesOf(args, 1), why(args));
}

/// A sum of bools counts the true ones.
mlir::Value sumOver(Args &args, mlir::Value x) {
  if (plainTypeOf(x).getDType() == DType::Bool)
    x = args.e.convert(x, DType::I32);
  return inPrecision(args, 2, x, [&](mlir::Value sent) { return allReduce(args, sent, ReductionKind::sum); });
}

Value psum(Args &args) {
  return forEachLeaf(args, [&](mlir::Value x, const Value &) { return sumOver(args, x); });
}

Value pmean(Args &args) {
  return forEachLeaf(args, [&](mlir::Value x, const Value &) {
    mlir::Value sum = sumOver(args, x);
    if (!spmd::isFloat(plainTypeOf(sum).getDType()))
      sum = args.e.convert(sum, DType::F32);
    auto size = static_cast<double>(groupSize(args, axesOf(args, 1)));
    return args.e.apply<DivideOp>(sum, args.e.splatLike(sum, size));
  });
}

template <ReductionKind kind> Value extremeOver(Args &args) {
  return forEachLeaf(args, [&](mlir::Value x, const Value &) { return allReduce(args, x, kind); });
}

llvm::SmallVector<int64_t> withDim(mlir::Value x, int64_t dim, int64_t size) {
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  shape[dim] = size;
  return shape;
}

llvm::SmallVector<int64_t> insertOne(mlir::Value x, int64_t dim) {
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  shape.insert(shape.begin() + dim, 1);
  return shape;
}

llvm::SmallVector<int64_t> dropDim(mlir::Value x, int64_t dim) {
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  shape.erase(shape.begin() + dim);
  return shape;
}

/// As in jax.lax.all_gather: stacks along a new dimension `axis`, or concatenates along it if tiled.
Value allGather(Args &args) {
  Emitter &e = args.e;
  return forEachLeaf(args, [&](mlir::Value x, const Value &leaf) {
    AxesAttr axes = axesOf(args, 1);
    bool isTiled = args.flag(3, false);
    int64_t dim = args.axis(2, leaf.rank() + !isTiled, 0);
    if (!isTiled)
      x = e.reshape(x, insertOne(x, dim));
    ArrayType type = plainTypeOf(x);
    return e.create<AllGatherOp>(
        type.withShape(withDim(x, dim, spmd::multiplySaturated(type.getDimSize(dim), groupSize(args, axes)))), x,
        static_cast<uint64_t>(dim), axes, why(args));
  });
}

/// Checks that `dim` has one element for each device of the group, or, if tiled, that the group size divides it.
void checkGroupDivides(Args &args, size_t place, int64_t size, int64_t dim, int64_t group, bool isTiled) {
  const Value &where = args.has(place) ? args[place] : args[0];
  std::string what = "dimension " + std::to_string(dim) + " has " + std::to_string(size) + " elements, the group " +
                     std::to_string(group) + " devices";
  if (isTiled && size % group)
    args.e.fail(where.range, quoted(args) + ": " + what + ", which do not divide it");
  if (!isTiled && size != group)
    args.e.fail(where.range, quoted(args) + ": " + what + "; they must agree, or give tiled=true");
}

/// As in jax.lax.psum_scatter.
Value psumScatter(Args &args) {
  Emitter &e = args.e;
  return forEachLeaf(args, [&](mlir::Value x, const Value &leaf) {
    AxesAttr axes = axesOf(args, 1);
    bool isTiled = args.flag(3, false);
    int64_t dim = args.axis(2, leaf.rank(), 0), group = groupSize(args, axes);
    if (plainTypeOf(x).getDType() == DType::Bool)
      x = e.convert(x, DType::I32);
    ArrayType type = plainTypeOf(x);
    checkGroupDivides(args, 2, type.getDimSize(dim), dim, group, isTiled);
    x = inPrecision(args, 4, x, [&](mlir::Value sent) -> mlir::Value {
      ArrayType shardType = plainTypeOf(sent).withShape(withDim(sent, dim, type.getDimSize(dim) / group));
      return e.create<ReduceScatterOp>(shardType, sent, ReductionKind::sum, static_cast<uint64_t>(dim), axes,
                                       why(args));
    });
    return isTiled ? x : e.reshape(x, dropDim(x, dim));
  });
}

/// Splits along `split` into one slice of one element for each device, and stacks the received slices along a new
/// dimension `concat` of the result.
mlir::Value exchangeSlices(Args &args, mlir::Value x, int64_t split, int64_t concat, AxesAttr axes) {
  Emitter &e = args.e;
  // The position of the new dimension before the split one is removed.
  int64_t place = concat <= split ? concat : concat + 1;
  x = e.reshape(x, insertOne(x, place));
  split += place <= split;
  ArrayType type = plainTypeOf(x);
  llvm::SmallVector<int64_t> shape = withDim(x, place, type.getDimSize(split));
  shape[split] = 1;
  x = e.create<AllToAllOp>(type.withShape(shape), x, static_cast<uint64_t>(split), static_cast<uint64_t>(place), axes,
                           why(args));
  return e.reshape(x, dropDim(x, split));
}

/// As in jax.lax.all_to_all.
Value allToAll(Args &args) {
  Emitter &e = args.e;
  return forEachLeaf(args, [&](mlir::Value x, const Value &leaf) {
    AxesAttr axes = axesOf(args, 1);
    bool isTiled = args.flag(4, false);
    int64_t split = args.axis(2, leaf.rank()), concat = args.axis(3, leaf.rank()), group = groupSize(args, axes);
    ArrayType type = plainTypeOf(x);
    int64_t size = type.getDimSize(split);
    checkGroupDivides(args, 2, size, split, group, isTiled);
    if (!isTiled)
      return exchangeSlices(args, x, split, concat, axes);
    llvm::SmallVector<int64_t> shape = withDim(x, split, size / group);
    shape[concat] = spmd::multiplySaturated(shape[concat], group);
    if (split != concat)
      return e.create<AllToAllOp>(type.withShape(shape), x, static_cast<uint64_t>(split), static_cast<uint64_t>(concat),
                                  axes, why(args));
    // Blocks of one dimension are exchanged: as slices of a dimension of their own.
    llvm::SmallVector<int64_t> blocks = withDim(x, split, size / group);
    blocks.insert(blocks.begin() + split, group);
    return e.reshape(exchangeSlices(args, e.reshape(x, blocks), split, split, axes), shape);
  });
}

/// As in jax.lax.ppermute: a device that is no target gets zeros.
Value ppermute(Args &args) {
  Emitter &e = args.e;
  return forEachLeaf(args, [&](mlir::Value x, const Value &) {
    AxesAttr axes = axesOf(args, 1);
    int64_t group = groupSize(args, axes);
    std::vector<int64_t> pairs;
    std::set<int64_t> sources, targets;
    if (!args[2].isSequence())
      args.fail(2, "a list of pairs (from, to)");
    for (const Value &pair : args[2].elements) {
      if (!pair.isSequence() || pair.elements.size() != 2 || !pair.elements[0].isInt() || !pair.elements[1].isInt())
        e.fail(pair.range, "'perm' of 'ppermute' is a list of pairs (from, to) of integers known while compiling");
      int64_t from = pair.elements[0].constant.i, to = pair.elements[1].constant.i;
      for (int64_t position : {from, to})
        if (position < 0 || position >= group)
          e.fail(pair.range, "position " + std::to_string(position) + " is outside of the group of " +
                                 std::to_string(group) + " devices");
      if (!sources.insert(from).second || !targets.insert(to).second)
        e.fail(pair.range, "each device may send to one device and receive from one: this pair repeats a device");
      pairs.insert(pairs.end(), {from, to});
    }
    return e.create<CollectivePermuteOp>(plainTypeOf(x), x, pairs, axes, why(args));
  });
}

Value axisIndex(Args &args) {
  args.e.needManual(args.range, args.function);
  args.e.needManualAxes(args[0], args.function);
  return args.result(args.e.create<AxisIndexOp>(args.e.arrayType({}, DType::I32), axesOf(args, 0)));
}

Value axisSize(Args &args) { return Value::ofConstant(Constant::ofInt(groupSize(args, axesOf(args, 0))), args.range); }

const Builtin table[] = {
    {"psum", "x @axis_name precision=None", psum},
    {"pmean", "x @axis_name precision=None", pmean},
    {"pmax", "x @axis_name", extremeOver<ReductionKind::max>},
    {"pmin", "x @axis_name", extremeOver<ReductionKind::min>},
    {"all_gather", "x @axis_name axis=0 tiled=false", allGather},
    {"psum_scatter", "x @axis_name scatter_dimension=0 tiled=false precision=None", psumScatter},
    {"all_to_all", "x @axis_name split_axis concat_axis tiled=false", allToAll},
    {"ppermute", "x @axis_name perm", ppermute},
    {"axis_index", "@axis_name", axisIndex},
    {"axis_size", "@axis_name", axisSize},
};

} // namespace

llvm::ArrayRef<Builtin> manualBuiltins() { return table; }

} // namespace spmdc
