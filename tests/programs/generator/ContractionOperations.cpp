//===- ContractionOperations.cpp - @, einsum, dot_general -----------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace spmdc {

using spmd::DType;

namespace {

/// For sums of `depth` products. Bools are multiplied as integers and converted back.
Accuracy productOf(DType dtype, const Accuracy &x, const Accuracy &y, int64_t depth) {
  auto terms = static_cast<double>(std::max<int64_t>(depth, 1));
  double bound = terms * x.bound * y.bound;
  double error = terms * (x.bound * y.error + y.bound * x.error + x.error * y.error);
  return summed(dtype, x.exact && y.exact, bound, x.grain + y.grain, terms, error);
}

/// Vectors, matrices and batches of them, which broadcast.
bool makeMatmul(ProgramBuilder &b) {
  std::optional<int> found = b.find([&](int v) { return b.isUsable(v) && b.rankOf(v) > 0 && b.rankOf(v) < 5; });
  if (!found)
    return false;
  int x = b.tame(*found);
  const Shape left = b.shapeOf(x);
  int64_t depth = left.back(), columns = b.randomSize();
  bool isVector = b.random.chance(20);
  Shape right, shape(left.begin(), left.end() - 1);
  if (!isVector && left.size() > 2 && b.random.chance(50)) {
    // Batch dimensions of the right side: those of the left one, of size one, or some left out.
    right.append(left.begin() + b.random.integer(0, static_cast<int64_t>(left.size()) - 2), left.end() - 2);
    for (int64_t &size : right)
      if (b.random.chance(25))
        size = 1;
  }
  if (!isVector && left.size() == 1 && b.random.chance(30)) {
    right = {b.randomSize()};
    shape = right;
  }
  right.push_back(depth);
  if (!isVector) {
    right.push_back(columns);
    shape.push_back(columns);
  }
  if (!b.fits(right) || !b.fits(shape))
    return false;
  int y = b.tame(b.matching(right, b.dtypeOf(x)));
  DType dtype = b.dtypeOf(x);
  Accuracy accuracy = productOf(dtype, b.of(x), b.of(y), depth);
  return b.let(b.random.chance(80) ? "$0 @ $1" : "matmul($0, $1)", {x, y}, dtype, shape, accuracy).has_value();
}

/// Two operands over labelled dimensions: labels of both or of one, repeated, summed.
bool makeEinsum(ProgramBuilder &b) {
  int x = b.tame(b.any());
  if (b.rankOf(x) > 4)
    return false;
  std::string left, right, output, summed;
  Shape rightShape, shape, sizes;
  int64_t depth = 1;
  auto place = [&](std::string &labels, Shape &into, char label, int64_t size) {
    auto at = b.random.integer(0, static_cast<int64_t>(labels.size()));
    labels.insert(labels.begin() + at, label);
    into.insert(into.begin() + at, size);
  };
  char next = 'a';
  for (int64_t size : b.shapeOf(x)) {
    // Sometimes one label twice: the diagonal.
    auto same = llvm::find(sizes, size);
    if (same != sizes.end() && b.random.chance(10)) {
      left += static_cast<char>('a' + (same - sizes.begin()));
      continue;
    }
    char label = next++;
    left += label;
    sizes.push_back(size);
    bool isRight = b.random.chance(55), isOutput = b.random.chance(55);
    if (isRight)
      place(right, rightShape, label, size);
    if (isOutput)
      place(output, shape, label, size);
    else
      depth *= size;
  }
  for (int64_t i = b.random.pick({0, 1, 1, 2}); i > 0 && rightShape.size() < 4; --i) {
    char label = next++;
    int64_t size = b.randomSize();
    place(right, rightShape, label, size);
    if (b.random.chance(80))
      place(output, shape, label, size);
    else
      depth *= size;
  }
  if (!b.fits(rightShape) || !b.fits(shape))
    return false;
  int y = b.tame(b.matching(rightShape, b.dtypeOf(x)));
  DType dtype = b.dtypeOf(x);
  // Bools become i32 and are converted back: the order of their sums does not matter.
  return b
      .let("einsum(\"" + left + "," + right + "->" + output + "\", $0, $1)", {x, y}, dtype, shape,
           productOf(dtype, b.of(x), b.of(y), depth))
      .has_value();
}

/// Returns a variable without infinities: whether a sum of products with infinities is a NaN depends on the order of
/// multiplication.
int withoutInfinities(ProgramBuilder &b, int variable) {
  if (!spmd::isFloat(b.dtypeOf(variable)))
    return variable;
  Accuracy accuracy = b.of(variable);
  accuracy.bound = std::min(accuracy.bound, 4.0);
  accuracy.bits = false;
  return b.let("clamp(-4, $0, 4)", {variable}, b.dtypeOf(variable), b.shapeOf(variable), accuracy).value();
}

/// Three or four arrays; the compiler chooses the order of the multiplications.
bool makeEinsumOfMany(ProgramBuilder &b) {
  int found = b.any();
  if (b.rankOf(found) > 3)
    return false;
  int x = withoutInfinities(b, found);
  struct Label {
    char letter;
    int64_t size;
    int users;
  };
  std::vector<Label> labels;
  std::vector<std::string> inputs(1);
  for (int64_t size : b.shapeOf(x)) {
    labels.push_back({static_cast<char>('a' + labels.size()), size, 1});
    inputs[0] += labels.back().letter;
  }
  DType dtype = b.dtypeOf(x);
  std::vector<int> arrays = {x};
  std::vector<Shape> shapes;
  for (int64_t count = b.random.pick({2, 2, 3}); count > 0; --count) {
    std::string input;
    Shape shape;
    for (Label &label : labels)
      if (shape.size() < 3 && b.random.chance(60)) {
        auto at = b.random.integer(0, static_cast<int64_t>(input.size()));
        input.insert(input.begin() + at, label.letter);
        shape.insert(shape.begin() + at, label.size);
        ++label.users;
      }
    if (shape.size() < 2 && labels.size() < 6) {
      labels.push_back({static_cast<char>('a' + labels.size()), b.randomSize(), 1});
      input += labels.back().letter;
      shape.push_back(labels.back().size);
    }
    if (!b.fits(shape))
      return false;
    inputs.push_back(input);
    shapes.push_back(shape);
  }
  std::string output;
  Shape shape;
  int64_t depth = 1;
  for (const Label &label : labels) {
    if (shape.size() < 4 && b.random.chance(label.users == 1 ? 80 : 40)) {
      output += label.letter;
      shape.push_back(label.size);
    } else {
      depth *= label.size;
    }
  }
  if (!b.fits(shape))
    return false;
  for (const Shape &of : shapes)
    arrays.push_back(withoutInfinities(b, b.matching(of, dtype)));
  std::string spec, places;
  Accuracy accuracy = b.of(x);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    spec += (i ? "," : "") + input;
    places += ", $" + std::to_string(i);
    if (i)
      accuracy = productOf(dtype, accuracy, b.of(arrays[i]), i + 1 == inputs.size() ? depth : 1);
  }
  // Sums over some labels come before products with the rest, in any order.
  accuracy.error *= 2;
  // Intermediate products are rounded to the element type, as in jnp.einsum; the partitioner chooses their order.
  accuracy.sumError = -1;
  return b.let("einsum(\"" + spec + "->" + output + "\"" + places + ")", arrays, dtype, shape, accuracy).has_value();
}

bool makeDotGeneral(ProgramBuilder &b) {
  int x = b.tame(b.any());
  Shape batch[2], contract[2], rightShape, shape, leftFree;
  struct Dim {
    char role;
    int64_t left, size;
  };
  std::vector<Dim> rightDims;
  int64_t depth = 1;
  auto place = [&](Dim dim) {
    rightDims.insert(rightDims.begin() + b.random.integer(0, static_cast<int64_t>(rightDims.size())), dim);
  };
  for (auto [dim, size] : llvm::enumerate(b.shapeOf(x))) {
    int64_t role = b.random.integer(0, 9);
    if (role < 2)
      place({'b', static_cast<int64_t>(dim), size});
    else if (role < 6)
      place({'c', static_cast<int64_t>(dim), size});
    else
      leftFree.push_back(size);
  }
  for (int64_t i = b.random.pick({0, 1, 1, 2}); i > 0 && rightDims.size() < 4; --i)
    place({'f', 0, b.randomSize()});
  Shape rightFree;
  for (auto [i, dim] : llvm::enumerate(rightDims)) {
    rightShape.push_back(dim.size);
    if (dim.role == 'f') {
      rightFree.push_back(dim.size);
      continue;
    }
    Shape(&lists)[2] = dim.role == 'b' ? batch : contract;
    lists[0].push_back(dim.left);
    lists[1].push_back(static_cast<int64_t>(i));
    if (dim.role == 'b')
      shape.push_back(dim.size);
    else
      depth *= dim.size;
  }
  shape.append(leftFree);
  shape.append(rightFree);
  if (shape.size() > 6 || !b.fits(rightShape) || !b.fits(shape))
    return false;
  int y = b.tame(b.matching(rightShape, b.dtypeOf(x)));
  auto lists = [](const Shape(&pair)[2]) { return "(" + listText(pair[0]) + ", " + listText(pair[1]) + ")"; };
  std::string text = "dot_general($0, $1, contract=" + lists(contract);
  if (!batch[0].empty())
    text += ", batch=" + lists(batch);
  DType dtype = b.dtypeOf(x);
  return b.let(text + ")", {x, y}, dtype, shape, productOf(dtype, b.of(x), b.of(y), depth)).has_value();
}

/// A product of matrices that are converted to a wider type, one of them or both, in either order of its dimensions;
/// often of few rows or columns.
bool makeWidenedProduct(ProgramBuilder &b) {
  std::optional<int> found;
  if (b.random.chance(40))
    found = b.find([&](int v) {
      return b.isUsable(v) && b.rankOf(v) == 2 && b.dtypeOf(v) != DType::Bool && spmd::byteSize(b.dtypeOf(v)) <= 4;
    });
  if (!found) {
    Shape left{b.randomSize(), b.randomSize()};
    if (!b.fits(left))
      return false;
    DType type = b.random.pick({DType::I8, DType::U8, DType::I16, DType::U16, DType::BF16, DType::F16});
    found = b.addParameter(left, type);
  }
  int x = b.tame(*found);
  DType narrow = b.dtypeOf(x), wide = spmd::isFloat(narrow) ? DType::F32 : DType::I32;
  bool isTurned = b.random.chance(30);
  int64_t rows = b.shapeOf(x)[isTurned], depth = b.shapeOf(x)[!isTurned];
  int64_t columns = b.random.chance(50) ? b.random.integer(1, 5) : b.randomSize();
  Shape right = b.random.chance(50) ? Shape{depth, columns} : Shape{columns, depth}, shape{rows, columns};
  bool isOtherTurned = right[0] != depth || (depth == columns && b.random.chance(50));
  if (!b.fits(right) || !b.fits(shape))
    return false;
  int y = b.tame(b.matching(right, b.random.chance(70) ? narrow : wide));
  std::string cast = ", " + std::string(spmd::dtypeName(wide)) + ")";
  auto operand = [&](const char *name, bool isTransposed) {
    if (!isTransposed)
      return "cast(" + std::string(name) + cast;
    return b.random.chance(50) ? "cast(" + std::string(name) + cast + ".T" : "cast(" + std::string(name) + ".T" + cast;
  };
  std::string text = operand("$0", isTurned) + " @ ";
  text += operand("$1", isOtherTurned);
  return b.let(text, {x, y}, wide, shape, productOf(wide, b.of(x), b.of(y), depth)).has_value();
}

/// A sum of products and other terms: once, or in each iteration of a loop with an initial value.
bool makeSumOfProducts(ProgramBuilder &b) {
  std::optional<int> found =
      b.find([&](int v) { return b.isUsable(v) && b.rankOf(v) == 2 && b.dtypeOf(v) != DType::Bool; });
  if (!found)
    return false;
  int x = b.tame(*found);
  DType dtype = b.dtypeOf(x);
  int64_t rows = b.shapeOf(x)[0], depth = b.shapeOf(x)[1], columns = b.randomSize(), other = b.randomSize();
  Shape shape{rows, columns};
  if (!b.fits({depth, columns}) || !b.fits(shape) || !b.fits({rows, other}) || !b.fits({other, columns}))
    return false;
  auto operand = [&](llvm::ArrayRef<int64_t> of) { return b.tame(b.matching(of, dtype)); };
  int y = operand({depth, columns}), z = operand({rows, other}), w = operand({other, columns});
  int start = operand(shape), bias = b.random.chance(50) ? operand(shape) : operand({columns});
  std::string expression = b.random.pick(std::vector<std::string>{
      "$0 @ $1 + $5 + $2 @ $3",
      "($0 @ $1 + $5) - ($2 @ $3 - $4)",
      "$4 - $0 @ $1 + $5 + ($4 - $2 @ $3)",
      "transpose(transpose($0 @ $1) - transpose($4)) + $2 @ $3",
      "for k in 0..3 carry (s = $4) { yield s + $0 @ $1; }",
      "for k in 0..3 carry (s = $4) { yield s - ($0 @ $1 + $5) + $2 @ $3; }",
  });
  Accuracy first = productOf(dtype, b.of(x), b.of(y), depth), second = productOf(dtype, b.of(z), b.of(w), other);
  // Each at most three times.
  double bound = 0, error = 0;
  bool isExact = true;
  int grain = 0;
  for (const Accuracy &part : {first, second, b.of(start), b.of(bias)}) {
    bound += 3 * part.bound;
    error += 3 * part.error;
    isExact &= part.exact;
    grain = std::max(grain, part.grain);
  }
  return b.let(expression, {x, y, z, w, start, bias}, dtype, shape, computed(dtype, isExact, bound, grain, error, 12))
      .has_value();
}

/// A product of square matrices, and values that depend on rows or columns of another one: rows and columns of a kernel
/// behind the product have the same number, so that one may be taken for the other.
bool makeSquareProduct(ProgramBuilder &b) {
  std::optional<int> like = b.find([&](int v) {
    return b.isUsable(v) && b.dtypeOf(v) != DType::Bool &&
           (spmd::isFloat(b.dtypeOf(v)) || spmd::byteSize(b.dtypeOf(v)) >= 4); // Sums of others have another type.
  });
  int64_t size = b.randomSize();
  Shape shape{size, size};
  if (!like || size == 0 || !b.fits(shape)) // There is no maximum of no elements.
    return false;
  DType dtype = b.dtypeOf(*like);
  auto operand = [&] { return b.tame(b.matching(shape, dtype)); };
  int x = operand(), y = operand(), z = operand();
  std::string expression = b.random.pick(std::vector<std::string>{
      "$0 @ $1 + sum($2, axis=0)",
      "$0 @ $1 - sum($2, axis=1, keepdims=true)",
      "transpose($0 @ $1) - sum($2, axis=0)",
      "sum($2, axis=1) - $0 @ $1",
      "$0 @ $1 + transpose($2)",
      "transpose($0 @ $1) + $2",
      "$0 @ $1 - cumsum($2, axis=0)",
      "$0 @ $1 - cumsum($2, axis=1)",
      "$0 @ $1 + max($2, axis=0)",
  });
  Accuracy product = productOf(dtype, b.of(x), b.of(y), size);
  auto terms = static_cast<double>(std::max<int64_t>(size, 1));
  Accuracy sum = summed(dtype, b.of(z).exact, terms * b.of(z).bound, b.of(z).grain, terms, terms * b.of(z).error);
  return b
      .let(expression, {x, y, z}, dtype, shape,
           computed(dtype, product.exact && sum.exact, product.bound + sum.bound, std::max(product.grain, sum.grain),
                    product.error + sum.error, 2))
      .has_value();
}

} // namespace

std::vector<Operation> contractionOperations() {
  return {
      {"@", 14, makeMatmul},
      {"einsum", 10, makeEinsum},
      {"einsum of many", 5, makeEinsumOfMany},
      {"dot_general", 8, makeDotGeneral},
      {"widened product", 5, makeWidenedProduct},
      {"sum of products", 4, makeSumOfProducts},
      {"square product", 4, makeSquareProduct},
  };
}

} // namespace spmdc
