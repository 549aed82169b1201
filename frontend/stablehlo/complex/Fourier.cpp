//===- Fourier.cpp - stablehlo.fft ----------------------------------------===//
//
// A transform of n = r m elements along a dimension, with j = j1 m + j2 and k = k1 + r k2 (Cooley and Tukey, 1965):
//
//   X[k] = sum over j2 of w_m^(j2 k2) ( w_n^(j2 k1) ( sum over j1 of w_r^(j1 k1) x[j] ) )
//
// The inner sum is a product with a constant matrix of r rows, the factor in front of it a product of elements
// (twiddle), and the outer sum a transform of m elements. The real and the imaginary parts are one behind the other
// along j1, so that one product of real matrices gives both parts. Other dimensions stay as they are, and keep their
// shardings.
//
// Real input has no imaginary rows. Of real output, and where few frequencies are needed, the last matrix has fewer
// columns; where the input ends early, the first one has fewer rows. So a transform of real numbers is half of the
// work. A size with a large prime factor is a convolution (Bluestein, "A linear filtering approach to the computation
// of discrete Fourier transform", 1970).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/ComplexFormula.h"
#include "frontend/stablehlo/complex/FourierTables.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A real array, or the parts of a complex one.
using Arrays = SmallVector<Real, 2>;

struct Transform {
  int64_t size;              ///< Input behind the given elements is zero.
  int sign;                  ///< Of the exponent.
  double scale = 1;          ///< Of the result.
  int64_t outputs;           ///< The frequencies 0, 1, ... that are needed.
  bool isRealOutput = false; ///< Whether imaginary parts are not needed.
};

//===- Constants ----------------------------------------------------------===//

/// The parts of a constant list of complex numbers.
Complex constantOf(Real like, ArrayRef<int64_t> shape, ArrayRef<std::complex<double>> numbers) {
  auto re = llvm::map_to_vector(numbers, [](std::complex<double> number) { return number.real(); });
  auto im = llvm::map_to_vector(numbers, [](std::complex<double> number) { return number.imag(); });
  return {like.constant(shape, re), like.constant(shape, im)};
}

/// w^(j k) for the radix, as a matrix of reals: rows (part of the input, j), columns (part of the output, k).
Real matrixOf(Real like, const Transform &t, int64_t radix, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns,
              double scale) {
  SmallVector<double> numbers;
  for (int64_t part = 0; part < rows[0]; ++part)
    for (int64_t j = 0; j < rows[1]; ++j)
      for (int64_t outPart = 0; outPart < columns[0]; ++outPart)
        for (int64_t k = 0; k < columns[1]; ++k) {
          std::complex<double> factor = scale * rootOfUnity(t.sign * j * k, radix);
          // Multiplied with i for the imaginary part of the input.
          numbers.push_back(part == outPart ? factor.real() : outPart ? factor.imag() : -factor.imag());
        }
  return like.constant({rows[0] * rows[1], columns[0] * columns[1]}, numbers);
}

/// Tables of more elements are products of two smaller ones, so that a program of a long transform stays small.
constexpr int64_t kMaxTable = 65536;

/// w^(j k), w = e^(sign 2 pi i / (count radix)), for j < count and k < radix.
Complex twiddlesOf(Real like, int sign, int64_t count, int64_t radix) {
  int64_t size = count * radix;
  auto table = [&](int64_t steps, int64_t step) {
    Numbers numbers;
    for (int64_t j = 0; j < steps; ++j)
      for (int64_t k = 0; k < radix; ++k)
        numbers.push_back(rootOfUnity(sign * j * step * k, size));
    return constantOf(like, {steps, radix}, numbers);
  };
  if (size <= kMaxTable)
    return table(count, 1);
  int64_t low = 1;
  for (int64_t divisor = 2; divisor * divisor <= count; ++divisor)
    if (count % divisor == 0)
      low = divisor;
  int64_t high = count / low;
  Complex coarse = table(high, low), fine = table(low, 1);
  auto wide = [&](Real x, int64_t dim) { return x.broadcast({high, low, radix}, {dim, 2}); };
  Complex product = Complex{wide(coarse.re, 0), wide(coarse.im, 0)} * Complex{wide(fine.re, 1), wide(fine.im, 1)};
  return {product.re.reshape({count, radix}), product.im.reshape({count, radix})};
}

//===- Transforms ---------------------------------------------------------===//

/// Multiplies with a constant that has the dimensions `dims` of the array.
Arrays scaleBy(const Arrays &x, Complex factors, ArrayRef<int64_t> dims) {
  Complex wide{factors.re.broadcast(x[0].shape(), dims), factors.im.broadcast(x[0].shape(), dims)};
  if (x.size() == 1)
    return {x[0] * wide.re, x[0] * wide.im};
  Complex product = Complex{x[0], x[1]} * wide;
  return {product.re, product.im};
}

/// Dimension `dim` as [first, rest], or as [first] for a rest of 1.
Real split(Real x, int64_t dim, int64_t first, int64_t rest) {
  SmallVector<int64_t> shape(x.shape());
  shape[dim] = first;
  if (rest > 1)
    shape.insert(shape.begin() + dim + 1, rest);
  return x.reshape(shape);
}

/// By mixed radices. Each stage appends its frequencies as a last dimension, the first one those of the lowest digit.
Arrays transformByRadices(Arrays x, int64_t dim, const Transform &t, ArrayRef<int64_t> radices) {
  auto rank = static_cast<int64_t>(x[0].shape().size());
  int64_t left = t.size;
  for (auto [stage, radix] : llvm::enumerate(radices)) {
    left /= radix;
    bool isLast = stage + 1 == radices.size();
    int64_t inputs = llvm::divideCeil(x[0].shape()[dim], left), outputs = radix;
    if (isLast)
      outputs = llvm::divideCeil(t.outputs, t.size / radix);
    Real stacked = split(x[0].pad(dim, inputs * left), dim, inputs, left);
    if (x.size() == 2)
      stacked = stacked.concatenate(split(x[1].pad(dim, inputs * left), dim, inputs, left), dim);
    auto parts = static_cast<int64_t>(x.size()), outParts = int64_t(isLast && t.isRealOutput ? 1 : 2);
    Real product = stacked.contract(
        dim, matrixOf(stacked, t, radix, {parts, inputs}, {outParts, outputs}, isLast ? t.scale : 1.0));
    auto last = static_cast<int64_t>(product.shape().size()) - 1;
    x = {product.slice(last, 0, outputs)};
    if (outParts == 2)
      x.push_back(product.slice(last, outputs, 2 * outputs));
    if (!isLast)
      x = scaleBy(x, twiddlesOf(stacked, t.sign, left, radix), {dim, last});
  }
  // [outer, inner, digits] as [outer, digits with the highest first, inner].
  auto digits = static_cast<int64_t>(radices.size());
  SmallVector<int64_t> perm, shape(x[0].shape().take_front(dim));
  llvm::append_range(perm, llvm::seq<int64_t>(0, dim));
  llvm::append_range(perm, llvm::reverse(llvm::seq<int64_t>(rank - 1, rank - 1 + digits)));
  llvm::append_range(perm, llvm::seq<int64_t>(dim, rank - 1));
  shape.push_back(x[0].shape().back() * (t.size / radices.back()));
  llvm::append_range(shape, x[0].shape().slice(dim, rank - 1 - dim));
  for (Real &part : x)
    part = part.transpose(perm).reshape(shape).slice(dim, 0, t.outputs);
  return x;
}

Arrays transform(Arrays x, int64_t dim, const Transform &t);

/// By jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution with the list c[i] = w^(i^2 / 2), which transforms of a power of
/// two compute.
Arrays transformByConvolution(const Arrays &x, int64_t dim, const Transform &t) {
  int64_t inputs = x[0].shape()[dim];
  auto length = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(inputs + t.outputs - 1)));
  auto numberOf = [&](int64_t i) { return rootOfUnity(t.sign * (i * i % (2 * t.size)), 2 * t.size); };
  Numbers before, behind, kernel(static_cast<size_t>(length));
  for (int64_t i = 0; i < inputs; ++i) {
    before.push_back(numberOf(i));
    kernel[static_cast<size_t>((length - i) % length)] = std::conj(numberOf(i));
  }
  for (int64_t i = 0; i < t.outputs; ++i) {
    behind.push_back(t.scale / static_cast<double>(length) * numberOf(i));
    kernel[static_cast<size_t>(i)] = std::conj(numberOf(i));
  }
  kernel = transformed(std::move(kernel), -1);
  Arrays y = scaleBy(x, constantOf(x[0], {inputs}, before), {dim});
  y = transform(y, dim, {.size = length, .sign = -1, .outputs = length});
  y = scaleBy(y, constantOf(x[0], {length}, kernel), {dim});
  y = transform(y, dim, {.size = length, .sign = 1, .outputs = t.outputs});
  y = scaleBy(y, constantOf(x[0], {t.outputs}, behind), {dim});
  if (t.isRealOutput)
    y.pop_back();
  return y;
}

Arrays transform(Arrays x, int64_t dim, const Transform &t) {
  std::vector<int64_t> radices = radicesOf(t.size);
  return radices.empty() ? transformByConvolution(x, dim, t) : transformByRadices(std::move(x), dim, t, radices);
}

//===- The operation ------------------------------------------------------===//

/// A program holds constants of a few times as many elements as such a transform has.
constexpr int64_t kMaxConvolution = int64_t(1) << 20;
/// More than a device has memory for is a mistake in the program.
constexpr int64_t kMaxLength = int64_t(1) << 30;

/// Of the frequencies 0 to n / 2, whose negatives are their conjugates, with a real result: all but 0 and n / 2 count
/// twice, and imaginary parts of these two have no effect, as in XLA.
Arrays transformToReal(const Arrays &x, int64_t dim, Transform t) {
  int64_t inputs = t.size / 2 + 1;
  SmallVector<double> weights(static_cast<size_t>(inputs), 2.0);
  weights.front() = 1;
  if (t.size % 2 == 0)
    weights.back() = 1;
  Real wide = x[0].constant({inputs}, weights).broadcast(x[0].shape(), {dim});
  t.isRealOutput = true;
  return transform({x[0] * wide, x[1] * wide}, dim, t);
}

Expander::Results fft(Expander &e, Operation *source) {
  auto op = cast<FftOp>(source);
  StringRef kind = op.getFftType().getValue();
  ArrayRef<int64_t> lengths = op.getFftLength();
  bool isFromReal = kind == "RFFT", isToReal = kind == "IRFFT", isForward = kind == "FFT" || isFromReal;
  auto type = llvm::cast<RankedTensorType>(op.getOperand().getType());
  auto result = llvm::cast<RankedTensorType>(op.getType());
  auto count = static_cast<int64_t>(lengths.size()), first = type.getRank() - count;
  if (!isForward && !isToReal && kind != "IFFT")
    return refuse(op, "is of the unknown type '" + kind + "'");
  bool hasPart = llvm::cast<RankedTensorType>(partOf(type)).getElementType() ==
                 llvm::cast<RankedTensorType>(partOf(result)).getElementType();
  if (!hasPart || isComplex(type) == isFromReal || isComplex(result) == isToReal)
    return refuse(op, "of type " + kind + " has operands or results of another type");
  bool fits = count >= 1 && count <= 3 && first >= 0;
  for (int64_t i = 0; fits && i < count; ++i) {
    int64_t size = isToReal && i + 1 == count ? lengths[i] / 2 + 1 : lengths[i];
    fits = lengths[i] >= 1 && type.getDimSize(first + i) == size;
  }
  if (!fits)
    return refuse(op, "has lengths that are not those of the last dimensions of its operand, one to three");
  for (int64_t length : lengths)
    if (length > kMaxLength || (length > kMaxConvolution && radicesOf(length).empty()))
      return refuse(op, "transforms " + Twine(length) + " elements along a dimension; more than " +
                            Twine(kMaxConvolution) + " must be a product of primes up to " + Twine(kMaxPrime) +
                            ", so pad it with zeros");
  Parts parts = e.get(op.getOperand());
  Arrays x{e.real(parts.re)};
  if (!isFromReal)
    x.push_back(e.real(parts.im));
  if (type.getNumElements() == 0) {
    auto zeros = e.real(parts.re).constant({}, {0.0}).broadcast(result.getShape(), {});
    return SmallVector<Parts>{{zeros.get(), isToReal ? Value() : zeros.get()}};
  }
  auto transformOne = [&](int64_t i) {
    int64_t size = lengths[i], dim = first + i;
    bool isHalved = i + 1 == count && (isFromReal || isToReal);
    Transform t{.size = size, .sign = isForward ? -1 : 1, .outputs = size};
    if (!isForward)
      t.scale = 1.0 / static_cast<double>(size);
    if (isHalved && isFromReal)
      t.outputs = size / 2 + 1;
    x = isHalved && isToReal ? transformToReal(x, dim, t) : transform(x, dim, t);
  };
  // The dimension that is real on one side comes first from there.
  for (int64_t i : llvm::seq<int64_t>(0, count))
    transformOne(isToReal ? i : count - 1 - i);
  return SmallVector<Parts>{{x[0].get(), isToReal ? Value() : x[1].get()}};
}

} // namespace

void addFourierRules(ComplexRules &rules) { rules[FftOp::getOperationName()] = fft; }

} // namespace spmdc::stablehlo
