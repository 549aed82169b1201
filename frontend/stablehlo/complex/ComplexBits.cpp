//===- ComplexBits.cpp - the bits of complex numbers ----------------------===//
//
// A complex number is its two parts in memory, the real one first, at the lower bits. So a bitcast of complex numbers
// is that of an array with both parts along an additional last dimension, whose elements are then regrouped.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/ComplexFormula.h"

#include "runtime/support/ArraySize.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The shape of a tensor, with a last dimension for the parts of complex elements.
SmallVector<int64_t> shapeWithParts(Type type) {
  SmallVector<int64_t> shape(llvm::cast<RankedTensorType>(type).getShape());
  if (isComplex(type))
    shape.push_back(2);
  return shape;
}

Expander::Results bitcast(Expander &e, Operation *op) {
  Type source = op->getOperand(0).getType(), target = op->getResult(0).getType();
  if (source == target)
    return SmallVector<Parts>{e.get(op->getOperand(0))};
  Type from = llvm::cast<RankedTensorType>(partOf(source)).getElementType();
  Type to = llvm::cast<RankedTensorType>(partOf(target)).getElementType();
  int64_t fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  SmallVector<int64_t> shape = shapeWithParts(source), result = shapeWithParts(target);
  auto bitsOf = [](ArrayRef<int64_t> sizes, int64_t bits) {
    for (int64_t size : sizes)
      bits = spmd::multiplySaturated(bits, size);
    return bits;
  };
  if (bitsOf(shape, fromBits) != bitsOf(result, toBits) || fromBits == 1 || toBits == 1)
    return refuse(op, "has a result of other bits than its operand");
  Value array = op->getOperand(0);
  if (isComplex(source)) {
    Complex z = complexOf(e, e.get(array));
    SmallVector<int64_t> one(shape);
    one.back() = 1;
    array = z.re.reshape(one).concatenate(z.im.reshape(one), static_cast<int64_t>(one.size()) - 1).get();
  }
  // Elements that are parts of others, and their wider elements, are along the last dimension.
  auto tensorOf = [](ArrayRef<int64_t> sizes, Type element) { return RankedTensorType::get(sizes, element); };
  if (fromBits > toBits) {
    shape.push_back(fromBits / toBits);
    array = e.b.create<BitcastConvertOp>(e.loc, tensorOf(shape, to), array);
    array = e.real(array).reshape(result).get();
  } else {
    SmallVector<int64_t> parts(result);
    if (fromBits < toBits)
      parts.push_back(toBits / fromBits);
    array = e.real(array).reshape(parts).get();
    array = e.b.create<BitcastConvertOp>(e.loc, tensorOf(result, to), array);
  }
  if (!isComplex(target))
    return SmallVector<Parts>{{array, {}}};
  Real both = e.real(array);
  int64_t last = static_cast<int64_t>(result.size()) - 1;
  ArrayRef<int64_t> sizes = ArrayRef(result).drop_back();
  return SmallVector<Parts>{{both.slice(last, 0, 1).reshape(sizes).get(), both.slice(last, 1, 2).reshape(sizes).get()}};
}

} // namespace

void addBitRules(ComplexRules &rules) { rules[BitcastConvertOp::getOperationName()] = bitcast; }

} // namespace spmdc::stablehlo
