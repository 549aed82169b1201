//===- ProgramBuilder.h - building random programs --------------*- C++ -*-===//
//
// Chooses operands among the values of the program so far, creates new ones if none fits, and appends statements.
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
  int64_t maxSize = 100;     ///< The largest size of a dimension.
  int64_t maxElements = 300; ///< The largest number of elements of an array: the evaluators are slow.
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

  /// Returns a value that satisfies the test, later ones more often; or nullopt.
  std::optional<int> find(llvm::function_ref<bool(int)> test);
  /// Returns a value of reasonable accuracy; a new parameter if there is none.
  int any();
  /// Returns a float of reasonable accuracy that is not too large; converts another number if necessary.
  std::optional<int> anyFloat();
  /// Returns a value of this shape and element type: an existing one, a slice of a larger one, a constant, or a new
  /// parameter.
  int matching(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, bool mustBeExact = false);
  /// Returns a value whose shape broadcasts with that of `variable`; of any element type if `mayDiffer`.
  int broadcastable(int variable, bool mayDiffer, bool mustBeExact = false);
  /// Maps floats back into [-4, 4], so that chains neither overflow nor lose exactness.
  int tame(int variable);

  /// Returns whether the value is accurate enough to compute with.
  bool isUsable(int variable) const;

  //===- Random choices -----------------------------------------------------===//

  int64_t randomSize();
  Shape randomShape();
  spmd::DType randomFloat();
  spmd::DType randomInteger();
  spmd::DType randomDType();
  /// Includes each dimension with a probability of `percent` %.
  Shape randomDims(int64_t rank, int percent);
  /// Returns axes of the mesh on dimensions of the array, open and closed, whether or not they divide the sizes.
  Annotations randomAnnotations(size_t rank, bool mayHavePriorities = true);
  /// Returns a dimension in either form that the language allows, also counted from the end.
  std::string dimText(int64_t dim, int64_t rank);

  //===- New statements -----------------------------------------------------===//

  bool fits(llvm::ArrayRef<int64_t> shape) const;
  /// Appends `let v = expression;` with `$0`, `$1`, ... for the operands, unless the result would be too large, in
  /// elements or in values; returns the variable.
  std::optional<int> let(const std::string &expression, const std::vector<int> &operands, spmd::DType dtype,
                         llvm::ArrayRef<int64_t> shape, Accuracy accuracy);
  /// The same with several results, of one element type and accuracy. (The accuracy is passed by value: it may be that
  /// of a variable, and variables move when others are added.)
  bool letAll(const std::string &expression, const std::vector<int> &operands, spmd::DType dtype,
              const std::vector<Shape> &shapes, Accuracy accuracy);
  int addParameter(llvm::ArrayRef<int64_t> shape, spmd::DType dtype);
  int addConstant(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, double number);

  /// Names of the generator's operations that were used.
  std::set<std::string> made;

private:
  int addVariable(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, Accuracy accuracy);
  std::vector<Scalar> randomElements(llvm::ArrayRef<int64_t> shape, spmd::DType dtype, Accuracy &accuracy);

  mlir::MLIRContext &context;
  SizeLimits limits;
};

/// Returns `[1, 2]`.
std::string listText(llvm::ArrayRef<int64_t> numbers);

/// The number of elements, and the shape of an operation on both, if there is one.
int64_t countOf(llvm::ArrayRef<int64_t> shape);
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y);
/// Returns the element type in which an operation on both computes.
spmd::DType promoted(spmd::DType x, spmd::DType y);

} // namespace spmdc
