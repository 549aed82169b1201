//===- Fourier.cpp - stablehlo.fft ----------------------------------------===//
//
// A transform is one operation for each dimension, on an array whose last dimension has the real and the imaginary
// parts (array.fft). Real arrays have one part there.
//
// Large prime factors of a size are a convolution (Bluestein, "A linear filtering approach to the computation of
// discrete Fourier transform", 1970).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/ComplexFormula.h"
#include "frontend/stablehlo/complex/FourierTables.h"

#include "runtime/support/RootOfUnity.h"

using namespace mlir;
using spmd::rootOfUnity;

namespace spmdc::stablehlo {

namespace {

/// A real array, or the parts of a complex one.
using Arrays = SmallVector<Real, 2>;

/// The parts of a constant list of complex numbers.
Complex constantOf(Real like, ArrayRef<int64_t> shape, ArrayRef<std::complex<double>> numbers) {
  auto re = llvm::map_to_vector(numbers, [](std::complex<double> number) { return number.real(); });
  auto im = llvm::map_to_vector(numbers, [](std::complex<double> number) { return number.imag(); });
  return {like.constant(shape, re), like.constant(shape, im)};
}

/// Multiplies with a constant list along dimension `dim` of the array.
Arrays scaleBy(const Arrays &x, ArrayRef<std::complex<double>> numbers, int64_t dim) {
  Complex factors = constantOf(x[0], {static_cast<int64_t>(numbers.size())}, numbers);
  Complex wide{factors.re.broadcast(x[0].shape(), {dim}), factors.im.broadcast(x[0].shape(), {dim})};
  if (x.size() == 1)
    return {x[0] * wide.re, x[0] * wide.im};
  Complex product = Complex{x[0], x[1]} * wide;
  return {product.re, product.im};
}

//===- Joined parts -------------------------------------------------------===//

/// The parts, one behind the other in an additional last dimension.
Real join(const Arrays &parts) {
  SmallVector<int64_t> shape(parts[0].shape());
  shape.push_back(1);
  Real joined = parts[0].reshape(shape);
  return parts.size() == 1 ? joined
                           : joined.concatenate(parts[1].reshape(shape), static_cast<int64_t>(shape.size()) - 1);
}

Arrays takeApart(Real joined) {
  int64_t last = static_cast<int64_t>(joined.shape().size()) - 1;
  Arrays parts;
  for (int64_t part = 0; part < joined.shape().back(); ++part)
    parts.push_back(joined.slice(last, part, part + 1).reshape(joined.shape().drop_back()));
  return parts;
}

/// A transform along one dimension of joined parts.
Real transform(Expander &e, Real x, int64_t dim, StringRef kind, int64_t length) {
  SmallVector<int64_t> shape(x.shape());
  shape[dim] = kind == "RFFT" ? length / 2 + 1 : length;
  shape.back() = kind == "IRFFT" ? 1 : 2;
  auto type = RankedTensorType::get(shape, x.type().getElementType());
  auto op =
      e.b.create<FftOp>(e.loc, type, x.get(), FftTypeAttr::get(e.b.getContext(), kind), ArrayRef<int64_t>{length});
  op->setAttr(kFourierDimAttrName, e.b.getI64IntegerAttr(dim));
  return e.real(op);
}

/// By jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution with the list c[i] = w^(i^2 / 2), which transforms of a length
/// with small primes compute. Of real output the first part is the result.
Real transformByConvolution(Expander &e, Real joined, int64_t dim, StringRef kind, int64_t size) {
  Arrays x = takeApart(joined);
  bool isReal = kind == "IRFFT";
  if (isReal) {
    // Of the frequencies 0 to n / 2, whose negatives are their conjugates: all but 0 and n / 2 count twice, and
    // imaginary parts of these two have no effect, as in XLA.
    SmallVector<double> weights(static_cast<size_t>(size / 2 + 1), 2.0);
    weights.front() = 1;
    if (size % 2 == 0)
      weights.back() = 1;
    Real wide = x[0].constant({size / 2 + 1}, weights).broadcast(x[0].shape(), {dim});
    x = {x[0] * wide, x[1] * wide};
  }
  int64_t inputs = x[0].shape()[dim], outputs = kind == "RFFT" ? size / 2 + 1 : size;
  int64_t sign = kind == "FFT" || kind == "RFFT" ? -1 : 1;
  double scale = sign < 0 ? 1.0 : 1.0 / static_cast<double>(size);
  int64_t length = convolutionLength(inputs + outputs - 1);
  auto numberOf = [&](int64_t i) { return rootOfUnity(sign * (i * i % (2 * size)), 2 * size); };
  Numbers before, behind, kernel(static_cast<size_t>(length));
  for (int64_t i = 0; i < inputs; ++i) {
    before.push_back(numberOf(i));
    kernel[static_cast<size_t>((length - i) % length)] = std::conj(numberOf(i));
  }
  for (int64_t i = 0; i < outputs; ++i) {
    behind.push_back(scale * numberOf(i));
    kernel[static_cast<size_t>(i)] = std::conj(numberOf(i));
  }
  Arrays y = scaleBy(x, before, dim);
  for (Real &part : y)
    part = part.pad(dim, length);
  y = takeApart(transform(e, join(y), dim, "FFT", length));
  y = scaleBy(y, transformed(kernel, -1), dim);
  y = takeApart(transform(e, join(y), dim, "IFFT", length));
  for (Real &part : y)
    part = part.slice(dim, 0, outputs);
  y = scaleBy(y, behind, dim);
  if (isReal)
    y.pop_back();
  return join(y);
}

/// The product of the primes of `length` that passes transform.
int64_t passesOf(int64_t length) {
  int64_t product = 1;
  for (int64_t prime = 2; prime <= spmd::kMaxFourierPrime; ++prime)
    for (; length % prime == 0; length /= prime)
      product *= prime;
  return product;
}

/// Of complex numbers: convolutions for the large primes alone, of every count-th element, then passes for the others
/// (Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965). Every count-th
/// element becomes a line, so that the convolutions are of lines, the passes of columns, and the result is in order.
Real transformByParts(Expander &e, Real joined, int64_t dim, StringRef kind, int64_t length) {
  int64_t count = passesOf(length), rest = length / count, sign = kind == "FFT" ? -1 : 1;
  if (count == 1)
    return transformByConvolution(e, joined, dim, kind, length);
  SmallVector<int64_t> flat(joined.shape()), split(flat), lines(flat);
  split[dim] = rest;
  split.insert(split.begin() + dim + 1, count);
  lines[dim] = count;
  lines.insert(lines.begin() + dim + 1, rest);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(split.size())));
  std::swap(order[dim], order[dim + 1]);
  Numbers turns;
  for (int64_t j = 0; j < count; ++j)
    for (int64_t k = 0; k < rest; ++k)
      turns.push_back(rootOfUnity(sign * j * k, length));
  Real convolved = transformByConvolution(e, joined.reshape(split).transpose(order), dim + 1, kind, rest);
  Real turned = join(scaleBy(takeApart(convolved.reshape(flat)), turns, dim));
  return transform(e, turned.reshape(lines), dim, kind, count).reshape(flat);
}

//===- The operation ------------------------------------------------------===//

/// A program holds constants of a few times as many elements as such a transform has.
constexpr int64_t kMaxConvolution = int64_t(1) << 20;
/// More than a device has memory for is a mistake in the program.
constexpr int64_t kMaxLength = int64_t(1) << 30;

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
    if (length > kMaxLength || (length > kMaxConvolution && !spmd::isFourierLength(length)))
      return refuse(op, "transforms " + Twine(length) + " elements along a dimension; more than " +
                            Twine(kMaxConvolution) + " must be a product of primes up to " +
                            Twine(spmd::kMaxFourierPrime) + ", so pad it with zeros");
  Parts parts = e.get(op.getOperand());
  Arrays x{e.real(parts.re)};
  if (!isFromReal)
    x.push_back(e.real(parts.im));
  if (type.getNumElements() == 0) {
    auto zeros = e.real(parts.re).constant({}, {0.0}).broadcast(result.getShape(), {});
    return SmallVector<Parts>{{zeros.get(), isToReal ? Value() : zeros.get()}};
  }
  Real joined = join(x);
  // The dimension that is real on one side comes first from there.
  for (int64_t i : llvm::seq<int64_t>(0, count)) {
    int64_t place = isToReal ? i : count - 1 - i, length = lengths[place];
    StringRef one = place + 1 == count ? kind : isForward ? "FFT" : "IFFT";
    bool isComplexBoth = one == "FFT" || one == "IFFT";
    joined = spmd::isFourierLength(length) ? transform(e, joined, first + place, one, length)
             : isComplexBoth               ? transformByParts(e, joined, first + place, one, length)
                                           : transformByConvolution(e, joined, first + place, one, length);
  }
  x = takeApart(joined);
  return SmallVector<Parts>{{x[0].get(), isToReal ? Value() : x[1].get()}};
}

} // namespace

void addFourierRules(ComplexRules &rules) { rules[FftOp::getOperationName()] = fft; }

} // namespace spmdc::stablehlo
