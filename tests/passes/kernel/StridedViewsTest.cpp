//===- StridedViewsTest.cpp - views, compared with the reference evaluator ===//
//
// Random sequences of slices, transposes, broadcasts, reshapes and concatenations of an array of positions: each
// element of the result is the position that the view says.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/StridedViews.h"

#include "ir/evaluate/GlobalEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class RandomViews {
public:
  explicit RandomViews(unsigned seed) : random(seed), b(&context) {
    context.loadDialect<ArrayDialect, SpmdDialect, func::FuncDialect>();
    module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(module->getBody());
  }

  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); }

  Value slice(Value value) {
    SmallVector<int64_t> starts, limits, strides;
    for (int64_t size : shapeOf(value)) {
      starts.push_back(below(3) ? 0 : below(size));
      limits.push_back(below(3) ? size : starts.back() + 1 + below(size - starts.back()));
      strides.push_back(1 + below(2) * below(2));
    }
    return b.create<SliceOp>(b.getUnknownLoc(), value, starts, limits, strides);
  }

  Value transpose(Value value) {
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(value).size())), shape;
    std::shuffle(perm.begin(), perm.end(), random);
    for (int64_t dim : perm)
      shape.push_back(shapeOf(value)[dim]);
    return b.create<TransposeOp>(b.getUnknownLoc(), typeOf(value).withShape(shape), value, perm);
  }

  Value reshape(Value value) {
    // Splits a dimension, or merges two.
    SmallVector<int64_t> shape(shapeOf(value));
    auto dim = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
    if (below(2) && dim + 1 < shape.size()) {
      shape[dim] *= shape[dim + 1];
      shape.erase(shape.begin() + dim + 1);
    } else {
      int64_t major = std::gcd<int64_t>(shape[dim], 1 + below(4));
      shape[dim] /= major;
      shape.insert(shape.begin() + dim, major);
    }
    return b.create<ReshapeOp>(b.getUnknownLoc(), typeOf(value).withShape(shape), value);
  }

  Value broadcast(Value value) {
    SmallVector<int64_t> shape(shapeOf(value)), dims;
    int64_t place = below(static_cast<int64_t>(shape.size()) + 1);
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
      dims.push_back(dim + (dim >= place));
    shape.insert(shape.begin() + place, 1 + below(3));
    return b.create<BroadcastInDimOp>(b.getUnknownLoc(), typeOf(value).withShape(shape), value, dims);
  }

  /// Slices that begin one after the other along a dimension, side by side along one.
  Value patches(Value value) {
    auto rank = static_cast<int64_t>(shapeOf(value).size());
    int64_t moved = below(rank), along = below(rank), size = shapeOf(value)[moved];
    int64_t count = std::min<int64_t>(size, 1 + below(3)), irregular = below(5) == 0;
    SmallVector<Value> parts;
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<int64_t> starts(rank, 0), limits(shapeOf(value)), strides(rank, 1);
      starts[moved] = irregular && i == 1 ? 0 : i;
      limits[moved] = starts[moved] + size - count + 1;
      parts.push_back(b.create<SliceOp>(b.getUnknownLoc(), value, starts, limits, strides));
    }
    SmallVector<int64_t> shape(shapeOf(parts[0]));
    shape[along] *= count;
    return b.create<ConcatenateOp>(b.getUnknownLoc(), typeOf(value).withShape(shape), parts, along);
  }

  Value step(Value value) {
    switch (below(5)) {
    case 0:
      return slice(value);
    case 1:
      return transpose(value);
    case 2:
      return reshape(value);
    case 3:
      return broadcast(value);
    default:
      return patches(value);
    }
  }

  /// Returns whether a view was found that is not of the result itself.
  bool check() {
    SmallVector<int64_t> shape;
    for (int64_t rank = 1 + below(3); rank > 0; --rank)
      shape.push_back(1 + below(6));
    auto type = ArrayType::get(shape, b.getI32Type());
    auto function = func::FuncOp::create(b.getUnknownLoc(), "main", b.getFunctionType({type}, {}));
    b.insert(function);
    Block *body = function.addEntryBlock();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(body);
    Value array = body->getArgument(0), value = array;
    for (int64_t steps = 1 + below(5); steps > 0; --steps)
      value = step(value);
    std::optional<StridedView> view = StridedView::of(value);
    if (!view)
      return ADD_FAILURE() << "no view", false;
    b.create<func::ReturnOp>(b.getUnknownLoc(), ValueRange{value, view->array});
    function.setType(b.getFunctionType({type}, {value.getType(), view->array.getType()}));
    Tensor positions(type.getShape(), type.getElementType());
    for (size_t i = 0; i < positions.elements.size(); ++i)
      positions.elements[i] = Scalar::ofInt(static_cast<int64_t>(i));
    FailureOr<SmallVector<Tensor>> results = evaluateGlobal(function, {positions});
    if (failed(results))
      return ADD_FAILURE() << "not evaluated", false;
    const Tensor &expected = (*results)[0], &source = (*results)[1];
    SmallVector<int64_t> index(shapeOf(value).size(), 0);
    size_t number = 0;
    do {
      int64_t position = view->offset;
      for (auto [dim, i] : llvm::enumerate(index)) {
        EXPECT_EQ(countOf(view->dims[dim]), shapeOf(value)[dim]);
        position += positionOf(view->dims[dim], i);
      }
      EXPECT_EQ(expected.elements[number++].i, source.elements[position].i);
      if (::testing::Test::HasFailure()) {
        function.dump();
        return false;
      }
    } while (nextIndex(index, shapeOf(value)));
    return view->array == array;
  }

private:
  std::mt19937 random;
  MLIRContext context;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
};

TEST(StridedViews, EveryElementIsWhereTheViewSays) {
  RandomViews views(5);
  int found = 0;
  for (int i = 0; i < 2000 && !HasFailure(); ++i)
    found += views.check();
  EXPECT_GT(found, 1000) << "most sequences are views of the array";
}

} // namespace
} // namespace spmdc
