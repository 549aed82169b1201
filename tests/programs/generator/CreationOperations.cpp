//===- CreationOperations.cpp - new arrays --------------------------------===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

using spmd::DType;

namespace {

bool makeFull(ProgramBuilder &b) {
  DType dtype = b.randomDType();
  b.addConstant(b.randomShape(), dtype, static_cast<double>(b.random.integer(0, dtype == DType::Bool ? 1 : 3)));
  return true;
}

bool makeIota(ProgramBuilder &b) {
  Shape shape = b.randomShape();
  if (shape.empty())
    return false;
  int64_t dim = b.random.integer(0, static_cast<int64_t>(shape.size()) - 1);
  DType dtype = b.random.chance(50) ? b.randomInteger() : b.randomFloat();
  std::string type = dtype == DType::I32 ? listText(shape) : typeText(dtype, shape, b.randomAnnotations(shape.size()));
  return b
      .let("iota(" + type + ", axis=" + b.dimText(dim, static_cast<int64_t>(shape.size())) + ")", {}, dtype, shape,
           {.bound = static_cast<double>(shape[dim]), .bits = true})
      .has_value();
}

bool makeArange(ProgramBuilder &b) {
  int64_t start = b.random.integer(-5, 5), step = b.random.pick({1, 1, 2, 3, -1}), count = b.randomSize();
  std::string stop = std::to_string(start + step * count);
  double bound = static_cast<double>(std::max(std::abs(start), std::abs(start + step * count)));
  if (start == 0 && step == 1)
    return b.let("arange(" + stop + ")", {}, DType::I32, {count}, {.bound = bound, .bits = true}).has_value();
  std::string text = "arange(" + std::to_string(start) + ", " + stop;
  if (b.random.chance(30)) // For floats.
    return b.let(text + ".0, " + std::to_string(step) + ")", {}, DType::F32, {count}, {.bound = bound}).has_value();
  return b.let(text + ", " + std::to_string(step) + ")", {}, DType::I32, {count}, {.bound = bound, .bits = true})
      .has_value();
}

bool makeEye(ProgramBuilder &b) {
  int64_t rows = b.randomSize(), columns = b.randomSize(), k = b.random.integer(-2, 2);
  std::string text = "eye(" + std::to_string(rows) + ", " + std::to_string(columns) + ", k=" + std::to_string(k) + ")";
  if (b.random.chance(40)) {
    text = "eye(" + std::to_string(rows) + ")";
    columns = rows;
  }
  return b.let(text, {}, DType::F32, {rows, columns}, {.bound = 1, .bits = true}).has_value();
}

bool makeTriangle(ProgramBuilder &b, const std::string &name) {
  std::optional<int> x = b.find([&](int v) { return b.rankOf(v) >= 2; });
  if (!x)
    return false;
  std::string k = b.random.chance(50) ? ", k=" + std::to_string(b.random.integer(-3, 3)) : "";
  return b.let(name + "($0" + k + ")", {*x}, b.dtypeOf(*x), b.shapeOf(*x), b.of(*x)).has_value();
}

bool makeOneHot(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return spmd::isInteger(b.dtypeOf(v)) && b.rankOf(v) < 4; });
  if (!x)
    return false;
  Shape shape = b.shapeOf(*x);
  shape.push_back(b.randomSize());
  return b.let("one_hot($0, " + std::to_string(shape.back()) + ")", {*x}, DType::F32, shape, {.bound = 1, .bits = true})
      .has_value();
}

} // namespace

std::vector<Operation> creationOperations() {
  return {
      {"full", 3, makeFull},
      {"iota", 4, makeIota},
      {"arange", 3, makeArange},
      {"eye", 2, makeEye},
      {"tril", 2, [](ProgramBuilder &b) { return makeTriangle(b, "tril"); }},
      {"triu", 2, [](ProgramBuilder &b) { return makeTriangle(b, "triu"); }},
      {"one_hot", 3, makeOneHot},
  };
}

} // namespace spmdc
