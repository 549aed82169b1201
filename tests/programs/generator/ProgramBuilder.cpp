//===- ProgramBuilder.cpp - building random programs ----------------------===//

#include "tests/programs/generator/ProgramBuilder.h"

#include "frontend/emit/Promotion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

using spmd::DType;

/// A value whose error relative to its bound exceeds this is not used any further.
static constexpr double kMaxRelativeError = 0.02;

std::string listText(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

int64_t countOf(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y) {
  Shape joined(std::max(x.size(), y.size()));
  for (size_t fromEnd = 1; fromEnd <= joined.size(); ++fromEnd) {
    int64_t a = fromEnd <= x.size() ? x[x.size() - fromEnd] : 1, b = fromEnd <= y.size() ? y[y.size() - fromEnd] : 1;
    if (a != b && a != 1 && b != 1)
      return std::nullopt;
    joined[joined.size() - fromEnd] = a == 1 ? b : a;
  }
  return joined;
}

DType promoted(DType x, DType y) { return promote({x, false}, {y, false})->dtype; }

/// Whether two types join at float*, as u64 does with signed integers: a variable has no such type.
static bool joinWeakly(DType x, DType y) { return promote({x, false}, {y, false})->isWeak; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int> ProgramBuilder::find(llvm::function_ref<bool(int)> test) {
  std::vector<int> candidates;
  for (int variable = 0; variable < static_cast<int>(program.variables.size()); ++variable)
    if (test(variable))
      candidates.push_back(variable);
  if (candidates.empty())
    return std::nullopt;
  // Later values make longer chains.
  if (candidates.size() > 2 && random.chance(50))
    return candidates[candidates.size() - 1 - static_cast<size_t>(random.integer(0, 1))];
  return random.pick(candidates);
}

bool ProgramBuilder::isUsable(int variable) const {
  const Accuracy &accuracy = of(variable);
  if (!std::isfinite(accuracy.bound))
    return false;
  return accuracy.exact || accuracy.error <= kMaxRelativeError * std::max(accuracy.bound, 1e-30);
}

int ProgramBuilder::any() {
  std::optional<int> found = find([&](int variable) { return isUsable(variable); });
  return found ? *found : addParameter(randomShape(), randomDType());
}

std::optional<int> ProgramBuilder::anyFloat() {
  int variable = any();
  if (spmd::isFloat(dtypeOf(variable)))
    return tame(variable);
  DType dtype = randomFloat();
  Accuracy accuracy = converted(of(variable), dtypeOf(variable), dtype);
  if (!isInRange(dtype, accuracy.bound))
    return std::nullopt;
  std::optional<int> result =
      let("cast($0, " + std::string(spmd::dtypeName(dtype)) + ")", {variable}, dtype, shapeOf(variable), accuracy);
  return result ? std::optional<int>(tame(*result)) : std::nullopt;
}

int ProgramBuilder::tame(int variable) {
  if (!spmd::isFloat(dtypeOf(variable)) || of(variable).bound <= 16)
    return variable;
  Accuracy accuracy = of(variable);
  accuracy.bound = 4;
  accuracy.bits = false;
  return let("clamp(-4, $0, 4)", {variable}, dtypeOf(variable), shapeOf(variable), accuracy).value();
}

int ProgramBuilder::matching(llvm::ArrayRef<int64_t> shape, DType dtype, bool mustBeExact) {
  std::vector<int> candidates;
  for (int variable = 0; variable < static_cast<int>(program.variables.size()); ++variable)
    if (shape.equals(shapeOf(variable)) && dtypeOf(variable) == dtype && isUsable(variable) &&
        (!mustBeExact || of(variable).exact))
      candidates.push_back(variable);
  if (!candidates.empty() && random.chance(75))
    return random.pick(candidates);
  bool isBool = dtype == DType::Bool;
  if (random.chance(25))
    return addConstant(shape, dtype, static_cast<double>(random.integer(isBool ? 0 : -3, isBool ? 1 : 3)));
  if (!shape.empty() && !isBool && random.chance(20)) {
    int64_t dim = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
    Accuracy accuracy{.bound = static_cast<double>(shape[dim]), .bits = true};
    return let("iota(" + typeText(dtype, shape) + ", axis=" + dimText(dim, static_cast<int64_t>(shape.size())) + ")",
               {}, dtype, shape, accuracy)
        .value();
  }
  int parameter = addParameter(shape, dtype);
  return !mustBeExact || of(parameter).exact ? parameter : addConstant(shape, dtype, 2);
}

int ProgramBuilder::broadcastable(int variable, bool mayDiffer, bool mustBeExact) {
  DType dtype = dtypeOf(variable);
  if (random.chance(40)) {
    std::optional<int> found = find([&](int other) {
      std::optional<Shape> shape = broadcastShapes(shapeOf(variable), shapeOf(other));
      return shape && fits(*shape) && isUsable(other) && (mayDiffer || dtypeOf(other) == dtype) &&
             !joinWeakly(dtype, dtypeOf(other)) && (!mustBeExact || of(other).exact);
    });
    if (found)
      return *found;
  }
  if (mayDiffer && random.chance(25))
    if (DType other = randomDType(); !joinWeakly(dtype, other))
      dtype = other;
  Shape shape = shapeOf(variable);
  if (random.chance(30)) {
    // Leading dimensions left out, others of size 1.
    shape.erase(shape.begin(), shape.begin() + random.integer(0, rankOf(variable)));
    for (int64_t &size : shape)
      if (random.chance(30))
        size = 1;
    if (!fits(shape)) // A dimension of size 0 was left out.
      shape = shapeOf(variable);
  }
  return matching(shape, dtype, mustBeExact);
}

//===----------------------------------------------------------------------===//
// Random choices
//===----------------------------------------------------------------------===//

int64_t ProgramBuilder::randomSize() {
  int64_t size = random.chance(2)   ? 0
                 : random.chance(6) ? random.pick({17, 24, 31, 32, 33, 64, 65})
                                    : random.pick({1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16});
  return std::min(size, limits.maxSize);
}

Shape ProgramBuilder::randomShape() {
  Shape shape;
  auto rank = random.pick({0, 1, 1, 2, 2, 2, 2, 3, 3, 4});
  for (int dim = 0; dim < rank; ++dim) {
    shape.push_back(randomSize());
    if (!fits(shape))
      shape.back() = 1;
  }
  return shape;
}

DType ProgramBuilder::randomFloat() {
  return random.chance(60) ? DType::F32 : random.chance(40) ? DType::BF16 : random.chance(50) ? DType::F16 : DType::F64;
}

DType ProgramBuilder::randomInteger() {
  return random.pick(
      {DType::I32, DType::I32, DType::I64, DType::I16, DType::I8, DType::U64, DType::U32, DType::U16, DType::U8});
}

DType ProgramBuilder::randomDType() {
  return random.chance(65) ? randomFloat() : random.chance(80) ? randomInteger() : DType::Bool;
}

Shape ProgramBuilder::randomDims(int64_t rank, int percent) {
  Shape dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (random.chance(percent))
      dims.push_back(dim);
  return dims;
}

Annotations ProgramBuilder::randomAnnotations(size_t rank, bool mayHavePriorities) {
  Annotations annotations(rank);
  for (DimAnnotation &annotation : annotations)
    annotation.isOpen = random.chance(50);
  for (const spmd::MeshAxis &axis : program.mesh.axes) {
    if (rank == 0 || random.chance(40))
      continue;
    DimAnnotation &annotation = annotations[static_cast<size_t>(random.integer(0, static_cast<int64_t>(rank) - 1))];
    annotation.axes.insert(annotation.axes.begin() + random.integer(0, static_cast<int64_t>(annotation.axes.size())),
                           axis.name);
    annotation.isOpen = random.chance(25);
  }
  if (mayHavePriorities && random.chance(15))
    for (DimAnnotation &annotation : annotations)
      if (random.chance(50))
        annotation.priority = static_cast<int>(random.integer(0, 2));
  return annotations;
}

std::string ProgramBuilder::dimText(int64_t dim, int64_t rank) {
  return std::to_string(random.chance(30) ? dim - rank : dim);
}

//===----------------------------------------------------------------------===//
// New statements
//===----------------------------------------------------------------------===//

bool ProgramBuilder::fits(llvm::ArrayRef<int64_t> shape) const { return countOf(shape) <= limits.maxElements; }

int ProgramBuilder::addVariable(DType dtype, llvm::ArrayRef<int64_t> shape, Accuracy accuracy) {
  if (accuracy.exact)
    accuracy.error = 0;
  program.variables.push_back({dtype, Shape(shape), accuracy});
  return static_cast<int>(program.variables.size()) - 1;
}

/// Returns the expression with the operands in place of `$0`, `$1`, ...
static std::string withOperands(const std::string &expression, const std::vector<int> &operands) {
  std::string text;
  for (size_t i = 0; i < expression.size(); ++i) {
    text += expression[i];
    if (expression[i] == '$')
      text += std::to_string(operands[static_cast<size_t>(expression[++i] - '0')]);
  }
  return text;
}

std::optional<int> ProgramBuilder::let(const std::string &expression, const std::vector<int> &operands, DType dtype,
                                       llvm::ArrayRef<int64_t> shape, Accuracy accuracy) {
  if (!fits(shape) || (std::isfinite(accuracy.bound) && !isInRange(dtype, accuracy.bound)))
    return std::nullopt;
  Statement statement;
  statement.expression = withOperands(expression, operands);
  statement.results = {addVariable(dtype, shape, accuracy)};
  statement.isTyped = random.chance(20);
  if (statement.isTyped && random.chance(75))
    statement.annotations = randomAnnotations(shape.size());
  statement.isInlined = random.chance(30);
  program.statements.push_back(std::move(statement));
  return program.statements.back().results[0];
}

bool ProgramBuilder::letAll(const std::string &expression, const std::vector<int> &operands, DType dtype,
                            const std::vector<Shape> &shapes, Accuracy accuracy) {
  Statement statement;
  statement.expression = withOperands(expression, operands);
  for (const Shape &shape : shapes)
    statement.results.push_back(addVariable(dtype, shape, accuracy));
  program.statements.push_back(std::move(statement));
  return true;
}

int ProgramBuilder::addParameter(llvm::ArrayRef<int64_t> shape, DType dtype) {
  ProgramParameter parameter;
  Accuracy accuracy;
  parameter.elements = randomElements(shape, dtype, accuracy);
  parameter.variable = addVariable(dtype, shape, accuracy);
  if (random.chance(70))
    parameter.annotations = randomAnnotations(shape.size());
  program.parameters.push_back(std::move(parameter));
  return program.parameters.back().variable;
}

int ProgramBuilder::addConstant(llvm::ArrayRef<int64_t> shape, DType dtype, double number) {
  // Literals of unsigned types are not negative, those of bool are words.
  auto value = static_cast<int64_t>(spmd::isUnsigned(dtype) ? std::abs(number) : number);
  std::string literal = dtype == DType::Bool ? (value ? "true" : "false") : std::to_string(value);
  std::string type = typeText(dtype, shape, random.chance(25) ? randomAnnotations(shape.size()) : Annotations());
  std::string text = value == 0 && random.chance(50)   ? "zeros(" + type + ")"
                     : value == 1 && random.chance(50) ? "ones(" + type + ")"
                                                       : "full(" + type + ", " + literal + ")";
  return let(text, {}, dtype, shape, {.bound = std::abs(static_cast<double>(value)), .bits = true}).value();
}

} // namespace spmdc
