//===- IrOperations.cpp - operations without a name in the language -------===//
//
// Operations, or attributes of them, that no expression of the language creates, but that other front ends and passes
// may create: logical shifts of signed integers, bitwise reductions, negative and interior padding, wide results of
// narrow products. A new one is one more case of `addOne`.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "tests/programs/support/Case.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

constexpr int64_t kMaxElements = 3000;

class IrOperations {
public:
  IrOperations(ModuleOp module, uint64_t seed, std::vector<Accuracy> &known)
      : random(seed * 0x9E3779B97F4A7C15u + 7), builder(module.getContext()), known(known) {
    function = *module.getOps<func::FuncOp>().begin();
    end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    builder.setInsertionPoint(end);
    loc = end.getLoc();
  }

  void run() {
    for (int64_t i = random.integer(0, 2); i > 0; --i)
      addOne(static_cast<size_t>(random.integer(0, static_cast<int64_t>(end.getNumOperands()) - 1)));
  }

private:
  void addOne(size_t number) {
    Value x = end.getOperand(static_cast<unsigned>(number));
    auto type = cast<ArrayType>(cast<ArrayType>(x.getType()).withoutSharding());
    Accuracy accuracy = known[number];
    spmd::DType dtype = type.getDType();
    bool isInteger = spmd::isInteger(dtype);
    Accuracy any{.bound = isInteger ? integerBound(dtype) : 1, .bits = true};
    switch (random.integer(0, 7)) {
    case 0:
      if (isInteger)
        add(builder.create<PopcntOp>(loc, type, x), any);
      break;
    case 1:
      if (isInteger)
        add(builder.create<ShiftRightLogicalOp>(loc, type, x, x), any);
      break;
    case 2:
      if (!spmd::isFloat(dtype))
        add(builder.create<NotOp>(loc, type, x), any);
      break;
    case 3:
      if (!spmd::isFloat(dtype) && type.getRank() > 0)
        add(builder.create<ReduceOp>(loc, x, random.pick({ReductionKind::and_, ReductionKind::or_}), randomDims(type)),
            any);
      break;
    case 4:
      addCumulative(x, type, accuracy);
      break;
    case 5:
      addPad(x, type, accuracy);
      break;
    case 6:
      addWideProduct(x, type, accuracy);
      break;
    default: // The truncating quotient.
      if (isInteger)
        add(builder.create<DivideOp>(loc, type, x, x), any);
      break;
    }
  }

  void add(Value value, const Accuracy &accuracy) {
    unsigned number = end.getNumOperands();
    function.insertResult(number, value.getType(),
                          builder.getDictionaryAttr(builder.getNamedAttr(
                              kNameAttrName, builder.getStringAttr("r" + std::to_string(number)))));
    end->insertOperands(number, value);
    known.push_back(accuracy);
  }

  SmallVector<int64_t> randomDims(ArrayType type) {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (random.chance(55))
        dims.push_back(dim);
    return dims;
  }

  void addCumulative(Value x, ArrayType type, const Accuracy &accuracy) {
    if (type.getRank() == 0)
      return;
    ReductionKind kind = ReductionKind::min;
    if (!spmd::isFloat(type.getDType()))
      kind = random.pick({ReductionKind::min, ReductionKind::and_, ReductionKind::or_});
    auto dim = static_cast<uint64_t>(random.integer(0, type.getRank() - 1));
    bool isReversed = random.chance(50), isContinued = dim > 0 && random.chance(30);
    add(builder.create<CumulativeOp>(loc, type, x, kind, dim, isReversed, isContinued), accuracy);
  }

  /// Negative widths remove elements, interior ones spread them.
  void addPad(Value x, ArrayType type, const Accuracy &accuracy) {
    SmallVector<int64_t> low, high, interior, shape;
    for (int64_t size : type.getShape()) {
      low.push_back(random.integer(-1, 2));
      high.push_back(random.integer(-1, 2));
      interior.push_back(random.chance(40) ? random.integer(1, 2) : 0);
      shape.push_back(low.back() + high.back() + (size ? (size - 1) * (interior.back() + 1) + 1 : 0));
      if (shape.back() < 0)
        return;
    }
    if (elementCount(shape) > kMaxElements)
      return;
    Scalar fill = spmd::isFloat(type.getDType()) ? Scalar::ofFloat(1) : Scalar::ofInt(1);
    Value value = builder.create<ConstantOp>(loc, type.withShape({}), fill);
    add(builder.create<PadOp>(loc, type.withShape(shape), x, value, low, high, interior), accuracy);
  }

  /// The sum of squares over the last dimension of a narrow float, in f32.
  void addWideProduct(Value x, ArrayType type, const Accuracy &accuracy) {
    spmd::DType dtype = type.getDType();
    if ((dtype != spmd::DType::BF16 && dtype != spmd::DType::F16) || type.getRank() == 0 ||
        !std::isfinite(accuracy.bound))
      return;
    int64_t last = type.getRank() - 1, depth = type.getDimSize(last);
    SmallVector<int64_t> batch, contract = {last};
    for (int64_t dim = 0; dim < last; ++dim)
      batch.push_back(dim);
    ArrayType wide = type.withShape(type.getShape().drop_back()).withElementType(builder.getF32Type());
    auto terms = static_cast<double>(std::max<int64_t>(depth, 1));
    double bound = terms * accuracy.bound * accuracy.bound;
    auto dims = [&](ArrayRef<int64_t> list) { return builder.getDenseI64ArrayAttr(list); };
    add(builder.create<DotGeneralOp>(loc, wide, x, x, dims(contract), dims(contract), dims(batch), dims(batch)),
        computed(spmd::DType::F32, accuracy.exact, bound, 2 * accuracy.grain,
                 2 * terms * accuracy.bound * accuracy.error + terms * roundoff(spmd::DType::F32) * bound, 4));
  }

  Random random;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  func::FuncOp function;
  func::ReturnOp end;
  std::vector<Accuracy> &known;
};

} // namespace

void addIrOperations(ModuleOp module, uint64_t seed, std::vector<Accuracy> &results) {
  IrOperations(module, seed, results).run();
}

} // namespace spmdc
