//===- ShapeOperations.cpp - operations that move elements ----------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

/// Appends a value that has the elements of `x` in another shape.
bool letMoved(ProgramBuilder &b, const std::string &text, int x, llvm::ArrayRef<int64_t> shape) {
  return b.let(text, {x}, b.dtypeOf(x), shape, b.of(x)).has_value();
}

/// Operations that only move elements take any value, of any accuracy.
int anything(ProgramBuilder &b) {
  std::optional<int> found = b.find([](int) { return true; });
  return found ? *found : b.any();
}

/// Groups the prime factors of all sizes in order anew, with ones between.
bool makeReshape(ProgramBuilder &b) {
  int x = anything(b);
  Shape shape;
  bool isEmpty = countOf(b.shapeOf(x)) == 0;
  if (isEmpty)
    shape = {b.random.integer(1, 4), 0};
  for (int64_t size : isEmpty ? Shape() : b.shapeOf(x))
    for (int64_t p = 2; size > 1;) {
      if (size % p) {
        ++p;
        continue;
      }
      size /= p;
      if (!shape.empty() && b.random.chance(55))
        shape.back() *= p;
      else
        shape.push_back(p);
    }
  if (b.random.chance(25))
    shape.insert(shape.begin() + b.random.integer(0, static_cast<int64_t>(shape.size())), 1);
  if (shape.size() > 5)
    return false;
  Shape written = shape;
  if (!written.empty() && !isEmpty && b.random.chance(30))
    written[static_cast<size_t>(b.random.integer(0, static_cast<int64_t>(shape.size()) - 1))] = -1;
  return letMoved(b, "reshape($0, " + listText(written) + ")", x, shape);
}

bool makeTranspose(ProgramBuilder &b) {
  int x = anything(b);
  Shape perm, shape;
  for (int64_t dim = 0; dim < b.rankOf(x); ++dim)
    perm.insert(perm.begin() + b.random.integer(0, dim), dim);
  bool isReversed = b.random.chance(40);
  if (isReversed)
    for (size_t i = 0; i < perm.size(); ++i)
      perm[i] = b.rankOf(x) - 1 - static_cast<int64_t>(i);
  for (int64_t dim : perm)
    shape.push_back(b.shapeOf(x)[dim]);
  if (isReversed)
    return letMoved(b, b.random.chance(50) ? "$0.T" : "transpose($0)", x, shape);
  return letMoved(b, "transpose($0, " + listText(perm) + ")", x, shape);
}

bool makeBroadcastTo(ProgramBuilder &b) {
  int x = anything(b);
  Shape shape;
  for (int64_t size : b.shapeOf(x))
    shape.push_back(size == 1 && b.random.chance(50) ? b.randomSize() : size);
  while (shape.size() < 4 && b.random.chance(50))
    shape.insert(shape.begin(), b.randomSize());
  return letMoved(b, "broadcast_to($0, " + listText(shape) + ")", x, shape);
}

bool makeExpandDims(ProgramBuilder &b) {
  int x = anything(b);
  int64_t rank = b.rankOf(x), axis = b.random.integer(0, rank);
  if (rank > 4)
    return false;
  Shape shape = b.shapeOf(x);
  shape.insert(shape.begin() + axis, 1);
  return letMoved(b, "expand_dims($0, " + b.dimText(axis, rank + 1) + ")", x, shape);
}

bool makeSqueeze(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return llvm::is_contained(b.shapeOf(v), 1); });
  if (!x)
    return false;
  Shape shape = b.shapeOf(*x);
  if (b.random.chance(50)) {
    llvm::erase_if(shape, [](int64_t size) { return size == 1; });
    return letMoved(b, "squeeze($0)", *x, shape);
  }
  auto axis = llvm::find(shape, 1) - shape.begin();
  std::string text = "squeeze($0, axis=" + b.dimText(axis, b.rankOf(*x)) + ")";
  shape.erase(shape.begin() + axis);
  return letMoved(b, text, *x, shape);
}

bool makeConcatenate(ProgramBuilder &b) {
  int x = b.any();
  if (b.rankOf(x) == 0)
    return false;
  int64_t dim = b.random.integer(0, b.rankOf(x) - 1);
  std::vector<int> parts = {x};
  Accuracy accuracy = b.of(x);
  Shape shape = b.shapeOf(x);
  for (int64_t i = b.random.integer(1, 2); i > 0; --i) {
    Shape partShape = b.shapeOf(x);
    if (b.random.chance(50))
      partShape[dim] = b.randomSize();
    if (!b.fits(partShape))
      return false;
    int part = b.matching(partShape, b.dtypeOf(x));
    accuracy = eitherOf(accuracy, b.of(part));
    shape[dim] += partShape[dim];
    parts.insert(parts.begin() + b.random.integer(0, static_cast<int64_t>(parts.size())), part);
  }
  return b
      .let(std::string("concatenate([$0, $1") + (parts.size() > 2 ? ", $2" : "") +
               "], axis=" + b.dimText(dim, b.rankOf(x)) + ")",
           parts, b.dtypeOf(x), shape, accuracy)
      .has_value();
}

bool makeStack(ProgramBuilder &b) {
  int x = b.any(), y = b.matching(b.shapeOf(x), b.dtypeOf(x));
  int64_t axis = b.random.integer(0, b.rankOf(x));
  Shape shape = b.shapeOf(x);
  shape.insert(shape.begin() + axis, 2);
  if (b.rankOf(x) > 4)
    return false;
  return b
      .let("stack([$0, $1], axis=" + b.dimText(axis, b.rankOf(x) + 1) + ")", {x, y}, b.dtypeOf(x), shape,
           eitherOf(b.of(x), b.of(y)))
      .has_value();
}

/// Into equal parts, or at positions.
bool makeSplit(ProgramBuilder &b) {
  std::optional<int> x =
      b.find([&](int v) { return llvm::any_of(b.shapeOf(v), [](int64_t size) { return size > 1; }); });
  if (!x)
    return false;
  Shape shape = b.shapeOf(*x);
  int64_t axis = llvm::find_if(shape, [](int64_t size) { return size > 1; }) - shape.begin(), size = shape[axis];
  std::string how;
  std::vector<Shape> shapes(2, shape);
  if (size % 2 == 0 && b.random.chance(50)) {
    how = "2";
    shapes[0][axis] = shapes[1][axis] = size / 2;
  } else {
    int64_t at = b.random.integer(0, size);
    how = "[" + std::to_string(at) + "]";
    shapes[0][axis] = at;
    shapes[1][axis] = size - at;
  }
  return b.letAll("split($0, " + how + ", axis=" + b.dimText(axis, b.rankOf(*x)) + ")", {*x}, b.dtypeOf(*x), shapes,
                  b.of(*x));
}

bool makePad(ProgramBuilder &b) {
  int x = b.any();
  int64_t rank = b.rankOf(x);
  Shape shape = b.shapeOf(x);
  std::string widths, value;
  bool isOne = rank > 0 && b.random.chance(25); // The same on all sides.
  for (int64_t &size : shape) {
    int64_t low = isOne || b.random.chance(60) ? b.random.integer(0, 2) : 0,
            high = isOne ? low : b.random.integer(0, 2);
    if (isOne)
      low = high = 1;
    widths += (widths.empty() ? "" : ", ") + ("(" + std::to_string(low) + ", " + std::to_string(high) + ")");
    size += low + high;
  }
  if (rank == 0)
    return false;
  widths = isOne ? "1" : rank == 1 ? "(" + widths + ",)" : "(" + widths + ")";
  Accuracy accuracy = b.of(x);
  if (b.dtypeOf(x) != spmd::DType::Bool && b.random.chance(60)) {
    value = ", constant_values=3";
    accuracy.bound = std::max(accuracy.bound, 3.0);
  }
  return b.let("pad($0, " + widths + value + ")", {x}, b.dtypeOf(x), shape, accuracy).has_value();
}

bool makeFlip(ProgramBuilder &b) {
  int x = anything(b);
  int64_t rank = b.rankOf(x);
  std::string axis;
  if (rank > 0 && b.random.chance(75))
    axis = b.random.chance(50) ? ", axis=" + b.dimText(b.random.integer(0, rank - 1), rank)
                               : ", axis=" + listText(b.randomDims(rank, 50));
  return letMoved(b, "flip($0" + axis + ")", x, b.shapeOf(x));
}

bool makeRoll(ProgramBuilder &b) {
  int x = anything(b);
  int64_t rank = b.rankOf(x);
  std::string axis;
  if (rank > 0 && b.random.chance(80))
    axis = ", axis=" + b.dimText(b.random.integer(0, rank - 1), rank);
  return letMoved(b, "roll($0, " + std::to_string(b.random.integer(-5, 5)) + axis + ")", x, b.shapeOf(x));
}

/// Concatenates slices of one array: halos of a periodic array, swapped halves, or any; negates some of them.
bool makeConcatenatedSlices(ProgramBuilder &b) {
  std::optional<int> x =
      b.find([&](int v) { return llvm::any_of(b.shapeOf(v), [](int64_t size) { return size > 1; }); });
  if (!x)
    return false;
  Shape shape = b.shapeOf(*x);
  int64_t dim = llvm::find_if(shape, [](int64_t size) { return size > 1; }) - shape.begin(), size = shape[dim];
  std::vector<std::pair<int64_t, int64_t>> ranges;
  switch (b.random.integer(0, 2)) {
  case 0: {
    int64_t width = b.random.integer(1, std::min<int64_t>(3, size));
    ranges = {{size - width, size}, {0, size}, {0, b.random.integer(1, width)}};
    break;
  }
  case 1: {
    int64_t at = b.random.chance(60) ? size / 2 : b.random.integer(1, size - 1);
    ranges = {{at, size}, {0, at}};
    break;
  }
  default:
    for (int64_t i = b.random.integer(2, 3); i > 0; --i) {
      int64_t begin = b.random.integer(0, size - 1);
      ranges.push_back({begin, b.random.integer(begin + 1, size)});
    }
  }
  bool mayNegate = b.dtypeOf(*x) != spmd::DType::Bool && !spmd::isUnsigned(b.dtypeOf(*x));
  std::string text, before;
  for (int64_t d = 0; d < dim; ++d)
    before += ":, ";
  shape[dim] = 0;
  for (auto [begin, end] : ranges) {
    bool isNegated = mayNegate && b.random.chance(30);
    text += (text.empty() ? "" : ", ") + std::string(isNegated ? "-" : "") + "$0[" + before + std::to_string(begin) +
            ":" + std::to_string(end) + "]";
    shape[dim] += end - begin;
  }
  return b.fits(shape) &&
         letMoved(b, "concatenate([" + text + "], axis=" + b.dimText(dim, b.rankOf(*x)) + ")", *x, shape);
}

bool makeTile(ProgramBuilder &b) {
  int x = anything(b);
  Shape counts, shape;
  for (int64_t size : b.shapeOf(x)) {
    counts.push_back(b.random.integer(1, 3));
    shape.push_back(size * counts.back());
  }
  if (shape.size() < 3 && b.random.chance(25)) {
    counts.insert(counts.begin(), 2);
    shape.insert(shape.begin(), 2);
  }
  return !shape.empty() && letMoved(b, "tile($0, " + listText(counts) + ")", x, shape);
}

bool makeRepeat(ProgramBuilder &b) {
  int x = anything(b);
  int64_t rank = b.rankOf(x), times = b.random.integer(1, 3);
  Shape shape = b.shapeOf(x);
  std::string axis;
  if (rank > 0 && b.random.chance(80)) {
    int64_t dim = b.random.integer(0, rank - 1);
    axis = ", axis=" + b.dimText(dim, rank);
    shape[dim] *= times;
  } else {
    shape = {countOf(shape) * times};
  }
  return letMoved(b, "repeat($0, " + std::to_string(times) + axis + ")", x, shape);
}

/// Merges two dimensions, computes on the result, and splits it again: `x.reshape(-1, d)` of model code.
bool makeMerged(ProgramBuilder &b) {
  auto isMergeable = [&](int v, int64_t dim) { return b.shapeOf(v)[dim] > 1 && b.shapeOf(v)[dim + 1] > 1; };
  std::optional<int> found = b.find([&](int v) {
    for (int64_t dim = 0; dim + 1 < b.rankOf(v); ++dim)
      if (isMergeable(v, dim))
        return countOf(b.shapeOf(v)) > 0;
    return false;
  });
  if (!found)
    return false;
  int64_t dim = b.random.integer(0, b.rankOf(*found) - 2);
  while (!isMergeable(*found, dim))
    dim = (dim + 1) % (b.rankOf(*found) - 1);
  Shape shape = b.shapeOf(*found);
  int64_t major = shape[dim], minor = shape[dim + 1], size = major * minor;
  shape.erase(shape.begin() + dim);
  shape[dim] = size;
  Shape written = shape;
  if (b.random.chance(50))
    written[dim] = -1;
  std::optional<int> merged =
      b.let("reshape($0, " + listText(written) + ")", {*found}, b.dtypeOf(*found), shape, b.of(*found));
  if (!merged)
    return false;
  for (int64_t i = b.random.integer(1, 3); i > 0; --i)
    addOperation(b);
  std::optional<int> back =
      b.find([&](int v) { return v > *merged && b.rankOf(v) < 5 && llvm::is_contained(b.shapeOf(v), size); });
  if (!back)
    return true;
  Shape apart = b.shapeOf(*back);
  auto at = llvm::find(apart, size);
  *at = major;
  apart.insert(at + 1, minor);
  letMoved(b, "reshape($0, " + listText(apart) + ")", *back, apart);
  return true;
}

} // namespace

std::vector<Operation> shapeOperations() {
  return {
      {"reshape", 12, makeReshape},
      {"merged", 6, makeMerged},
      {"transpose", 8, makeTranspose},
      {"broadcast_to", 8, makeBroadcastTo},
      {"expand_dims", 3, makeExpandDims},
      {"squeeze", 3, makeSqueeze},
      {"concatenate", 6, makeConcatenate},
      {"stack", 3, makeStack},
      {"split", 4, makeSplit},
      {"pad", 6, makePad},
      {"flip", 4, makeFlip},
      {"roll", 4, makeRoll},
      {"joined slices", 5, makeConcatenatedSlices},
      {"tile", 3, makeTile},
      {"repeat", 3, makeRepeat},
  };
}

} // namespace spmdc
