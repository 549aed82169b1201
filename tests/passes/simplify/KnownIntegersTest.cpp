//===- KnownIntegersTest.cpp - integers that the compiler knows -----------===//
//
// Random expressions of positions and constants: if the compiler knows the integers of an operation, the reference
// evaluation of the operation on known operands has the same elements.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/KnownIntegers.h"

#include "ir/evaluate/OpEvaluator.h"
#include "tests/programs/generator/Random.h"

#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;

namespace spmdc {
namespace {

class KnownIntegersTest : public ::testing::Test {
protected:
  KnownIntegersTest() {
    context.loadDialect<SpmdDialect, ArrayDialect>();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
  }

  ArrayType typeOf(ArrayRef<int64_t> shape, bool isBool = false) {
    return ArrayType::get(shape, isBool ? builder.getI1Type() : builder.getI32Type());
  }

  Value splat(ArrayRef<int64_t> shape, int64_t value) {
    return builder.create<ConstantOp>(loc, typeOf(shape), Scalar::ofInt(value));
  }

  Value compare(Value x, Value y) {
    ArrayRef<int64_t> shape = cast<ArrayType>(x.getType()).getShape();
    return builder.create<CompareOp>(loc, typeOf(shape, /*isBool=*/true), x, y,
                                     static_cast<ComparisonDirection>(random.integer(0, 5)));
  }

  /// A value of one more operation.
  Value apply(Value x, Value other) {
    auto type = cast<ArrayType>(x.getType());
    ArrayRef<int64_t> shape = type.getShape();
    Value y = random.chance(25) && other.getType() == type ? other : splat(shape, random.integer(-9, 9));
    auto divisor = [&] { return splat(shape, random.chance(80) ? random.integer(1, 9) : -random.integer(1, 9)); };
    switch (random.integer(0, 13)) {
    case 0:
      return builder.create<AddOp>(loc, type, x, y);
    case 1:
      return builder.create<SubtractOp>(loc, type, y, x);
    case 2:
      return builder.create<MultiplyOp>(loc, type, x, splat(shape, random.integer(-3, 3)));
    case 3:
      return builder.create<RemainderOp>(loc, type, x, divisor());
    case 4:
      return builder.create<DivideOp>(loc, type, x, divisor());
    case 5:
      return builder.create<MaximumOp>(loc, type, x, y);
    case 6:
      return builder.create<MinimumOp>(loc, type, y, x);
    case 7:
      return builder.create<ClampOp>(loc, type, splat(shape, -2), x, splat(shape, random.integer(-2, 20)));
    case 8:
      return builder.create<AbsOp>(loc, type, x);
    case 9:
      return builder.create<SelectOp>(loc, type, compare(x, y), x, y);
    case 10:
      return builder.create<ConvertOp>(loc, type, builder.create<AndOp>(loc, compare(x, y), compare(y, x)));
    case 11: {
      SmallVector<int64_t> dims = {random.integer(0, type.getRank() - 1)};
      return builder.create<ReverseOp>(loc, type, x, dims);
    }
    case 12: {
      int64_t dim = random.integer(0, type.getRank() - 1);
      SmallVector<int64_t> joined(shape);
      joined[dim] *= 2;
      return builder.create<ConcatenateOp>(loc, typeOf(joined), ValueRange{x, y}, dim);
    }
    default: {
      SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1), left(shape);
      int64_t dim = random.integer(0, type.getRank() - 1), step = random.integer(1, 2);
      starts[dim] = random.integer(0, shape[dim] - 1);
      strides[dim] = step;
      left[dim] = (shape[dim] - starts[dim] - 1) / step + 1;
      limits[dim] = starts[dim] + (left[dim] - 1) * step + 1;
      return builder.create<SliceOp>(loc, typeOf(left), x, starts, limits, strides);
    }
    }
  }

  /// Positions along one of two dimensions, as an array of both dimensions, or as an array of the other one, flattened.
  Value makePositions() {
    int64_t rows = random.integer(1, 7), columns = random.integer(1, 6);
    switch (random.integer(0, 3)) {
    case 0:
      return builder.create<IotaOp>(loc, typeOf({rows}), 0);
    case 1:
      return builder.create<IotaOp>(loc, typeOf({rows, columns}), random.integer(0, 1));
    case 2: {
      Value flat = builder.create<IotaOp>(loc, typeOf({rows * columns}), 0);
      Value folded = builder.create<ReshapeOp>(loc, typeOf({rows, columns}), flat);
      return builder.create<TransposeOp>(loc, folded, ArrayRef<int64_t>{1, 0});
    }
    default: {
      Value line = builder.create<IotaOp>(loc, typeOf({columns}), 0);
      return builder.create<BroadcastInDimOp>(loc, typeOf({rows, columns}), line, ArrayRef<int64_t>{1});
    }
    }
  }

  const Tensor &evaluate(Value value) {
    auto known = tensors.find(value.getAsOpaquePointer());
    if (known != tensors.end())
      return known->second;
    SmallVector<Tensor> operands;
    for (Value operand : value.getDefiningOp()->getOperands())
      operands.push_back(evaluate(operand));
    return tensors[value.getAsOpaquePointer()] = *evaluateArrayOp(value.getDefiningOp(), operands);
  }

  /// Whether the value is known; if so, compares its elements with the evaluation.
  bool check(IntegerKnowledge &knowledge, Value value) {
    const KnownIntegers *known = knowledge.find(value);
    if (!known)
      return false;
    const Tensor &expected = evaluate(value);
    EXPECT_EQ(ArrayRef<int64_t>(known->shape), ArrayRef<int64_t>(expected.shape));
    SmallVector<int64_t> index(expected.shape.size(), 0);
    do {
      int64_t at = index[known->dim], found = 0;
      auto part = llvm::find_if(known->parts, [&](const auto &part) { return part.begin <= at && at < part.end; });
      if (part == known->parts.end()) {
        ADD_FAILURE() << "position " << at << " is in no part";
        return true;
      }
      found = part->value.base;
      for (auto [stride, position] : llvm::zip(part->value.strides, index))
        found += stride * position;
      EXPECT_EQ(found, expected.at(index).i);
    } while (!HasFailure() && nextIndex(index, expected.shape));
    return true;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module;
  OpBuilder builder{&context};
  Random random{99000};
  std::map<void *, Tensor> tensors; ///< Never iterated.
};

TEST_F(KnownIntegersTest, AreThoseOfTheEvaluation) {
  int known = 0, all = 0;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    IntegerKnowledge knowledge;
    Value positions = makePositions(), value = positions;
    for (int64_t depth = random.integer(1, 6); depth > 0; --depth) {
      value = apply(value, positions);
      SCOPED_TRACE("expression " + std::to_string(i));
      known += check(knowledge, value);
      ++all;
    }
  }
  // Most are known: all functions here are piecewise affine, though some depend on two positions.
  EXPECT_GT(known, all / 2) << "of " << all;
}

} // namespace
} // namespace spmdc
