//===- ComplexArithmetic.cpp - parts, orders, products ---------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/ComplexFormula.h"

#include <complex>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

using Results = Expander::Results;

Results one(Parts parts) { return SmallVector<Parts>{parts}; }

//===- Parts --------------------------------------------------------------===//

Results complexOp(Expander &e, Operation *op) { return one({op->getOperand(0), op->getOperand(1)}); }
Results realOp(Expander &e, Operation *op) { return one({e.get(op->getOperand(0)).re, {}}); }
Results imagOp(Expander &e, Operation *op) { return one({e.get(op->getOperand(0)).im, {}}); }

/// Between the widths, from real numbers, and to them.
Results convert(Expander &e, Operation *op) {
  Type type = partOf(op->getResult(0).getType());
  Parts from = e.get(op->getOperand(0));
  Value re = e.b.create<ConvertOp>(e.loc, type, from.re);
  if (!isComplex(op->getResult(0).getType()))
    return one({re, {}});
  if (!isComplex(op->getOperand(0).getType()))
    return one({re, e.real(re).like(0).get()});
  return one({re, e.b.create<ConvertOp>(e.loc, type, from.im)});
}

Results constant(Expander &e, Operation *op) {
  auto value = llvm::dyn_cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue());
  if (!value || value.getType() != op->getResult(0).getType())
    return refuse(op, "has no dense value in the text; export with the constants written out");
  auto type = llvm::cast<RankedTensorType>(partOf(value.getType()));
  Parts parts;
  for (bool isImaginary : {false, true}) {
    auto partOf = [&](const std::complex<APFloat> &number) { return isImaginary ? number.imag() : number.real(); };
    SmallVector<APFloat> numbers;
    if (value.isSplat())
      numbers.push_back(partOf(value.getSplatValue<std::complex<APFloat>>()));
    else
      llvm::append_range(numbers, llvm::map_range(value.getValues<std::complex<APFloat>>(), partOf));
    (isImaginary ? parts.im : parts.re) = e.b.create<ConstantOp>(e.loc, type, DenseElementsAttr::get(type, numbers));
  }
  return one(parts);
}

Results iota(Expander &e, Operation *op) {
  Value re = e.copy(op, {}, partOf(op->getResult(0).getType()));
  return one({re, e.real(re).like(0).get()});
}

//===- Comparisons --------------------------------------------------------===//

Results compare(Expander &e, Operation *op) {
  StringRef direction = cast<CompareOp>(op).getComparisonDirection().getValue();
  if (direction != "EQ" && direction != "NE")
    return refuse(op, "orders complex numbers (" + direction + "), which have no order; compare their parts");
  Parts x = e.get(op->getOperand(0)), y = e.get(op->getOperand(1));
  Real re = e.real(x.re).compare(direction, e.real(y.re)), im = e.real(x.im).compare(direction, e.real(y.im));
  return one({(direction == "EQ" ? re & im : re | im).get(), {}});
}

/// As XLA does it on a CPU: the real parts alone decide, and a bound of the same real part replaces the lower side. The
/// order of `jnp.clip`, which JAX exports as comparisons of both parts, is another one.
Results clamp(Expander &e, Operation *op) {
  if (!haveComplexValues(op))
    return refuseMixed(op);
  Complex x = complexOf(e, e.get(op->getOperand(1)));
  auto boundOf = [&](unsigned number) {
    Complex bound = complexOf(e, e.get(op->getOperand(number)));
    if (!bound.re.shape().empty() || x.re.shape().empty())
      return bound;
    return Complex{bound.re.broadcast(x.re.shape(), {}), bound.im.broadcast(x.re.shape(), {})};
  };
  Complex low = boundOf(0), high = boundOf(2);
  Complex above = select(low.re.compare("GE", x.re), low, x);
  return one(partsOf(select(above.re.compare("LE", high.re), above, high)));
}

/// The larger (smaller) one in the order of the real parts, and of the imaginary parts where these are equal. With NaN
/// it is the right one, as in JAX's code for complex maxima.
template <const char *direction> Results choose(Expander &e, Operation *op) {
  if (!haveComplexValues(op))
    return refuseMixed(op);
  Complex x = complexOf(e, e.get(op->getOperand(0))), y = complexOf(e, e.get(op->getOperand(1)));
  Real isLeft = (x.re == y.re).select(x.im.compare(direction, y.im), x.re.compare(direction, y.re));
  return one(partsOf(select(isLeft, x, y)));
}

constexpr char kGreater[] = "GT", kLess[] = "LT";

//===- Products -----------------------------------------------------------===//

/// multiply, dot_general, convolution: (a + ib) (c + id) = (ac - bd) + i (ad + bc), each product the operation of real
/// arrays.
Results bilinear(Expander &e, Operation *op) {
  if (!haveComplexValues(op))
    return refuseMixed(op);
  Parts x = e.get(op->getOperand(0)), y = e.get(op->getOperand(1));
  Type type = partOf(op->getResult(0).getType());
  auto product = [&](Value left, Value right) { return e.real(e.copy(op, {left, right}, type)); };
  // Sums of products with a part that is zero are left out: a real array times a complex one is half of the work.
  // Products of elements are kept, because 0 times infinity is not 0.
  bool isSum = !isa<MultiplyOp>(op);
  bool isRealLeft = isSum && isZero(x.im), isRealRight = isSum && isZero(y.im);
  Real re = product(x.re, y.re);
  if (isRealLeft && isRealRight)
    return one({re.get(), re.like(0).get()});
  if (isRealLeft)
    return one({re.get(), product(x.re, y.im).get()});
  if (isRealRight)
    return one({re.get(), product(x.im, y.re).get()});
  re = re - product(x.im, y.im);
  Real im = product(x.re, y.im);
  return one({re.get(), (im + product(x.im, y.re)).get()});
}

/// The product along one dimension, of which one element is left: halves are multiplied with each other.
Complex multiplyAlong(Complex z, int64_t dim) {
  auto sliceOf = [&](int64_t begin, int64_t end) {
    return Complex{z.re.slice(dim, begin, end), z.im.slice(dim, begin, end)};
  };
  while (z.re.shape()[dim] > 1) {
    int64_t size = z.re.shape()[dim], half = size / 2;
    Complex product = sliceOf(0, half) * sliceOf(half, 2 * half);
    if (size % 2) {
      Complex last = sliceOf(size - 1, size);
      product = {product.re.concatenate(last.re, dim), product.im.concatenate(last.im, dim)};
    }
    z = product;
  }
  if (z.re.shape()[dim] == 1)
    return z;
  SmallVector<int64_t> one(z.re.shape());
  one[dim] = 1;
  return {z.re.constant({}, {1.0}).broadcast(one, {}), z.re.constant({}, {0.0}).broadcast(one, {})};
}

/// A reduction by a product of complex numbers: sums, and everything that is no product, are expanded
/// otherwise.
Results reduce(Expander &e, Operation *source) {
  auto op = cast<ReduceOp>(source);
  bool isOne = op.getInputs().size() == 1 && isComplex(op.getInputs()[0].getType()) &&
               isComplex(op.getResult(0).getType()) && isComplex(op.getInitValues()[0].getType());
  if (!isOne || Translation::getReductionKind(op.getBody()) != ReductionKind::prod)
    return SmallVector<Parts>();
  auto type = llvm::cast<RankedTensorType>(op.getInputs()[0].getType());
  SmallVector<int64_t> dims(op.getDimensions()), shape(type.getShape());
  if (!areDims(dims, type.getRank()) || llvm::cast<RankedTensorType>(op.getInitValues()[0].getType()).getRank() != 0)
    return refuse(op, "has dimensions or a region that do not fit its operands");
  Complex product = complexOf(e, e.get(op.getInputs()[0]));
  llvm::sort(dims, std::greater<>());
  for (int64_t dim : dims) {
    product = multiplyAlong(product, dim);
    shape.erase(shape.begin() + dim);
  }
  Complex init = complexOf(e, e.get(op.getInitValues()[0]));
  Complex initial{init.re.broadcast(shape, {}), init.im.broadcast(shape, {})};
  return one(partsOf(initial * Complex{product.re.reshape(shape), product.im.reshape(shape)}));
}

} // namespace

void addArithmeticRules(ComplexRules &rules) {
  rules[ComplexOp::getOperationName()] = complexOp;
  rules[RealOp::getOperationName()] = realOp;
  rules[ImagOp::getOperationName()] = imagOp;
  rules[ConvertOp::getOperationName()] = convert;
  rules[ConstantOp::getOperationName()] = constant;
  rules[IotaOp::getOperationName()] = iota;
  rules[CompareOp::getOperationName()] = compare;
  rules[ClampOp::getOperationName()] = clamp;
  rules[MaximumOp::getOperationName()] = choose<kGreater>;
  rules[MinimumOp::getOperationName()] = choose<kLess>;
  rules[MultiplyOp::getOperationName()] = bilinear;
  rules[DotGeneralOp::getOperationName()] = bilinear;
  rules[ConvolutionOp::getOperationName()] = bilinear;
  rules[ReduceOp::getOperationName()] = reduce;
}

} // namespace spmdc::stablehlo
