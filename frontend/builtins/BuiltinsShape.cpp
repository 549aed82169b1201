//===- BuiltinsShape.cpp - operations that move elements ------------------===//

#include "frontend/builtins/Builtins.h"
#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

std::string quoted(const Args &args) { return "'" + std::string(args.function) + "'"; }

/// The elements of the first argument, an array or keys.
mlir::Value elementsOf(Args &args) { return args.e.elements(args[0].isKey() ? args[0] : args.array(0)); }

/// The shape in IR of elements of the kind of `like`.
llvm::SmallVector<int64_t> elementShape(const Value &like, llvm::ArrayRef<int64_t> shape) {
  return like.isKey() ? Emitter::keyWords(shape) : llvm::SmallVector<int64_t>(shape);
}

/// The shape of all elements in row-major order.
llvm::SmallVector<int64_t> flatShape(const Value &x) {
  return elementShape(x, mlir::ShapedType::getNumElements(x.shape()));
}

/// The result of moving the elements of the first argument: of its kind and dtype, and weak if it is.
Value moved(Args &args, mlir::Value result) {
  return Value::ofSameKind(args[0], result, args[0].dtypeClass().isWeak, args.range);
}

void checkSizes(Args &args, size_t i, llvm::ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size < 0)
      args.e.fail(args[i].range, "a size cannot be negative: " + shapeStr(sizes));
}

Value reshape(Args &args) {
  mlir::Value x = elementsOf(args);
  int64_t count = mlir::ShapedType::getNumElements(args[0].shape());
  std::vector<int64_t> given = args.integers(1);
  llvm::SmallVector<int64_t> shape(given.begin(), given.end());
  int64_t known = 1, unknown = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == -1) {
      if (unknown >= 0)
        args.e.fail(args[1].range, "a shape may have at most one -1: " + shapeStr(shape));
      unknown = i;
    } else if (size < 0 || llvm::MulOverflow(known, size, known)) {
      args.e.fail(args[1].range, "bad size " + std::to_string(size) + " in the shape " + shapeStr(shape));
    }
  }
  auto mismatch = [&] {
    args.e.fail(args.range, "cannot reshape " + args[0].describe() + " (" + std::to_string(count) + " elements) to " +
                                shapeStr(shape) + (unknown >= 0 ? "" : " (" + std::to_string(known) + " elements)"));
  };
  if (unknown >= 0) {
    if (known == 0 || count % known != 0)
      mismatch();
    shape[unknown] = count / known;
  } else if (known != count) {
    mismatch();
  }
  return moved(args, args.e.reshape(x, elementShape(args[0], shape)));
}

Value transpose(Args &args) {
  mlir::Value x = elementsOf(args);
  int64_t rank = args[0].rank();
  llvm::SmallVector<int64_t> perm;
  if (args.has(1)) {
    for (int64_t axis : args.integers(1))
      perm.push_back(args.normalizeAxis(args[1], axis, rank));
    llvm::SmallVector<int64_t> sorted(perm);
    llvm::sort(sorted);
    for (int64_t i = 0; i < rank; ++i)
      if (static_cast<int64_t>(sorted.size()) != rank || sorted[i] != i)
        args.e.fail(args[1].range, shapeStr(perm) + " is not a permutation of the " + std::to_string(rank) +
                                       " dimensions of " + args[0].describe());
  } else {
    for (int64_t i = rank - 1; i >= 0; --i)
      perm.push_back(i);
  }
  if (args[0].isKey())
    perm.push_back(rank);
  return moved(args, args.e.transpose(x, perm));
}

Value broadcastTo(Args &args) {
  mlir::Value x = elementsOf(args);
  std::vector<int64_t> shape = args.integers(1);
  checkSizes(args, 1, shape);
  llvm::ArrayRef<int64_t> own = args[0].shape();
  bool fits = own.size() <= shape.size();
  for (size_t fromEnd = 1; fits && fromEnd <= own.size(); ++fromEnd) {
    int64_t size = own[own.size() - fromEnd];
    fits = size == 1 || size == shape[shape.size() - fromEnd];
  }
  if (!fits)
    args.e.fail(args.range, args[0].describe() + " does not broadcast to " + shapeStr(shape));
  return moved(args, args.e.broadcastTo(x, elementShape(args[0], shape)));
}

Value expandDims(Args &args) {
  mlir::Value x = elementsOf(args);
  llvm::ArrayRef<int64_t> shape = args[0].shape();
  std::vector<int64_t> given = args.integers(1);
  int64_t rank = shape.size() + given.size();
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis : given) {
    axes.push_back(args.normalizeAxis(args[1], axis, rank));
    if (llvm::count(axes, axes.back()) > 1)
      args.e.fail(args[1].range, "axis " + std::to_string(axis) + " is named twice");
  }
  llvm::SmallVector<int64_t> expanded;
  for (int64_t i = 0; i < rank; ++i) {
    bool isNew = llvm::is_contained(axes, i);
    expanded.push_back(isNew ? 1 : shape.front());
    if (!isNew)
      shape = shape.drop_front();
  }
  return moved(args, args.e.reshape(x, elementShape(args[0], expanded)));
}

Value squeeze(Args &args) {
  mlir::Value x = elementsOf(args);
  llvm::ArrayRef<int64_t> shape = args[0].shape();
  auto axes = args.axes(1, shape.size());
  llvm::SmallVector<int64_t> squeezed;
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool isNamed = llvm::is_contained(axes, static_cast<int64_t>(i));
    if (isNamed && size != 1 && args.has(1))
      args.e.fail(args[1].range, "dimension " + std::to_string(i) + " of " + args[0].describe() + " is not of size 1");
    if (!isNamed || size != 1)
      squeezed.push_back(size);
  }
  return moved(args, args.e.reshape(x, elementShape(args[0], squeezed)));
}

/// The argument, which is a list of arrays or of keys.
std::vector<Value> concatenationArguments(Args &args) {
  if (!args[0].isSequence() || args[0].elements.empty() || !args[0].elements[0].isKey())
    return args.arrays(0);
  for (const Value &part : args[0].elements)
    if (!part.isKey())
      args.e.fail(part.range, "random keys can only be concatenated with random keys, not with " + part.describe());
  return args[0].elements;
}

/// Concatenates arrays in their common dtype along a dimension that each of them has after a reshape to its `shape`.
Value joined(Args &args, const std::vector<Value> &parts, int64_t axis,
             llvm::function_ref<llvm::SmallVector<int64_t>(const Value &)> shape) {
  DTypeClass type;
  if (!parts[0].isKey())
    type = args.e.commonClass(parts, quoted(args));
  llvm::SmallVector<mlir::Value> arrays;
  for (const Value &part : parts)
    arrays.push_back(args.e.reshape(part.isKey() ? part.array : args.e.materialize(part, type.dtype),
                                    elementShape(part, shape(part))));
  return Value::ofSameKind(parts[0], args.e.concatenate(arrays, axis), type.isWeak, args.range);
}

Value concatenate(Args &args) {
  std::vector<Value> parts = concatenationArguments(args);
  int64_t rank = parts[0].rank();
  if (rank == 0)
    args.e.fail(args.range, "'concatenate' does not take scalars; use 'stack'");
  int64_t axis = args.axis(1, rank, 0);
  for (const Value &part : parts) {
    bool fits = part.rank() == rank;
    for (int64_t i = 0; fits && i < rank; ++i)
      fits = i == axis || part.shape()[i] == parts[0].shape()[i];
    if (!fits)
      args.e.fail(part.range, "arrays concatenated along axis " + std::to_string(axis) +
                                  " must agree in all other dimensions: " + shapeStr(parts[0].shape()) + " and " +
                                  shapeStr(part.shape()));
  }
  return joined(args, parts, axis, [](const Value &part) { return llvm::SmallVector<int64_t>(part.shape()); });
}

Value stack(Args &args) {
  std::vector<Value> parts = concatenationArguments(args);
  int64_t axis = args.axis(1, parts[0].rank() + 1, 0);
  for (const Value &part : parts)
    if (part.shape() != parts[0].shape())
      args.e.fail(part.range, "stacked arrays must have one shape: " + shapeStr(parts[0].shape()) + " and " +
                                  shapeStr(part.shape()));
  return joined(args, parts, axis, [axis](const Value &part) {
    llvm::SmallVector<int64_t> shape(part.shape());
    shape.insert(shape.begin() + axis, 1);
    return shape;
  });
}

/// Splits into n equal parts, or at the given positions.
Value split(Args &args) {
  if (args[0].isKey())
    return splitKey(args);
  mlir::Value x = args.e.materialize(args.array(0));
  if (!args.has(1))
    args.e.fail(args.range, "'split' of an array needs an argument for 'n'");
  int64_t axis = args.axis(2, args[0].rank(), 0);
  int64_t size = args[0].shape()[axis];
  std::vector<int64_t> bounds{0};
  if (args[1].isSequence()) {
    for (int64_t bound : args.integers(1))
      bounds.push_back(std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size));
  } else {
    int64_t parts = args.integer(1);
    if (parts < 1 || size % parts != 0)
      args.e.fail(args[1].range, "dimension " + std::to_string(axis) + " of " + args[0].describe() +
                                     " does not split into " + std::to_string(parts) + " equal parts");
    for (int64_t i = 1; i < parts; ++i)
      bounds.push_back(i * (size / parts));
  }
  bounds.push_back(size);
  Value result;
  result.kind = ValueKind::Tuple;
  for (size_t i = 0; i + 1 < bounds.size(); ++i)
    result.elements.push_back(moved(args, args.e.sliceDim(x, axis, bounds[i], std::max(bounds[i], bounds[i + 1]))));
  return result;
}

/// jnp.pad's widths: one number, one pair for all dimensions, or a pair for each.
llvm::SmallVector<std::pair<int64_t, int64_t>> padWidths(Args &args, int64_t rank) {
  const Value &widths = args[1];
  auto integer = [&](const Value &value) {
    if (!value.isInt() || value.constant.i < 0)
      args.e.fail(value.range, "a pad width is an integer of at least 0, not " + value.describe());
    return value.constant.i;
  };
  auto pair = [&](const Value &value) {
    if (!value.isSequence())
      return std::pair(integer(value), integer(value));
    if (value.elements.size() == 1)
      return std::pair(integer(value.elements[0]), integer(value.elements[0]));
    if (value.elements.size() != 2)
      args.e.fail(value.range, "a pad width is a pair (low, high)");
    return std::pair(integer(value.elements[0]), integer(value.elements[1]));
  };
  llvm::SmallVector<std::pair<int64_t, int64_t>> result;
  bool isForEach = widths.isSequence() && llvm::any_of(widths.elements, [](const Value &v) { return v.isSequence(); });
  if (!isForEach || widths.elements.size() == 1) {
    result.assign(rank, pair(isForEach ? widths.elements[0] : widths));
    return result;
  }
  if (static_cast<int64_t>(widths.elements.size()) != rank)
    args.e.fail(widths.range, std::to_string(widths.elements.size()) + " pairs of pad widths for " +
                                  args[0].describe() + " of rank " + std::to_string(rank));
  for (const Value &element : widths.elements)
    result.push_back(pair(element));
  return result;
}

Value pad(Args &args) {
  mlir::Value x = args.e.materialize(args.array(0));
  ArrayType type = plainTypeOf(x);
  auto widths = padWidths(args, type.getRank());
  mlir::Value value;
  if (args.has(2)) {
    if (args.array(2).rank() != 0)
      args.fail(2, "a scalar");
    // The result has the array's dtype, as in jnp.pad.
    value = args.e.truncated(args[2], type.getDType());
  } else {
    value = args.e.splat(type.withShape({}), 0.0);
  }
  llvm::SmallVector<int64_t> low, high, interior(type.getRank(), 0), shape;
  for (auto [size, width] : llvm::zip(type.getShape(), widths)) {
    low.push_back(width.first);
    high.push_back(width.second);
    shape.push_back(spmd::addSaturated(size, spmd::addSaturated(width.first, width.second)));
  }
  if (type.getShape().equals(shape))
    return moved(args, x);
  return moved(args, args.e.create<PadOp>(type.withShape(shape), x, value, low, high, interior));
}

Value flip(Args &args) {
  mlir::Value x = elementsOf(args);
  return moved(args, args.e.reverse(x, args.axes(1, args[0].rank())));
}

mlir::Value rollDim(Emitter &e, mlir::Value x, int64_t dim, int64_t shift) {
  int64_t size = plainTypeOf(x).getDimSize(dim);
  if (size == 0)
    return x;
  shift = ((shift % size) + size) % size;
  if (shift == 0)
    return x;
  return e.concatenate({e.sliceDim(x, dim, size - shift, size), e.sliceDim(x, dim, 0, size - shift)}, dim);
}

/// Rolls along each axis by its own shift; without an axis, in row-major order.
Value roll(Args &args) {
  mlir::Value x = elementsOf(args);
  std::vector<int64_t> shifts = args.integers(1);
  if (!args.has(2)) {
    if (shifts.size() != 1)
      args.fail(1, "one integer where no axis is given");
    mlir::Value flat = args.e.reshape(x, flatShape(args[0]));
    return moved(args, args.e.reshape(rollDim(args.e, flat, 0, shifts[0]), plainTypeOf(x).getShape()));
  }
  std::vector<int64_t> axes = args.integers(2);
  if (shifts.size() != axes.size() && shifts.size() != 1 && axes.size() != 1)
    args.e.fail(args.range, std::to_string(shifts.size()) + " shifts for " + std::to_string(axes.size()) + " axes");
  for (size_t i = 0; i < std::max(shifts.size(), axes.size()); ++i)
    x = rollDim(args.e, x, args.normalizeAxis(args[2], axes[axes.size() == 1 ? 0 : i], args[0].rank()),
                shifts[shifts.size() == 1 ? 0 : i]);
  return moved(args, x);
}

/// Up to this many copies of an array are concatenated; more are a broadcast.
constexpr int64_t kMaxCopies = 8;

/// Repeats the array `counts[d]` times along dimension d: [a, b] -> [a, b, a, b].
Value tile(Args &args) {
  mlir::Value x = elementsOf(args);
  std::vector<int64_t> counts = args.integers(1);
  checkSizes(args, 1, counts);
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  if (args[0].isKey())
    counts.push_back(1);
  while (counts.size() < shape.size())
    counts.insert(counts.begin(), 1);
  while (shape.size() < counts.size())
    shape.insert(shape.begin(), 1);
  // A few copies are concatenated: a sharded dimension keeps its axes, and patterns on slices apply to the copies.
  for (size_t dim = 0; dim < counts.size(); ++dim)
    if (shape[dim] > 1 && counts[dim] > 1 && counts[dim] <= kMaxCopies) {
      x = args.e.reshape(x, shape);
      x = args.e.concatenate(llvm::SmallVector<mlir::Value>(counts[dim], x), dim);
      shape[dim] *= counts[dim];
      counts[dim] = 1;
    }
  // [n, m] -> [1, n, 1, m] -> [c, n, d, m] -> [c*n, d*m].
  llvm::SmallVector<int64_t> spread, repeated, result;
  for (auto [size, count] : llvm::zip(shape, counts)) {
    spread.append({1, size});
    repeated.append({count, size});
    result.push_back(spmd::multiplySaturated(size, count));
  }
  if (llvm::all_of(counts, [](int64_t count) { return count == 1; }))
    return moved(args, args.e.reshape(x, shape));
  return moved(args, args.e.reshape(args.e.broadcastTo(args.e.reshape(x, spread), repeated), result));
}

/// Repeats each element n times in place: [a, b] -> [a, a, b, b].
Value repeat(Args &args) {
  mlir::Value x = elementsOf(args);
  int64_t count = args.integer(1);
  if (count < 0)
    args.fail(1, "at least 0");
  if (!args.has(2) || args[0].rank() == 0)
    x = args.e.reshape(x, flatShape(args[0]));
  int64_t axis = args.has(2) && args[0].rank() > 0 ? args.axis(2, args[0].rank()) : 0;
  llvm::SmallVector<int64_t> shape(plainTypeOf(x).getShape());
  llvm::SmallVector<int64_t> spread(shape), repeated(shape);
  spread.insert(spread.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, count);
  shape[axis] *= count;
  return moved(args, args.e.reshape(args.e.broadcastTo(args.e.reshape(x, spread), repeated), shape));
}

Value shard(Args &args) {
  if (args[1].kind != ValueKind::Partition)
    args.fail(1, "a sharding P(...)");
  mlir::Value x = elementsOf(args);
  ShardingAttr sharding = args.e.shardingFrom(args[1], args[0].rank());
  if (args[0].isKey())
    sharding = args.e.keyWords(sharding);
  return moved(args, args.e.constrain(x, sharding, args[1].range));
}

/// x with the sharding of y: a copy of x and y join a group, which propagation shards alike. x itself is not a member,
/// so that annotations of x, or of an equal expression elsewhere, do not conflict with y; the group's number separates
/// values of two groups with the same operands.
Value like(Args &args) {
  Emitter &e = args.e;
  if (e.isManual && !e.hasAutomaticAxes())
    e.fail(args.range, "inside of shard_map arrays are local to a device and cannot have a sharding");
  if (args.array(0).shape() != args.array(1).shape())
    e.failAbout(args.range,
                "'like' takes arrays of one shape: " + shapeStr(args[0].shape()) + " and " + shapeStr(args[1].shape()),
                {args[0], args[1]});
  mlir::Value x = e.materialize(args[0]), y = e.materialize(args[1]);
  uint64_t group = e.nextShardingGroup++;
  auto alike = e.builder.create<ConstraintOp>(e.loc(), plainTypeOf(x), x);
  alike->setAttr("spmd.group", e.builder.getI64IntegerAttr(static_cast<int64_t>(group)));
  for (mlir::Value member : {mlir::Value(alike.getResult()), y})
    e.builder.create<ShardingGroupOp>(e.loc(), member, group);
  return moved(args, alike.getResult());
}

const Builtin table[] = {
    {"reshape", "x shape", reshape},
    {"transpose", "x perm=None", transpose},
    {"broadcast_to", "x shape", broadcastTo},
    {"expand_dims", "x axis", expandDims},
    {"squeeze", "x axis=None", squeeze},
    {"concatenate", "xs axis=0", concatenate},
    {"stack", "xs axis=0", stack},
    {"split", "x n=None axis=0", split},
    {"pad", "x widths constant_values=0", pad},
    {"flip", "x axis=None", flip},
    {"roll", "x n axis=None", roll},
    {"tile", "x counts", tile},
    {"repeat", "x n axis=None", repeat},
    {"shard", "x sharding", shard},
    {"like", "x y", like},
};

} // namespace

llvm::ArrayRef<Builtin> shapeBuiltins() { return table; }

} // namespace spmdc
