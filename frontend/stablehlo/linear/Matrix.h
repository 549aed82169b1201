//===- Matrix.h - formulas over arrays of matrices --------------*- C++ -*-===//
//
// Factorizations are written in array operations (`array.for`, dot_general, element-wise ones), so they run on every
// backend and give the same bits on every mesh. The dimensions before the last two are a batch, which may be sharded
// without collectives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// An array [batch..., rows, columns], or a scalar, with operators that repeat dimensions of size 1 as NumPy does. One
/// of complex numbers is two arrays, its real and its imaginary part (complex/Expander.h); a real one beside it in an
/// operator has an imaginary part of zeros. A value type; it emits with the translation, which outlives it.
///
///   Matrix(t, a).column(j) * Matrix(t, a).row(j)   // f32[8, 4, 4] from f32[8, 4, 1] and f32[8, 1, 4]
///
/// The last `lanes` dimensions may be those of the batch instead, [blocks..., rows, columns, batch...]: then one vector
/// holds an element of many matrices (`withBatchInLanes`). Comments name shapes of the first form.
class Matrix {
public:
  Matrix(Translation &t, mlir::Value array, mlir::Value imaginary = {}, size_t lanes = 0)
      : t(&t), array(array), imaginary(imaginary), laneDims(lanes) {}
  Matrix(const Matrix &re, const Matrix &im) : Matrix(*re.t, re.array, im.array, re.laneDims) {}

  /// The array of a real matrix, or the real part.
  mlir::Value get() const { return array; }
  bool isComplex() const { return static_cast<bool>(imaginary); }
  Matrix re() const { return with(array); }
  /// Zeros for a real matrix.
  Matrix im() const { return imaginary ? with(imaginary) : re().filled(0); }
  /// The array, and the imaginary part of a complex one.
  llvm::SmallVector<mlir::Value> parts() const;

  Translation &translation() const { return *t; }
  llvm::ArrayRef<int64_t> shape() const { return shapeOf(array); }
  size_t rank() const { return shape().size(); }
  size_t lanes() const { return laneDims; }
  size_t rowDim() const { return rank() - laneDims - 2; }
  size_t columnDim() const { return rank() - laneDims - 1; }
  int64_t rows() const { return shape()[rowDim()]; }
  int64_t columns() const { return shape()[columnDim()]; }
  /// The sizes of the dimensions before the rows and behind the columns.
  llvm::SmallVector<int64_t> batch() const;
  /// Other arrays with the dimensions in this order.
  Matrix with(mlir::Value re, mlir::Value im = {}) const { return {*t, re, im, laneDims}; }
  mlir::Type elementType() const { return Translation::typeOf(array).getElementType(); } ///< Of the parts.

  /// Positions of rows, i32[1, ..., rows, 1], and of columns, i32[1, ..., 1, columns].
  Matrix rowNumbers() const { return numbers(rowDim()); }
  Matrix columnNumbers() const { return numbers(columnDim()); }

  Matrix rows(int64_t begin, int64_t end) const;
  Matrix columns(int64_t begin, int64_t end) const;
  Matrix block(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd) const {
    return rows(rowBegin, rowEnd).columns(columnBegin, columnEnd);
  }
  /// One row or column at a position that is a scalar of i32.
  Matrix row(const Matrix &position) const { return window(rowDim(), position); }
  Matrix column(const Matrix &position) const { return window(columnDim(), position); }
  /// `count` of them from a position on, and the matrix with others in their place.
  Matrix rowsAt(const Matrix &position, int64_t count) const { return window(rowDim(), position, count); }
  Matrix columnsAt(const Matrix &position, int64_t count) const { return window(columnDim(), position, count); }
  Matrix withRowsAt(const Matrix &position, const Matrix &rows) const { return replace(rowDim(), position, rows); }
  Matrix withColumnsAt(const Matrix &position, const Matrix &columns) const {
    return replace(columnDim(), position, columns);
  }
  /// The rows in the order of positions, i32[batch..., n, 1].
  Matrix takeRows(const Matrix &positions) const;

  /// The positions that sort each column of a real matrix, i32[batch..., rows, columns].
  Matrix sortedPositions(bool isDescending) const;

  Matrix transposed() const;
  Matrix conjugated() const;
  /// The conjugate of the transposed matrix, which is the transposed one of a real matrix.
  Matrix adjoint() const { return transposed().conjugated(); }
  Matrix converted(mlir::Type type) const;
  /// The same elements in another shape, of any rank.
  Matrix reshaped(llvm::ArrayRef<int64_t> to) const;
  /// With these sizes in the place of the last `dims` dimensions of the first form.
  Matrix regrouped(size_t dims, std::initializer_list<int64_t> sizes) const;
  /// This shape, filled with a real number of this element type.
  Matrix filled(double value) const;
  /// Zeros above and below.
  Matrix paddedRows(int64_t above, int64_t below) const;
  /// Elements on and below the diagonal, moved up by `offset`; zeros elsewhere.
  Matrix lowerTriangle(int64_t offset = 0) const;
  Matrix upperTriangle() const;
  /// The elements of the diagonal, [batch..., min(rows, columns), 1].
  Matrix diagonal() const;
  /// The Hermitian matrix with this lower triangle and the real part of this diagonal; the symmetric one of a real
  /// matrix.
  Matrix hermitian() const;

  /// The sum (maximum) of each column, [batch..., 1, columns], and of each row, [batch..., rows, 1].
  Matrix reduceRows(ReductionKind kind) const { return reduce(kind, rowDim()); }
  Matrix reduceColumns(ReductionKind kind) const { return reduce(kind, columnDim()); }
  /// The largest element of a real matrix, a scalar.
  Matrix largest() const;

private:
  Matrix each(llvm::function_ref<mlir::Value(mlir::Value)> change) const;
  Matrix numbers(size_t dim) const;
  Matrix reduce(ReductionKind kind, size_t dim) const;
  Matrix window(size_t dim, const Matrix &position, int64_t count = 1) const;
  Matrix replace(size_t dim, const Matrix &position, const Matrix &by) const;

  Translation *t;
  mlir::Value array, imaginary;
  size_t laneDims;
};

inline Matrix sumOfRows(const Matrix &x) { return x.reduceRows(ReductionKind::sum); }
inline Matrix sumOfColumns(const Matrix &x) { return x.reduceColumns(ReductionKind::sum); }

Matrix operator+(const Matrix &x, const Matrix &y);
Matrix operator-(const Matrix &x, const Matrix &y);
Matrix operator*(const Matrix &x, const Matrix &y);
/// Of complex numbers without squares that overflow (Smith 1962).
Matrix operator/(const Matrix &x, const Matrix &y);
Matrix operator&(const Matrix &x, const Matrix &y);
Matrix operator|(const Matrix &x, const Matrix &y);
/// Complex numbers are equal or not, but have no order.
Matrix compare(const Matrix &x, ComparisonDirection direction, const Matrix &y);
inline Matrix operator==(const Matrix &x, const Matrix &y) { return compare(x, ComparisonDirection::eq, y); }
inline Matrix operator<(const Matrix &x, const Matrix &y) { return compare(x, ComparisonDirection::lt, y); }
inline Matrix operator>(const Matrix &x, const Matrix &y) { return compare(x, ComparisonDirection::gt, y); }
inline Matrix operator>=(const Matrix &x, const Matrix &y) { return compare(x, ComparisonDirection::ge, y); }

inline Matrix operator*(const Matrix &x, double y) { return x * x.re().filled(y); }
inline Matrix operator+(const Matrix &x, double y) { return x + x.re().filled(y); }
inline Matrix operator/(double x, const Matrix &y) { return y.re().filled(x) / y; }
inline Matrix operator-(const Matrix &x) { return x * -1; }
inline Matrix operator<(const Matrix &x, double y) { return x < x.filled(y); }
inline Matrix operator==(const Matrix &x, double y) { return x == x.filled(y); }
inline Matrix operator>(const Matrix &x, double y) { return x > x.filled(y); }
inline Matrix operator>=(const Matrix &x, double y) { return x >= x.filled(y); }

Matrix select(const Matrix &predicate, const Matrix &x, const Matrix &y);
inline Matrix select(const Matrix &predicate, const Matrix &x, double y) { return select(predicate, x, x.filled(y)); }
inline Matrix select(const Matrix &predicate, double x, const Matrix &y) { return select(predicate, y.filled(x), y); }

/// An element-wise function of an array operation, of a real matrix.
template <typename Op> Matrix map(const Matrix &x) { return x.with(x.translation().create<Op>(x.get())); }

/// The absolute values, a real matrix; they do not overflow where squares do.
Matrix absolute(const Matrix &x);
/// Their squares.
Matrix squaredSize(const Matrix &x);

/// The distance between 1 and the next number of a type of floats.
double epsilonOf(mlir::Type type);

/// The same values, computed once and kept in memory: not again by each reader.
Matrix materialized(const Matrix &x);

/// A power of two near each element of a matrix that is not negative, at least as large but for the largest and least
/// floats; 1 for zero, infinities and NaN.
Matrix powerOfTwoOf(const Matrix &x);

/// Products of matrices, of the adjoint ones where said.
Matrix multiply(const Matrix &x, const Matrix &y, bool adjointX = false, bool adjointY = false);

Matrix stackRows(llvm::ArrayRef<Matrix> parts);
Matrix stackColumns(llvm::ArrayRef<Matrix> parts);

/// The carries after `count` iterations. The body takes the iteration's number, a scalar of i32, and the carries.
using Matrices = llvm::SmallVector<Matrix>;
Matrices repeat(int64_t count, const Matrices &initials,
                llvm::function_ref<Matrices(const Matrix &, llvm::ArrayRef<Matrix>)> body);

/// The carries when the condition of them, a scalar, is false.
Matrices repeatWhile(const Matrices &initials, llvm::function_ref<Matrix(llvm::ArrayRef<Matrix>)> condition,
                     llvm::function_ref<Matrices(llvm::ArrayRef<Matrix>)> body);

/// The number of columns that a loop handles one by one, between products of blocks. Loops over columns cost a few
/// launches each, so small blocks have too many products; of large matrices there are at most 16 blocks, because each
/// is code of its own.
int64_t blockSizeOf(int64_t columns);
/// The same for a factorization of these matrices; in lanes, a column is a step of all matrices anyway.
int64_t blockSizeOf(const Matrix &like, int64_t columns);

/// The batch in the last dimensions, and in the first ones. No change where it is there, or where there is none.
Matrix withBatchInLanes(const Matrix &matrix);
Matrix withBatchFirst(const Matrix &matrix);
/// The one of them in which a factorization is faster, if it is the former for matrices of up to `mostRows` rows and
/// columns. Larger ones are multiplied faster by the library, and lanes of all of them fill more than a cache.
Matrix inFasterOrder(const Matrix &matrix, int64_t mostRows = 32);

/// The array with a sharding whose matrices are replicated, so that no loop over columns has collectives.
Matrix withFullMatrices(const Matrix &matrix);

} // namespace spmdc::stablehlo
