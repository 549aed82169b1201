//===- ProgramBuilder.h - what operations of the generator use --*- C++ -*-===//
//
// Chooses operands among the values of the program so far, makes new ones where none fits, and appends statements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/programs/generator/Program.h"
#include "tests/programs/generator/Random.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <set>

namespace spmdc {

struct SizeLimits {
  int64_t maxSize = 100;     ///< Of one dimension.
  int64_t maxElements = 300; ///< Of one array: the evaluators are slow on purpose.
};

class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext &context, SizeLimits limits, uint64_t seed)
      : random(seed), context(context), limits(limits) {}

  Random random;
  Program program;

  //===- Values -------------------------------------------------------------===//

  const Variable &operator[](int variable) const { return program.variables[variable]; }
  spmd::DType dtypeOf(int variable) const { return program.variables[variable].dtype; }
  const Shape &shapeOf(int variable) const { return program.variables[variable].shape; }
  int64_t rankOf(int variable) const { return static_cast<int64_t>(shapeOf(variable).size()); }
  const Accuracy &of(int variable) const { return program.variables[variable].accuracy; }

  /// A value that satisfies the test, later ones more often; or none.
  std::optional<int> find(llvm::function_ref<bool(int)> test);
  /// A value of reasonable accuracy; a new parameter where there is none.
  int any();
  /// A float of reasonable accuracy that is not too large; converted from a number where need be.
  std::optional<int> anyFloat();
  /// A value of this shape and element type: one that is there, a part of a larger shape, a constant, a new parameter.
  int matching(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, bool mustBeExact = false);
  /// A value whose shape broadcasts with that of `variable`; of any element type if `mayDiffer`.
  int broadcastable(int variable, bool mayDiffer, bool mustBeExact = false);
  /// Floats back into [-4, 4], so that chains neither overflow nor lose what makes them exact.
  int tame(int variable);

  /// Whether the value is known well enough to compute with.
  bool isUsable(int variable) const;

  //===- What is drawn ------------------------------------------------------===//

  int64_t randomSize();
  Shape randomShape();
  spmd::DType randomFloat();
  spmd::DType randomInteger();
  spmd::DType randomDType();
  /// Each dimension in `percent` of 100 cases.
  Shape randomDims(int64_t rank, int percent);
  /// Axes of the mesh on dimensions of the array, open and closed, whether or not they divide the sizes.
  Marks randomMarks(size_t rank, bool mayHavePriorities = true);
  /// A dimension as a person may write it: also from the end.
  std::string dimText(int64_t dim, int64_t rank);

  //===- New statements -----------------------------------------------------===//

  bool fits(llvm::ArrayRef<int64_t> shape) const;
  /// Appends `let v = expression;` with `$0`, `$1`, ... for the operands, unless the result would be too large, in
  /// elements or in numbers; returns the variable.
  std::optional<int> let(const std::string &expression, const std::vector<int> &operands, spmd::DType dtype,
                         llvm::ArrayRef<int64_t> shape, Accuracy accuracy);
  /// The same with several results, of one element type and accuracy. (By value: it may be that of a variable, and
  /// variables move when there are more of them.)
  bool letAll(const std::string &expression, const std::vector<int> &operands, spmd::DType dtype,
              const std::vector<Shape> &shapes, Accuracy accuracy);
  int addParameter(llvm::ArrayRef<int64_t> shape, spmd::DType dtype);
  int addConstant(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, double number);

  /// Names of operations of the generator that were made.
  std::set<std::string> made;

private:
  int addVariable(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, Accuracy accuracy);
  std::vector<Scalar> randomElements(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, Accuracy &accuracy);

  mlir::MLIRContext &context;
  SizeLimits limits;
};

/// `[1, 2]`.
std::string listText(llvm::ArrayRef<int64_t> numbers);

/// The number of elements, and the shape of an operation on both, if there is one.
int64_t countOf(llvm::ArrayRef<int64_t> shape);
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y);
/// The element type in which an operation on both computes.
spmd::DType promoted(spmd::DType x, spmd::DType y);

} // namespace spmdc
