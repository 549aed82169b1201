//===- DecomposeFourier.cpp - Fourier transforms as products --------------===//
//
// A transform of n = r m elements along a dimension, with j = j1 m + j2 and k = k1 + r k2 (Cooley and Tukey, 1965):
//
//   X[k] = sum over j2 of w_m^(j2 k2) ( w_n^(j2 k1) ( sum over j1 of w_r^(j1 k1) x[j] ) )
//
// The inner sum is a product with a constant matrix, which takes both parts of r elements to both parts of r
// frequencies; the factor in front of it is a product of elements (twiddle), and the outer sum a transform of m
// elements. Real arrays have one part. Where few frequencies are needed, the last matrix has fewer columns; where the
// input ends early, the first one has fewer rows. So a transform of real numbers is half of the work.
//
//===----------------------------------------------------------------------===//

#include "ir/array/FourierOp.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Shapes.h"

#include "runtime/support/RootOfUnity.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using spmd::rootOfUnity;

namespace spmdc {

#define GEN_PASS_DEF_DECOMPOSEFOURIER
#include "passes/kernel/Passes.h.inc"

namespace {

/// A larger radix is not faster: its product has more work than two smaller ones read and write memory.
constexpr int64_t kMaxRadix = 64;
/// Tables of more elements are products of two smaller ones, so that a program of a long transform stays small.
constexpr int64_t kMaxTable = 65536;

/// Whether `size` is a product of `count` factors of at most `largest`; they are added to `factors`, in falling order.
bool factorize(int64_t size, int64_t count, int64_t largest, SmallVectorImpl<int64_t> &factors) {
  if (count == 1) {
    if (size > largest)
      return false;
    factors.push_back(size);
    return true;
  }
  // The largest factor is at least the root, and best near it.
  auto least =
      static_cast<int64_t>(std::ceil(std::pow(static_cast<double>(size), 1.0 / static_cast<double>(count)) - 1e-9));
  for (int64_t factor = std::max<int64_t>(least, 2); factor <= std::min(largest, size); ++factor) {
    if (size % factor)
      continue;
    factors.push_back(factor);
    if (factorize(size / factor, count - 1, factor, factors))
      return true;
    factors.pop_back();
  }
  return false;
}

/// The factors of a transform: they are few and of similar sizes, since each is a product over all elements.
SmallVector<int64_t> radicesOf(int64_t size) {
  SmallVector<int64_t> primes, factors;
  auto isPrime = [](int64_t number) {
    for (int64_t divisor = 2; divisor * divisor <= number; ++divisor)
      if (number % divisor == 0)
        return false;
    return true;
  };
  for (int64_t prime = spmd::kMaxFourierPrime; prime > kMaxRadix; --prime)
    for (; isPrime(prime) && size % prime == 0; size /= prime)
      primes.push_back(prime);
  if (size > 1 || primes.empty())
    for (int64_t count = 1; !factorize(size, count, kMaxRadix, factors); ++count)
      factors.clear();
  factors.insert(factors.begin(), primes.begin(), primes.end());
  return factors;
}

class Decomposer {
public:
  explicit Decomposer(FftOp op)
      : op(op), b(op), loc(op.getLoc()), sign(op.getInverse() ? 1 : -1), size(static_cast<int64_t>(op.getLength())),
        dim(static_cast<int64_t>(op.getDim())), element(op.getType().getElementType()) {}

  Value run() {
    Value x = op.getOperand();
    int64_t rank = op.getType().getRank(), outputs = op.getType().getDimSize(dim), left = size;
    if (op.getResultParts() == 1)
      x = weigh(x);
    SmallVector<int64_t> radices = radicesOf(size);
    for (auto [stage, radix] : llvm::enumerate(radices)) {
      left /= radix;
      bool isLast = stage + 1 == radices.size();
      int64_t inputs = llvm::divideCeil(shapeOf(x)[dim], left);
      int64_t results = isLast ? llvm::divideCeil(outputs, size / radix) : radix;
      int64_t parts = isLast ? op.getResultParts() : 2;
      // [outer, radix, rest, inner, digits, parts]; a rest of 1 is no dimension.
      SmallVector<int64_t> shape(shapeOf(x));
      x = pad(x, inputs * left);
      shape[dim] = inputs;
      if (left > 1)
        shape.insert(shape.begin() + dim + 1, left);
      x = reshape(x, shape);
      double scale = isLast ? 1.0 / static_cast<double>(op.getDivisor()) : 1.0;
      x = multiply(x, matrixOf(radix, inputs, shape.back(), results, parts, scale));
      if (!isLast)
        x = twist(x, left, radix);
    }
    // [outer, inner, digits, parts] as [outer, digits with the highest first, inner, parts].
    auto digits = static_cast<int64_t>(radices.size());
    SmallVector<int64_t> perm, shape(shapeOf(x).take_front(dim));
    llvm::append_range(perm, llvm::seq<int64_t>(0, dim));
    llvm::append_range(perm, llvm::reverse(llvm::seq<int64_t>(rank - 2, rank - 2 + digits)));
    llvm::append_range(perm, llvm::seq<int64_t>(dim, rank - 2));
    perm.push_back(rank - 2 + digits);
    shape.push_back(size / radices.back() * shapeOf(x)[rank - 3 + digits]);
    llvm::append_range(shape, shapeOf(x).slice(dim, rank - 2 - dim));
    shape.push_back(op.getResultParts());
    SmallVector<int64_t> permuted = llvm::map_to_vector(perm, [&](int64_t d) { return shapeOf(x)[d]; });
    x = reshape(b.create<TransposeOp>(loc, typeOf(permuted), x, perm), shape);
    if (shape[dim] == outputs)
      return x;
    SmallVector<int64_t> starts(rank, 0), strides(rank, 1);
    return b.create<SliceOp>(loc, op.getType(), x, starts, op.getType().getShape(), strides);
  }

private:
  ArrayType typeOf(ArrayRef<int64_t> shape) const { return ArrayType::get(shape, element); }

  Value reshape(Value x, ArrayRef<int64_t> shape) {
    return shapeOf(x) == shape ? x : b.create<ReshapeOp>(loc, typeOf(shape), x).getResult();
  }

  /// Zeros behind the elements along the dimension.
  Value pad(Value x, int64_t padded) {
    SmallVector<int64_t> shape(shapeOf(x)), none(shape.size(), 0), high(none);
    if (shape[dim] == padded)
      return x;
    high[dim] = padded - shape[dim];
    shape[dim] = padded;
    Value zero = b.create<ConstantOp>(loc, typeOf({}), Scalar::ofFloat(0));
    return b.create<PadOp>(loc, typeOf(shape), x, zero, none, high, none);
  }

  Value constant(ArrayRef<int64_t> shape, ArrayRef<double> numbers) {
    RankedTensorType type = typeOf(shape).getTensorType();
    if (element.isF64())
      return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, numbers));
    auto rounded = llvm::map_to_vector(numbers, [](double number) { return static_cast<float>(number); });
    return b.create<ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<float>(rounded)));
  }

  Value broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    return b.create<BroadcastInDimOp>(loc, typeOf(shape), x, dims);
  }

  /// Of the frequencies 0 to n / 2, whose negatives are their conjugates: all but 0 and n / 2 count twice, and
  /// imaginary parts of these two have no effect.
  Value weigh(Value x) {
    int64_t inputs = size / 2 + 1;
    SmallVector<double> weights(static_cast<size_t>(inputs), 2.0);
    weights.front() = 1;
    if (size % 2 == 0)
      weights.back() = 1;
    Value wide = broadcast(constant({inputs}, weights), shapeOf(x), {dim});
    return b.create<MultiplyOp>(loc, typeOf(shapeOf(x)), x, wide);
  }

  /// w_r^(j k): [j, part of the input, k, part of the output].
  Value matrixOf(int64_t radix, int64_t rows, int64_t parts, int64_t columns, int64_t outParts, double scale) {
    SmallVector<double> numbers;
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t k = 0; k < columns; ++k)
          for (int64_t outPart = 0; outPart < outParts; ++outPart) {
            std::complex<double> factor = scale * rootOfUnity(sign * j * k, radix);
            // Multiplied with i for the imaginary part of the input.
            numbers.push_back(part == outPart ? factor.real() : outPart ? factor.imag() : -factor.imag());
          }
    return constant({rows, parts, columns, outParts}, numbers);
  }

  /// The product over the dimension and the parts: [other dimensions, columns, parts].
  Value multiply(Value x, Value matrix) {
    SmallVector<int64_t> shape(shapeOf(x).drop_back());
    int64_t last = static_cast<int64_t>(shape.size());
    shape.erase(shape.begin() + dim);
    llvm::append_range(shape, shapeOf(matrix).drop_front(2));
    return b.create<DotGeneralOp>(loc, typeOf(shape), x, matrix, ArrayRef<int64_t>{dim, last}, ArrayRef<int64_t>{0, 1},
                                  ArrayRef<int64_t>(), ArrayRef<int64_t>());
  }

  /// The real and the imaginary parts of w^(j step k), w = e^(sign 2 pi i / (count radix)), for j < steps and k <
  /// radix: arrays [j, k].
  std::pair<Value, Value> tableOf(int64_t steps, int64_t step, int64_t radix, int64_t length) {
    SmallVector<double> re, im;
    for (int64_t j = 0; j < steps; ++j)
      for (int64_t k = 0; k < radix; ++k) {
        std::complex<double> root = rootOfUnity(sign * j * step * k, length);
        re.push_back(root.real());
        im.push_back(root.imag());
      }
    return {constant({steps, radix}, re), constant({steps, radix}, im)};
  }

  std::pair<Value, Value> twiddlesOf(int64_t count, int64_t radix) {
    int64_t length = count * radix, low = 1;
    if (length <= kMaxTable)
      return tableOf(count, 1, radix, length);
    for (int64_t divisor = 2; divisor * divisor <= count; ++divisor)
      if (count % divisor == 0)
        low = divisor;
    int64_t high = count / low;
    auto [coarseRe, coarseIm] = tableOf(high, low, radix, length);
    auto [fineRe, fineIm] = tableOf(low, 1, radix, length);
    ArrayType type = typeOf({high, low, radix});
    auto times = [&](Value coarse, Value fine) {
      return b.create<MultiplyOp>(loc, type, broadcast(coarse, type.getShape(), {0, 2}),
                                  broadcast(fine, type.getShape(), {1, 2}));
    };
    Value re = b.create<SubtractOp>(loc, type, times(coarseRe, fineRe), times(coarseIm, fineIm));
    Value im = b.create<AddOp>(loc, type, times(coarseRe, fineIm), times(coarseIm, fineRe));
    return {reshape(re, {count, radix}), reshape(im, {count, radix})};
  }

  /// Times the twiddle factors. With both parts in one array, that is x re + (-im x, re x) im, with im negative for the
  /// first part.
  Value twist(Value x, int64_t count, int64_t radix) {
    auto [re, im] = twiddlesOf(count, radix);
    ArrayRef<int64_t> shape = shapeOf(x);
    int64_t last = static_cast<int64_t>(shape.size()) - 1;
    Value signs = broadcast(constant({2}, {-1.0, 1.0}), shape, {last});
    ArrayType type = typeOf(shape);
    Value swapped = b.create<ReverseOp>(loc, type, x, ArrayRef<int64_t>{last});
    Value turned = b.create<MultiplyOp>(loc, type, swapped, signs);
    Value first = b.create<MultiplyOp>(loc, type, x, broadcast(re, shape, {dim, last - 1}));
    Value second = b.create<MultiplyOp>(loc, type, turned, broadcast(im, shape, {dim, last - 1}));
    return b.create<AddOp>(loc, type, first, second);
  }

  FftOp op;
  OpBuilder b;
  Location loc;
  int64_t sign, size, dim;
  Type element;
};

class DecomposeFourierPass : public impl::DecomposeFourierBase<DecomposeFourierPass> {
  void runOnOperation() override {
    SmallVector<FftOp> transforms;
    getOperation().walk([&](FftOp op) { transforms.push_back(op); });
    for (FftOp op : transforms) {
      op.replaceAllUsesWith(Decomposer(op).run());
      op.erase();
    }
  }
};

} // namespace
} // namespace spmdc
