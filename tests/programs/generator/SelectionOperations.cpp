//===- SelectionOperations.cpp - where, clamp, and resharding -------------===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

using spmd::DType;

namespace {

bool makeWhere(ProgramBuilder &b) {
  int x = b.any(), y = b.broadcastable(x, b.random.chance(25));
  std::optional<Shape> shape = broadcastShapes(b.shapeOf(x), b.shapeOf(y));
  int condition = b.matching(*shape, DType::Bool);
  DType dtype = promoted(b.dtypeOf(x), b.dtypeOf(y));
  Accuracy accuracy = eitherOf(converted(b.of(x), b.dtypeOf(x), dtype), converted(b.of(y), b.dtypeOf(y), dtype));
  accuracy.bits &= b.dtypeOf(x) == b.dtypeOf(y);
  return b.let("where($0, $1, $2)", {condition, x, y}, dtype, *shape, accuracy).has_value();
}

bool makeClamp(ProgramBuilder &b) {
  int x = b.any(), low = b.broadcastable(x, false), high = b.broadcastable(x, false);
  std::optional<Shape> shape = broadcastShapes(b.shapeOf(x), b.shapeOf(low));
  shape = broadcastShapes(*shape, b.shapeOf(high));
  if (!shape)
    return false;
  Accuracy accuracy = eitherOf(eitherOf(b.of(x), b.of(low)), b.of(high));
  accuracy.bits &= !spmd::isFloat(b.dtypeOf(x));
  return b.let("clamp($1, $0, $2)", {x, low, high}, b.dtypeOf(x), *shape, accuracy).has_value();
}

bool makeShard(ProgramBuilder &b) {
  int x = b.any();
  std::string text = "shard($0, " + partitionText(b.randomAnnotations(b.shapeOf(x).size())) + ")";
  return b.let(text, {x}, b.dtypeOf(x), b.shapeOf(x), b.of(x)).has_value();
}

bool makeLike(ProgramBuilder &b) {
  int x = b.any();
  std::optional<int> y = b.find([&](int v) { return v != x && b.shapeOf(v) == b.shapeOf(x); });
  return y && b.let("like($0, $1)", {x, *y}, b.dtypeOf(x), b.shapeOf(x), b.of(x));
}

} // namespace

std::vector<Operation> selectionOperations() {
  return {
      {"where", 8, makeWhere},
      {"clamp", 4, makeClamp},
      {"shard", 8, makeShard},
      {"like", 3, makeLike},
  };
}

} // namespace spmdc
