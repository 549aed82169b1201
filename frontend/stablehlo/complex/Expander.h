//===- Expander.h - complex arrays as pairs of real ones --------*- C++ -*-===//
//
// Complex numbers exist in the exported program alone. Before its translation, every complex array becomes two arrays
// of floats, the real and the imaginary parts:
//
//   %2 = stablehlo.multiply %0, %1 : tensor<8xcomplex<f32>>     four products, a difference and a sum of tensor<8xf32>
//   %3 = stablehlo.reverse %2, dims = [0] : ...                 the same operation twice
//   stablehlo.while(%a = %3) ...                                a loop with two carries in the place of one
//
// An operation is of one of three kinds. Those that treat real and imaginary parts alike, such as all that move
// elements and sums, are copied for each part, with the regions that they have (isPartwise). Those that pass values on,
// such as loops, branches and calls, have two operands, results and block arguments in the place of one. All others
// have a rule (ComplexArithmetic.cpp, ComplexBits.cpp, ComplexFunctions.cpp, ComplexLinear.cpp, Fourier.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/complex/Real.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace spmdc::stablehlo {

/// A complex array: arrays of one type.
struct Parts {
  mlir::Value re, im;
  mlir::Value operator[](unsigned part) const { return part ? im : re; }
};

/// Whether a tensor has complex elements; their parts have the type `partOf`, all other types are unchanged.
bool isComplex(mlir::Type type);
mlir::Type partOf(mlir::Type type);

/// A module while its complex arrays are expanded. Used by one thread.
class Expander {
public:
  Expander(mlir::ModuleOp module, mlir::OpBuilder &builder) : b(builder), module(module) {}

  /// Expands all functions. Fails with a message at an operation for which complex numbers have no translation.
  mlir::LogicalResult run();

  /// The parts of a value; a real one is its own real part, and has zeros as its imaginary part.
  Parts get(mlir::Value value);
  /// One result of an operation: the parts of a complex one, and `re` alone of a real one.
  using Results = mlir::FailureOr<llvm::SmallVector<Parts>>;
  using Rule = Results (*)(Expander &, mlir::Operation *);

  Real real(mlir::Value value) { return {b, loc, value}; }
  /// A copy of an operation without regions, with other operands and another type of its result.
  mlir::Value copy(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, mlir::Type result);
  /// The results of an operation and its regions with one part in the place of each complex array.
  llvm::SmallVector<mlir::Value> copyPart(mlir::Operation *op, unsigned part);

  mlir::OpBuilder &b;
  mlir::Location loc = b.getUnknownLoc(); ///< Of the operation that is being expanded.

private:
  mlir::LogicalResult expand(mlir::func::FuncOp function);
  mlir::LogicalResult expand(mlir::Region &region, bool hasPairs = false);
  mlir::LogicalResult expand(mlir::Operation *op);
  mlir::LogicalResult expandPassing(mlir::Operation *op);
  mlir::LogicalResult expandResults(mlir::Operation *op, Results results);
  /// `hasPairs`: the arguments are pairs of elements to compare; a pair of real parts comes before that of imaginary
  /// ones.
  void expandArguments(mlir::Block &block, bool hasPairs);
  mlir::Operation *copyPart(mlir::Operation *op, unsigned part, mlir::IRMapping &local);
  llvm::SmallVector<mlir::Value> expandValues(mlir::ValueRange range);
  void eraseExpanded();

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, Parts> parts;
  llvm::SmallVector<mlir::Operation *> expanded; ///< The operations that others replace.
  llvm::SmallVector<mlir::BlockArgument> expandedArguments;
};

/// Whether the real part of the result of an operation, regions included, is the operation of the real parts, and the
/// imaginary part likewise.
bool isPartwise(mlir::Operation *op);

/// Whether all operands and results are complex.
bool haveComplexValues(mlir::Operation *op);
inline mlir::InFlightDiagnostic refuseMixed(mlir::Operation *op) {
  return op->emitError() << "'" << op->getName()
                         << "' has operands or results that are not complex beside complex ones";
}

/// Whether an array is a constant zero.
bool isZero(mlir::Value array);

/// Attribute of the second copy of an operation, which is at no place of its own in the text.
inline constexpr llvm::StringLiteral kSecondPartAttrName = "spmdc.second_part";

/// Attributes of a call of code outside of the export: which of its operands (results) were complex, each of which two
/// arrays replace.
inline constexpr llvm::StringLiteral kComplexOperandsAttrName = "spmdc.complex_operands";
inline constexpr llvm::StringLiteral kComplexResultsAttrName = "spmdc.complex_results";

/// Attribute of a transform of an array of joined parts: the dimension that it transforms.
inline constexpr llvm::StringLiteral kFourierDimAttrName = "spmdc.fft_dim";

using ComplexRules = llvm::StringMap<Expander::Rule>;
void addArithmeticRules(ComplexRules &rules);
void addBitRules(ComplexRules &rules);
void addFunctionRules(ComplexRules &rules);
void addFourierRules(ComplexRules &rules);
void addLinearRules(ComplexRules &rules);

} // namespace spmdc::stablehlo
