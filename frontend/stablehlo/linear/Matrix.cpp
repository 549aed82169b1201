//===- Matrix.cpp - formulas over arrays of matrices ----------------------===//

#include "frontend/stablehlo/linear/Matrix.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

//===- Parts --------------------------------------------------------------===//

Matrix Matrix::numbers(size_t dim) const {
  SmallVector<int64_t> counted(rank(), 1);
  counted[dim] = shape()[dim];
  return {*t, t->iota(counted, static_cast<int64_t>(dim))};
}

Matrix Matrix::rows(int64_t begin, int64_t end) const {
  return {*t, t->sliceDim(array, static_cast<int64_t>(rank()) - 2, begin, end)};
}

Matrix Matrix::columns(int64_t begin, int64_t end) const {
  return {*t, t->sliceDim(array, static_cast<int64_t>(rank()) - 1, begin, end)};
}

Matrix Matrix::window(size_t dim, const Matrix &position) const {
  SmallVector<int64_t> sizes(shape());
  sizes[dim] = 1;
  SmallVector<Value> starts(rank(), t->splatLike(position.get(), 0));
  starts[dim] = position.get();
  return {*t, t->create<spmdc::DynamicSliceOp>(array, starts, sizes)};
}

Matrix Matrix::takeRows(const Matrix &positions) const {
  auto dim = static_cast<int64_t>(rank()) - 2;
  if (dim == 0)
    return {*t, t->create<spmdc::TakeOp>(array, t->reshape(positions.get(), {positions.rows()}), dim)};
  SmallVector<int64_t> full(shape());
  full[dim] = positions.rows();
  Value wide = t->broadcast(positions.get(), full, llvm::to_vector(llvm::seq<int64_t>(0, full.size())));
  return {*t, t->create<spmdc::TakeAlongOp>(array, wide, dim)};
}

Matrix Matrix::sortedPositions(bool isDescending) const {
  return {*t, t->create<spmdc::ArgsortOp>(array, static_cast<int64_t>(rank()) - 2, isDescending)};
}

Matrix Matrix::transposed() const {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank()));
  std::swap(perm[rank() - 2], perm[rank() - 1]);
  return {*t, t->transpose(array, perm)};
}

Matrix Matrix::paddedRows(int64_t above, int64_t below) const {
  SmallVector<int64_t> low(rank(), 0), high(rank(), 0), interior(rank(), 0);
  low[rank() - 2] = above;
  high[rank() - 2] = below;
  return {*t, t->pad(array, t->splat(ArrayType::get({}, elementType()), 0), low, high, interior)};
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

Matrix Matrix::reduce(ReductionKind kind, size_t dim) const {
  SmallVector<int64_t> kept(shape());
  kept[dim] = 1;
  Value reduced = t->create<spmdc::ReduceOp>(array, kind, ArrayRef<int64_t>{static_cast<int64_t>(dim)});
  return {*t, t->reshape(reduced, kept)};
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

template <typename Op> static Matrix apply(const Matrix &x, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({x.get(), y.get()});
  return {t, t.create<Op>(repeatTo(t, x.get(), shape), repeatTo(t, y.get(), shape))};
}

Matrix operator+(const Matrix &x, const Matrix &y) { return apply<spmdc::AddOp>(x, y); }
Matrix operator-(const Matrix &x, const Matrix &y) { return apply<spmdc::SubtractOp>(x, y); }
Matrix operator*(const Matrix &x, const Matrix &y) { return apply<spmdc::MultiplyOp>(x, y); }
Matrix operator/(const Matrix &x, const Matrix &y) { return apply<spmdc::DivideOp>(x, y); }
Matrix operator&(const Matrix &x, const Matrix &y) { return apply<spmdc::AndOp>(x, y); }

Matrix compare(const Matrix &x, spmdc::ComparisonDirection direction, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({x.get(), y.get()});
  return {t, t.compare(repeatTo(t, x.get(), shape), direction, repeatTo(t, y.get(), shape))};
}

Matrix select(const Matrix &predicate, const Matrix &x, const Matrix &y) {
  Translation &t = x.translation();
  SmallVector<int64_t> shape = commonShape({predicate.get(), x.get(), y.get()});
  return {t, t.select(repeatTo(t, predicate.get(), shape), repeatTo(t, x.get(), shape), repeatTo(t, y.get(), shape))};
}

Matrix multiply(const Matrix &x, const Matrix &y, bool transposeX, bool transposeY) {
  auto rank = static_cast<int64_t>(x.rank());
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  return {x.translation(), product(x.translation(), x.get(), y.get(), x.elementType(), {rank - (transposeX ? 2 : 1)},
                                   {rank - (transposeY ? 1 : 2)}, batch, batch)};
}

static Matrix stack(ArrayRef<Matrix> parts, size_t fromLast) {
  Translation &t = parts.front().translation();
  SmallVector<Value> arrays;
  for (const Matrix &part : parts)
    if (part.shape()[part.rank() - fromLast] != 0)
      arrays.push_back(part.get());
  if (arrays.empty())
    return parts.front();
  return {t, t.concatenate(arrays, static_cast<int64_t>(parts.front().rank() - fromLast))};
}

Matrix stackRows(ArrayRef<Matrix> parts) { return stack(parts, 2); }
Matrix stackColumns(ArrayRef<Matrix> parts) { return stack(parts, 1); }

//===- Loops and shardings ------------------------------------------------===//

static Matrices wrap(Translation &t, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return Matrix(t, value); });
}

static SmallVector<Value> unwrap(ArrayRef<Matrix> matrices) {
  return llvm::map_to_vector(matrices, [](const Matrix &matrix) { return matrix.get(); });
}

/// Makes a region of a loop of these arguments, which yields what `body` computes of them.
static void fill(Translation &t, Region &region, ArrayRef<Type> arguments,
                 llvm::function_ref<Matrices(Matrices)> body) {
  Block &block = region.emplaceBlock();
  block.addArguments(arguments, SmallVector<Location>(arguments.size(), t.loc));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(&block);
  t.create<YieldOp>(unwrap(body(wrap(t, block.getArguments()))));
}

Matrices repeat(int64_t count, const Matrices &initials,
                llvm::function_ref<Matrices(const Matrix &, ArrayRef<Matrix>)> body) {
  Translation &t = initials.front().translation();
  SmallVector<Value> carries = unwrap(initials);
  SmallVector<Type> types = llvm::map_to_vector(carries, [](Value value) -> Type { return plainTypeOf(value); });
  auto loop = t.create<ForOp>(types, 0, count, carries);
  SmallVector<Type> arguments{ArrayType::get({}, t.b.getI32Type())};
  llvm::append_range(arguments, types);
  fill(t, loop.getBody(), arguments,
       [&](const Matrices &values) { return body(values.front(), ArrayRef<Matrix>(values).drop_front()); });
  return wrap(t, loop->getResults());
}

Matrices repeatWhile(const Matrices &initials, llvm::function_ref<Matrix(ArrayRef<Matrix>)> condition,
                     llvm::function_ref<Matrices(ArrayRef<Matrix>)> body) {
  Translation &t = initials.front().translation();
  SmallVector<Value> carries = unwrap(initials);
  SmallVector<Type> types = llvm::map_to_vector(carries, [](Value value) -> Type { return plainTypeOf(value); });
  auto loop = t.create<spmdc::WhileOp>(types, carries);
  fill(t, loop.getCondition(), types, [&](const Matrices &values) { return Matrices{condition(values)}; });
  fill(t, loop.getBody(), types, [&](const Matrices &values) { return body(values); });
  return wrap(t, loop->getResults());
}

int64_t blockSizeOf(int64_t columns) {
  constexpr int64_t kSmallest = 64, kMostBlocks = 16;
  return std::max(kSmallest, (columns + kMostBlocks - 1) / kMostBlocks);
}

Matrix withFullMatrices(Translation &t, Value array) {
  // In a manual region over all axes nothing is sharded any more.
  if (t.manualAxes.size() == t.mesh.axes.size())
    return {t, array};
  MLIRContext *context = t.b.getContext();
  size_t rank = shapeOf(array).size();
  SmallVector<DimShardingAttr> dims;
  for (size_t dim = 0; dim < rank; ++dim)
    dims.push_back(DimShardingAttr::get(context, {}, /*isClosed=*/dim + 2 >= rank));
  return {t, t.constrain(array, ShardingAttr::get(context, dims, {}))};
}

} // namespace spmdc::stablehlo
