//===- Matrix.cpp - formulas over arrays of matrices ----------------------===//

#include "frontend/stablehlo/linear/Matrix.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

//===- Parts --------------------------------------------------------------===//

SmallVector<Value> Matrix::parts() const {
  return imaginary ? SmallVector<Value>{array, imaginary} : SmallVector<Value>{array};
}

SmallVector<int64_t> Matrix::batch() const {
  SmallVector<int64_t> sizes(shape());
  sizes.erase(sizes.begin() + static_cast<int64_t>(rowDim()), sizes.begin() + static_cast<int64_t>(rowDim()) + 2);
  return sizes;
}

/// The matrix of both parts changed alike.
Matrix Matrix::each(llvm::function_ref<Value(Value)> change) const {
  Value first = change(array);
  return with(first, imaginary ? change(imaginary) : Value());
}

Matrix Matrix::numbers(size_t dim) const {
  SmallVector<int64_t> counted(rank(), 1);
  counted[dim] = shape()[dim];
  return with(t->iota(counted, static_cast<int64_t>(dim)));
}

Matrix Matrix::rows(int64_t begin, int64_t end) const {
  auto dim = static_cast<int64_t>(rowDim());
  return each([&](Value part) { return t->sliceDim(part, dim, begin, end); });
}

Matrix Matrix::columns(int64_t begin, int64_t end) const {
  auto dim = static_cast<int64_t>(columnDim());
  return each([&](Value part) { return t->sliceDim(part, dim, begin, end); });
}

static SmallVector<Value> startsAt(const Matrix &position, size_t dim, size_t rank) {
  SmallVector<Value> starts(rank, position.translation().splatLike(position.get(), 0));
  starts[dim] = position.get();
  return starts;
}

Matrix Matrix::window(size_t dim, const Matrix &position, int64_t count) const {
  SmallVector<int64_t> sizes(shape());
  sizes[dim] = count;
  SmallVector<Value> starts = startsAt(position, dim, rank());
  return each([&](Value part) { return t->create<spmdc::DynamicSliceOp>(part, starts, sizes); });
}

Matrix Matrix::replace(size_t dim, const Matrix &position, const Matrix &by) const {
  SmallVector<Value> starts = startsAt(position, dim, rank());
  auto write = [&](const Matrix &x, const Matrix &y) {
    return t->create<spmdc::DynamicUpdateSliceOp>(x.get(), y.get(), starts).getResult();
  };
  Value first = write(re(), by.re());
  return with(first, isComplex() || by.isComplex() ? write(im(), by.im()) : Value());
}

Matrix Matrix::takeRows(const Matrix &positions) const {
  auto dim = static_cast<int64_t>(rowDim());
  if (rank() == 2) {
    Value list = t->reshape(positions.get(), {positions.rows()});
    return each([&](Value part) { return t->create<spmdc::TakeOp>(part, list, dim); });
  }
  SmallVector<int64_t> full(shape());
  full[dim] = positions.rows();
  Value wide = t->broadcast(positions.get(), full, llvm::to_vector(llvm::seq<int64_t>(0, full.size())));
  return each([&](Value part) { return t->create<spmdc::TakeAlongOp>(part, wide, dim); });
}

Matrix Matrix::sortedPositions(bool isDescending) const {
  return with(t->create<spmdc::ArgsortOp>(array, static_cast<int64_t>(rowDim()), isDescending));
}

Matrix Matrix::transposed() const {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank()));
  std::swap(perm[rowDim()], perm[columnDim()]);
  return each([&](Value part) { return t->transpose(part, perm); });
}

Matrix Matrix::conjugated() const { return imaginary ? Matrix(re(), -im()) : *this; }

Matrix Matrix::converted(Type type) const {
  return each([&](Value part) { return t->convert(part, type); });
}

Matrix Matrix::reshaped(ArrayRef<int64_t> to) const {
  return each([&](Value part) { return t->reshape(part, to); });
}

Matrix Matrix::regrouped(size_t dims, std::initializer_list<int64_t> sizes) const {
  SmallVector<int64_t> to(shape().drop_back(laneDims + dims));
  to.append(sizes);
  llvm::append_range(to, shape().take_back(laneDims));
  return reshaped(to);
}

Matrix Matrix::filled(double value) const {
  return with(t->splatLike(array, value), imaginary ? t->splatLike(array, 0) : Value());
}

Matrix Matrix::paddedRows(int64_t above, int64_t below) const {
  SmallVector<int64_t> low(rank(), 0), high(rank(), 0), interior(rank(), 0);
  low[rowDim()] = above;
  high[rowDim()] = below;
  Value zero = t->splat(ArrayType::get({}, elementType()), 0);
  return each([&](Value part) { return t->pad(part, zero, low, high, interior); });
}

Matrix Matrix::lowerTriangle(int64_t offset) const {
  Matrix row = rowNumbers();
  return select((offset ? row + static_cast<double>(offset) : row) >= columnNumbers(), *this, 0);
}

Matrix Matrix::upperTriangle() const { return select(columnNumbers() >= rowNumbers(), *this, 0); }

Matrix Matrix::diagonal() const {
  int64_t size = std::min(rows(), columns());
  Matrix square = block(0, size, 0, size);
  return select(square.rowNumbers() == square.columnNumbers(), square, 0).reduceRows(ReductionKind::sum).transposed();
}

Matrix Matrix::hermitian() const {
  Matrix row = rowNumbers(), column = columnNumbers(), both = select(row >= column, *this, adjoint());
  return imaginary ? select(row == column, both.re(), both) : both;
}

Matrix Matrix::reduce(ReductionKind kind, size_t dim) const {
  SmallVector<int64_t> kept(shape());
  kept[dim] = 1;
  return each([&](Value part) {
    Value reduced = t->create<spmdc::ReduceOp>(part, kind, ArrayRef<int64_t>{static_cast<int64_t>(dim)});
    return t->reshape(reduced, kept);
  });
}

Matrix Matrix::largest() const {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank()));
  return {*t, t->create<spmdc::ReduceOp>(array, ReductionKind::max, dims)};
}

//===- Formulas -----------------------------------------------------------===//

/// Repeats dimensions of size 1, and scalars.
static Value repeatTo(Translation &t, Value array, ArrayRef<int64_t> shape) {
  return t.broadcast(array, shape, llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(array).size())));
}

static SmallVector<int64_t> commonShape(ArrayRef<Value> arrays) {
  SmallVector<int64_t> common;
  for (Value array : arrays) {
    common.resize(std::max(common.size(), shapeOf(array).size()), 1);
    for (auto [dim, size] : llvm::enumerate(shapeOf(array)))
      if (size != 1)
        common[dim] = size;
  }
  return common;
}

/// The one whose order of dimensions the result has: a scalar may have any.
static const Matrix &orderOf(const Matrix &x, const Matrix &y) { return x.lanes() >= y.lanes() ? x : y; }

/// Of the real parts.
template <typename Op> static Matrix apply(const Matrix &x, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({x.get(), y.get()});
  return orderOf(x, y).with(t.create<Op>(repeatTo(t, x.get(), shape), repeatTo(t, y.get(), shape)));
}

/// Of both parts.
template <typename Op> static Matrix applyPartwise(const Matrix &x, const Matrix &y) {
  Matrix re = apply<Op>(x, y);
  return x.isComplex() || y.isComplex() ? Matrix(re, apply<Op>(x.im(), y.im())) : re;
}

Matrix operator+(const Matrix &x, const Matrix &y) { return applyPartwise<spmdc::AddOp>(x, y); }
Matrix operator-(const Matrix &x, const Matrix &y) { return applyPartwise<spmdc::SubtractOp>(x, y); }
Matrix operator&(const Matrix &x, const Matrix &y) { return apply<spmdc::AndOp>(x, y); }
Matrix operator|(const Matrix &x, const Matrix &y) { return apply<spmdc::OrOp>(x, y); }

Matrix operator*(const Matrix &x, const Matrix &y) {
  if (!x.isComplex() && y.isComplex())
    return y * x;
  Matrix re = apply<spmdc::MultiplyOp>(x, y);
  if (!x.isComplex())
    return re;
  if (!y.isComplex())
    return {re, x.im() * y};
  return {re - x.im() * y.im(), x.re() * y.im() + x.im() * y.re()};
}

Matrix operator/(const Matrix &x, const Matrix &y) {
  if (!y.isComplex()) {
    Matrix re = apply<spmdc::DivideOp>(x, y);
    return x.isComplex() ? Matrix(re, x.im() / y) : re;
  }
  // By the larger part of y first.
  Matrix isTall = map<spmdc::AbsOp>(y.im()) > map<spmdc::AbsOp>(y.re());
  Matrix high = select(isTall, y.im(), y.re()), low = select(isTall, y.re(), y.im());
  Matrix quotient = low / high, divisor = high + low * quotient;
  Matrix re = select(isTall, x.re() * quotient + x.im(), x.re() + x.im() * quotient);
  Matrix im = select(isTall, x.im() * quotient - x.re(), x.im() - x.re() * quotient);
  return {re / divisor, im / divisor};
}

Matrix compare(const Matrix &x, spmdc::ComparisonDirection direction, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({x.get(), y.get()});
  Matrix re = orderOf(x, y).with(t.compare(repeatTo(t, x.get(), shape), direction, repeatTo(t, y.get(), shape)));
  return x.isComplex() || y.isComplex() ? re & compare(x.im(), direction, y.im()) : re;
}

Matrix select(const Matrix &predicate, const Matrix &x, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({predicate.get(), x.get(), y.get()});
  Value chosen = repeatTo(t, predicate.get(), shape);
  auto choose = [&](const Matrix &onTrue, const Matrix &onFalse) {
    return t.select(chosen, repeatTo(t, onTrue.get(), shape), repeatTo(t, onFalse.get(), shape));
  };
  return orderOf(predicate, orderOf(x, y))
      .with(choose(x, y), x.isComplex() || y.isComplex() ? choose(x.im(), y.im()) : Value());
}

Matrix absolute(const Matrix &x) {
  Matrix re = map<spmdc::AbsOp>(x);
  if (!x.isComplex())
    return re;
  Matrix im = map<spmdc::AbsOp>(x.im()), high = select(re > im, re, im), low = select(re > im, im, re);
  Matrix ratio = low / select(high == 0, 1, high);
  return high * map<spmdc::SqrtOp>(ratio * ratio + 1);
}

Matrix squaredSize(const Matrix &x) { return x.isComplex() ? x.re() * x.re() + x.im() * x.im() : x * x; }

double epsilonOf(Type type) {
  return type.isF64() ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Matrix materialized(const Matrix &x) {
  Matrix re = map<spmdc::OptimizationBarrierOp>(x);
  return x.isComplex() ? Matrix(re, map<spmdc::OptimizationBarrierOp>(x.im())) : re;
}

Matrix powerOfTwoOf(const Matrix &x) {
  // Within these bounds neither the power nor its quotients by other floats are subnormal.
  double most = x.elementType().isF64() ? 1000 : 120;
  Matrix isFinite = (x > 0) & (x * 0 == 0), exponent = map<spmdc::CeilOp>(map<spmdc::Log2Op>(select(isFinite, x, 1)));
  exponent = select(exponent > most, most, exponent);
  return map<spmdc::Exp2Op>(select(exponent < -most, -most, exponent));
}

/// The product of real matrices in lanes, a sum of element-wise products: the library multiplies matrices one by one.
static Matrix multiplyLanes(const Matrix &x, const Matrix &y) {
  Translation &t = x.translation();
  // [blocks..., rows, k, columns, batch...], of which the sum over k is taken.
  auto widened = [&](const Matrix &part, size_t dim) {
    SmallVector<int64_t> shape(part.shape());
    shape.insert(shape.begin() + static_cast<int64_t>(dim), 1);
    return part.reshaped(shape);
  };
  Matrix products = widened(x, x.columnDim() + 1) * widened(y, y.rowDim());
  SmallVector<int64_t> summed{static_cast<int64_t>(x.columnDim())};
  return x.with(t.create<spmdc::ReduceOp>(products.get(), ReductionKind::sum, summed));
}

Matrix multiply(const Matrix &x, const Matrix &y, bool adjointX, bool adjointY) {
  auto rank = static_cast<int64_t>(x.rank());
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  auto productOf = [&](const Matrix &left, const Matrix &right) -> Matrix {
    if (x.lanes() > 0)
      return multiplyLanes(adjointX ? left.re().transposed() : left.re(),
                           adjointY ? right.re().transposed() : right.re());
    return {x.translation(), product(x.translation(), left.get(), right.get(), x.elementType(),
                                     {rank - (adjointX ? 2 : 1)}, {rank - (adjointY ? 1 : 2)}, batch, batch)};
  };
  Matrix re = productOf(x, y);
  if (!x.isComplex() && !y.isComplex())
    return re;
  // The imaginary parts have other signs in adjoint matrices.
  Matrix left = adjointX ? -x.im() : x.im(), right = adjointY ? -y.im() : y.im();
  if (!x.isComplex())
    return {re, productOf(x, right)};
  if (!y.isComplex())
    return {re, productOf(left, y)};
  return {re - productOf(left, right), productOf(x, right) + productOf(left, y)};
}

static Matrix stack(ArrayRef<Matrix> parts, size_t dim) {
  Translation &t = parts.front().translation();
  SmallVector<Matrix> filled;
  for (const Matrix &part : parts)
    if (part.shape()[dim] != 0)
      filled.push_back(part);
  if (filled.empty())
    return parts.front();
  auto join = [&](llvm::function_ref<Value(const Matrix &)> partOf) {
    return t.concatenate(llvm::map_to_vector(filled, partOf), static_cast<int64_t>(dim));
  };
  bool isComplex = llvm::any_of(filled, [](const Matrix &part) { return part.isComplex(); });
  Value re = join([](const Matrix &part) { return part.get(); });
  return filled.front().with(re, isComplex ? join([](const Matrix &part) { return part.im().get(); }) : Value());
}

Matrix stackRows(ArrayRef<Matrix> parts) { return stack(parts, parts.front().rowDim()); }
Matrix stackColumns(ArrayRef<Matrix> parts) { return stack(parts, parts.front().columnDim()); }

//===- Loops and shardings ------------------------------------------------===//

/// Values as matrices that are complex where those of `like` are.
static Matrices wrap(ValueRange values, ArrayRef<Matrix> like) {
  Matrices matrices;
  for (const Matrix &matrix : like) {
    size_t size = matrix.isComplex() ? 2 : 1;
    matrices.push_back(size == 2 ? matrix.with(values[0], values[1]) : matrix.with(values[0]));
    values = values.drop_front(size);
  }
  return matrices;
}

static SmallVector<Value> unwrap(ArrayRef<Matrix> matrices, ArrayRef<Matrix> like) {
  SmallVector<Value> values;
  for (auto [matrix, other] : llvm::zip_equal(matrices, like)) {
    values.push_back(matrix.get());
    if (other.isComplex())
      values.push_back(matrix.im().get());
  }
  return values;
}

/// Makes a region of a loop of these arguments, which yields what `body` computes of them.
static void fill(Translation &t, Region &region, ArrayRef<Type> arguments,
                 llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  Block &block = region.emplaceBlock();
  block.addArguments(arguments, SmallVector<Location>(arguments.size(), t.loc));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(&block);
  t.create<YieldOp>(body(block.getArguments()));
}

Matrices repeat(int64_t count, const Matrices &initials,
                llvm::function_ref<Matrices(const Matrix &, ArrayRef<Matrix>)> body) {
  Translation &t = initials.front().translation();
  SmallVector<Value> carries = unwrap(initials, initials);
  SmallVector<Type> types = llvm::map_to_vector(carries, [](Value value) -> Type { return plainTypeOf(value); });
  auto loop = t.create<ForOp>(types, 0, count, carries);
  SmallVector<Type> arguments{ArrayType::get({}, t.b.getI32Type())};
  llvm::append_range(arguments, types);
  fill(t, loop.getBody(), arguments, [&](ValueRange values) {
    return unwrap(body(Matrix(t, values.front()), wrap(values.drop_front(), initials)), initials);
  });
  return wrap(loop->getResults(), initials);
}

Matrices repeatWhile(const Matrices &initials, llvm::function_ref<Matrix(ArrayRef<Matrix>)> condition,
                     llvm::function_ref<Matrices(ArrayRef<Matrix>)> body) {
  Translation &t = initials.front().translation();
  SmallVector<Value> carries = unwrap(initials, initials);
  SmallVector<Type> types = llvm::map_to_vector(carries, [](Value value) -> Type { return plainTypeOf(value); });
  auto loop = t.create<spmdc::WhileOp>(types, carries);
  fill(t, loop.getCondition(), types,
       [&](ValueRange values) { return SmallVector<Value>{condition(wrap(values, initials)).get()}; });
  fill(t, loop.getBody(), types, [&](ValueRange values) { return unwrap(body(wrap(values, initials)), initials); });
  return wrap(loop->getResults(), initials);
}

int64_t blockSizeOf(int64_t columns) {
  constexpr int64_t kSmallest = 32, kMostBlocks = 16;
  return std::max(kSmallest, (columns + kMostBlocks - 1) / kMostBlocks);
}

int64_t blockSizeOf(const Matrix &like, int64_t columns) {
  constexpr int64_t kInLanes = 8;
  return like.lanes() > 0 ? kInLanes : blockSizeOf(columns);
}

Matrix withBatchInLanes(const Matrix &matrix) {
  auto batch = static_cast<int64_t>(matrix.rank()) - 2;
  if (matrix.lanes() > 0 || batch == 0)
    return matrix;
  SmallVector<int64_t> order{batch, batch + 1};
  llvm::append_range(order, llvm::seq<int64_t>(0, batch));
  Translation &t = matrix.translation();
  return {t, t.transpose(matrix.get(), order), matrix.isComplex() ? t.transpose(matrix.im().get(), order) : Value(),
          static_cast<size_t>(batch)};
}

Matrix withBatchFirst(const Matrix &matrix) {
  if (matrix.lanes() == 0)
    return matrix;
  auto first = static_cast<int64_t>(matrix.rowDim());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, first));
  llvm::append_range(order, llvm::seq<int64_t>(first + 2, matrix.rank()));
  order.append({first, first + 1});
  Translation &t = matrix.translation();
  return {t, t.transpose(matrix.get(), order), matrix.isComplex() ? t.transpose(matrix.im().get(), order) : Value()};
}

Matrix inFasterOrder(const Matrix &matrix, int64_t mostRows) {
  // Fewer matrices fill a vector only in part.
  constexpr int64_t kLeastBatch = 16;
  bool isSmall = std::max(matrix.rows(), matrix.columns()) <= mostRows;
  return isSmall && elementCount(matrix.batch()) >= kLeastBatch ? withBatchInLanes(matrix) : matrix;
}

Matrix withFullMatrices(const Matrix &matrix) {
  Translation &t = matrix.translation();
  // In a manual region over all axes nothing is sharded any more.
  if (t.manualAxes.size() == t.mesh.axes.size())
    return matrix;
  MLIRContext *context = t.b.getContext();
  SmallVector<DimShardingAttr> dims;
  for (size_t dim = 0; dim < matrix.rank(); ++dim)
    dims.push_back(DimShardingAttr::get(context, {}, /*isClosed=*/dim + 2 >= matrix.rank()));
  auto constrained = [&](Value part) { return t.constrain(part, ShardingAttr::get(context, dims, {})); };
  Value re = constrained(matrix.get());
  return {t, re, matrix.isComplex() ? constrained(matrix.im().get()) : Value()};
}

} // namespace spmdc::stablehlo
