//===- LookupOperations.cpp - lookups at run-time indices, sorts ----------===//
//
// Indices are any integers of the program, so that many are out of bounds; half of the time they are reduced to about
// the size first.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::DType;

namespace {

/// An array of integers to index with.
struct Indices {
  int variable;
  std::string text; ///< With `$1`.
};

std::optional<Indices> anyIndices(ProgramBuilder &b, int64_t size, std::optional<Shape> shape = std::nullopt) {
  std::optional<int> found;
  if (shape)
    found = b.matching(*shape, b.random.chance(70) ? DType::I32 : b.randomInteger());
  else
    found = b.find([&](int v) { return spmd::isInteger(b.dtypeOf(v)) && b.rankOf(v) < 4; });
  if (!found)
    return std::nullopt;
  std::string text = "$1";
  if (size > 0 && b.random.chance(60)) {
    // A small type cannot represent this divisor, and all of its values are in bounds anyway.
    int64_t divisor = size + b.random.integer(0, 1);
    if (static_cast<double>(divisor) < integerBound(b.dtypeOf(*found)))
      text += " % " + std::to_string(divisor);
  }
  return Indices{*found, text};
}

/// Returns the accuracy with the fill value for indices out of bounds: NaN, or the limit of the range.
Accuracy filled(DType dtype, Accuracy accuracy) {
  if (spmd::isFloat(dtype))
    accuracy.bits = false;
  else
    accuracy.bound = integerBound(dtype);
  return accuracy;
}

/// Returns the shape with one dimension replaced by several.
Shape replaceDim(const Shape &shape, int64_t dim, const Shape &by) {
  Shape result(shape.begin(), shape.begin() + dim);
  result.append(by.begin(), by.end());
  result.append(shape.begin() + dim + 1, shape.end());
  return result;
}

bool makeTake(ProgramBuilder &b) {
  int x = b.any();
  bool isFlat = b.rankOf(x) == 0 || b.random.chance(20);
  const Shape shape = isFlat ? Shape{countOf(b.shapeOf(x))} : b.shapeOf(x);
  auto rank = static_cast<int64_t>(shape.size()), dim = b.random.integer(0, rank - 1);
  std::optional<Indices> indices = anyIndices(b, shape[dim]);
  if (!indices || (shape[dim] == 0 && countOf(b.shapeOf(indices->variable)) > 0))
    return false;
  std::string text = "take($0, " + indices->text + (isFlat ? ")" : ", axis=" + b.dimText(dim, rank) + ")");
  return b
      .let(text, {x, indices->variable}, b.dtypeOf(x), replaceDim(shape, dim, b.shapeOf(indices->variable)),
           filled(b.dtypeOf(x), b.of(x)))
      .has_value();
}

/// Returns a value with a dimension that is not empty, and that dimension.
std::optional<std::pair<int, int64_t>> anyDim(ProgramBuilder &b, llvm::function_ref<bool(int)> test) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.rankOf(v) > 0 && test(v); });
  if (!x)
    return std::nullopt;
  int64_t dim = b.random.integer(0, b.rankOf(*x) - 1);
  return b.shapeOf(*x)[dim] > 0 ? std::optional(std::pair(*x, dim)) : std::nullopt;
}

bool isAnything(int) { return true; }

bool makeTakeAlong(ProgramBuilder &b) {
  auto found = anyDim(b, isAnything);
  if (!found)
    return false;
  auto [x, dim] = *found;
  Shape shape = b.shapeOf(x);
  int64_t size = shape[dim];
  shape[dim] = b.randomSize();
  if (!b.fits(shape))
    return false;
  Indices indices = *anyIndices(b, size, shape);
  std::string text = "take_along_axis($0, " + indices.text + ", axis=" + b.dimText(dim, b.rankOf(x)) + ")";
  return b.let(text, {x, indices.variable}, b.dtypeOf(x), shape, filled(b.dtypeOf(x), b.of(x))).has_value();
}

/// x[i], x[:, i], and two indices together.
bool makeLookup(ProgramBuilder &b) {
  auto found = anyDim(b, isAnything);
  if (!found)
    return false;
  auto [x, dim] = *found;
  const Shape shape = b.shapeOf(x);
  std::optional<Indices> indices = anyIndices(b, shape[dim]);
  if (!indices)
    return false;
  std::string text;
  for (int64_t d = 0; d < dim; ++d)
    text += ":, ";
  text += indices->text;
  const Shape &taken = b.shapeOf(indices->variable);
  Shape result = replaceDim(shape, dim, taken);
  // The next dimension with the same indices, from the other end.
  if (dim + 1 < b.rankOf(x) && shape[dim + 1] > 0 && b.random.chance(40)) {
    text += ", " + std::string(spmd::isUnsigned(b.dtypeOf(indices->variable)) ? "$1" : "-$1");
    result.erase(result.begin() + dim + static_cast<int64_t>(taken.size()));
  }
  return b.let("$0[" + text + "]", {x, indices->variable}, b.dtypeOf(x), result, b.of(x)).has_value();
}

/// Returns constant indices, most of them in bounds, and their shape.
std::pair<std::string, Shape> constantIndices(ProgramBuilder &b, int64_t size) {
  int64_t count = b.random.integer(1, size + 2), some = b.random.integer(1, 3), far = b.random.integer(-size, size);
  std::string n = std::to_string(count), s = std::to_string(size), k = std::to_string(some), c = std::to_string(far);
  switch (b.random.integer(0, 9)) {
  case 0:
    return {"(arange(" + n + ") + " + c + ") % " + s, {count}};
  case 1:
    return {"arange(" + n + ")", {count}};
  case 2:
    return {s + " - 1 - arange(" + n + ")", {count}};
  case 3:
    return {"arange(" + n + ") * " + k + " + " + c, {count}};
  case 4:
    return {"floor_divide(arange(" + n + "), " + k + ")", {count}};
  case 5:
    return {"where(arange(" + n + ") < " + k + ", " + c + ", arange(" + n + "))", {count}};
  case 6:
    return {"minimum(abs(arange(" + n + ") - " + k + "), " + s + " - 1)", {count}};
  case 7:
    return {"reshape(arange(" + std::to_string(some * count) + "), [" + n + ", " + k + "])", {count, some}};
  case 8:
    return {"arange(" + n + ")[:, None] + arange(" + k + ")", {count, some}};
  default:
    return {"stack([" + c + ", 0, " + k + "])", {3}};
  }
}

/// x[:, i], take and take_along_axis with constant indices.
bool makeConstantLookup(ProgramBuilder &b) {
  auto found = anyDim(b, isAnything);
  if (!found)
    return false;
  auto [x, dim] = *found;
  const Shape shape = b.shapeOf(x);
  int64_t rank = b.rankOf(x);
  auto [text, taken] = constantIndices(b, shape[dim]);
  Shape result = replaceDim(shape, dim, taken);
  if (!b.fits(result) || result.size() > 5)
    return false;
  if (b.random.chance(30))
    return b
        .let("take($0, " + text + ", axis=" + b.dimText(dim, rank) + ")", {x}, b.dtypeOf(x), result,
             filled(b.dtypeOf(x), b.of(x)))
        .has_value();
  if (rank == 1 && taken.size() == 1 && b.random.chance(30))
    return b.let("take_along_axis($0, " + text + ", axis=0)", {x}, b.dtypeOf(x), result, filled(b.dtypeOf(x), b.of(x)))
        .has_value();
  std::string before;
  for (int64_t d = 0; d < dim; ++d)
    before += ":, ";
  return b.let("$0[" + before + text + "]", {x}, b.dtypeOf(x), result, b.of(x)).has_value();
}

/// A diagonal, or a part of it.
bool makeDiagonal(ProgramBuilder &b) {
  auto found = anyDim(b, [&](int v) { return b.rankOf(v) > 1; });
  if (!found)
    return false;
  int x = found->first;
  Shape shape = b.shapeOf(x);
  int64_t dim = b.random.integer(0, b.rankOf(x) - 2), rows = shape[dim], columns = shape[dim + 1];
  if (rows == 0 || columns == 0)
    return false;
  int64_t at = b.random.integer(0, columns - 1), count = std::min(rows, columns - at);
  std::string before, n = "arange(" + std::to_string(count) + ")";
  for (int64_t d = 0; d < dim; ++d)
    before += ":, ";
  Shape result = replaceDim(shape, dim, {count});
  result.erase(result.begin() + dim + 1);
  return b.let("$0[" + before + n + ", " + n + " + " + std::to_string(at) + "]", {x}, b.dtypeOf(x), result, b.of(x))
      .has_value();
}

/// An element of a list, also of one that a loop carries or that is defined outside of a loop.
bool makeListElement(ProgramBuilder &b) {
  int x = b.any(), y = b.matching(b.shapeOf(x), b.dtypeOf(x));
  std::optional<int> index = b.find([&](int v) { return spmd::isInteger(b.dtypeOf(v)) && b.rankOf(v) == 0; });
  std::string text = "[$0, $1, $0][" + std::string(index ? "$2" : "cast(true, i32)") + "]";
  if (b.random.chance(50))
    text = "for k in -1..2 carry (p = $0) { let pair = [p, $1]; yield if k > 0 { [$1, $0, $1][k] } else { pair[k] }; }";
  return b.let(text, {x, y, index.value_or(0)}, b.dtypeOf(x), b.shapeOf(x), eitherOf(b.of(x), b.of(y))).has_value();
}

bool makeUpdate(ProgramBuilder &b) {
  int x = b.any();
  Shape window = b.shapeOf(x);
  std::string starts;
  int64_t run = b.random.integer(0, std::max<int64_t>(b.rankOf(x) - 1, 0));
  std::optional<int> start = b.find([&](int v) { return spmd::isInteger(b.dtypeOf(v)) && b.rankOf(v) == 0; });
  for (auto [dim, size] : llvm::enumerate(window)) {
    if (size > 0 && b.random.chance(70))
      size = b.random.integer(1, size);
    bool isRunTime = start && (static_cast<int64_t>(dim) == run || b.random.chance(30));
    starts += (dim ? ", " : "") + (isRunTime ? "$2" : std::to_string(b.random.integer(-size, size + 2)));
  }
  int v = b.matching(window, b.dtypeOf(x));
  return b
      .let("update($0, $1, start=[" + starts + "])", {x, v, start.value_or(0)}, b.dtypeOf(x), b.shapeOf(x),
           eitherOf(b.of(x), b.of(v)))
      .has_value();
}

bool makeScatterAdd(ProgramBuilder &b) {
  auto found = anyDim(b, [&](int v) { return b.dtypeOf(v) != DType::Bool; });
  if (!found)
    return false;
  int64_t dim = found->second;
  int x = b.tame(found->first);
  std::optional<Indices> indices = anyIndices(b, b.shapeOf(x)[dim]);
  if (!indices)
    return false;
  Shape shape = replaceDim(b.shapeOf(x), dim, b.shapeOf(indices->variable));
  if (!b.fits(shape))
    return false;
  DType dtype = b.dtypeOf(x);
  int v = b.tame(b.matching(shape, dtype));
  const Accuracy in = b.of(x), added = b.of(v);
  auto terms = static_cast<double>(countOf(b.shapeOf(indices->variable)));
  double bound = in.bound + terms * added.bound;
  std::string text = "scatter_add($0, " + indices->text + ", $2, axis=" + b.dimText(dim, b.rankOf(x)) + ")";
  return b
      .let(text, {x, indices->variable, v}, dtype, b.shapeOf(x),
           summed(dtype, in.exact && added.exact, bound, std::max(in.grain, added.grain), terms + 1,
                  in.error + terms * added.error))
      .has_value();
}

std::string axisText(ProgramBuilder &b, int x, int64_t dim) {
  return dim + 1 == b.rankOf(x) && b.random.chance(50) ? ")" : ", axis=" + b.dimText(dim, b.rankOf(x)) + ")";
}

bool makeSort(ProgramBuilder &b) {
  auto found = anyDim(b, isAnything);
  if (!found)
    return false;
  auto [x, dim] = *found;
  return b.let("sort($0" + axisText(b, x, dim), {x}, b.dtypeOf(x), b.shapeOf(x), b.of(x)).has_value();
}

bool makeArgsort(ProgramBuilder &b) {
  auto found = anyDim(b, [&](int v) { return b.of(v).exact; });
  if (!found)
    return false;
  auto [x, dim] = *found;
  return b
      .let("argsort($0" + axisText(b, x, dim), {x}, DType::I32, b.shapeOf(x),
           {.bound = static_cast<double>(b.shapeOf(x)[dim]), .bits = true})
      .has_value();
}

/// The order of two zeros depends on their bits, and so does the order of NaNs.
bool makeTopK(ProgramBuilder &b) {
  bool isIndices = b.random.chance(50);
  auto found = anyDim(b, [&](int v) { return b.of(v).bits; });
  if (!found)
    return false;
  int x = found->first;
  Shape shape = b.shapeOf(x);
  Accuracy accuracy = b.of(x);
  if (isIndices)
    accuracy = {.bound = static_cast<double>(shape.back()), .bits = true};
  shape.back() = b.random.integer(0, shape.back());
  return b
      .let("top_k($0, " + std::to_string(shape.back()) + (isIndices ? ")[1]" : ")[0]"), {x},
           isIndices ? DType::I32 : b.dtypeOf(x), shape, accuracy)
      .has_value();
}

} // namespace

std::vector<Operation> lookupOperations() {
  return {
      {"take", 5, makeTake},         {"take_along_axis", 4, makeTakeAlong},
      {"lookup", 5, makeLookup},     {"update", 5, makeUpdate},
      {"sort", 3, makeSort},         {"scatter_add", 5, makeScatterAdd},
      {"argsort", 3, makeArgsort},   {"list element", 3, makeListElement},
      {"top_k", 3, makeTopK},        {"known lookup", 6, makeConstantLookup},
      {"diagonal", 2, makeDiagonal},
  };
}

} // namespace spmdc
