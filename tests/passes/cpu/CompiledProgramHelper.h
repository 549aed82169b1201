//===- CompiledProgramHelper.h - compiles IR and runs its kernels -*- C++ -*-===//
//
// What a test needs to check generated code against the reference evaluator: the whole way from array operations to a
// shared object, and a plain interpreter of the plan's steps on one device (no collectives, no matrix products).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "passes/cpu/EmitCpu.h"
#include "runtime/artifact/Plan.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace spmdc {

/// A context that knows all dialects of the compiler.
std::unique_ptr<mlir::MLIRContext> makeTestContext();

/// How the ranges of the launches are cut: the bits must not depend on it.
enum class RangeSplit { Whole, Ones, Thirds };

class CompiledProgram {
public:
  /// Compiles function @main of the module; fails the running test on errors.
  CompiledProgram(mlir::ModuleOp module, const CpuTarget &target = CpuTarget::host());
  ~CompiledProgram();
  CompiledProgram(const CompiledProgram &) = delete;
  CompiledProgram &operator=(const CompiledProgram &) = delete;

  bool isGood() const { return library != nullptr; }
  /// Runs on one device with the given mesh coordinates.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> arguments, RangeSplit split = RangeSplit::Whole,
                          std::vector<int64_t> coordinates = {});

  spmd::Artifact artifact;

private:
  void *library = nullptr;
};

/// The bytes of a tensor as they lie in device memory, and back.
std::string toBytes(const Tensor &tensor);
Tensor fromBytes(const char *bytes, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// How far apart two floats are, in units of the last place of the element type; equal infinities, NaNs and zeros are 0
/// apart. Integers: 0 or infinity.
double ulpDistance(mlir::Type elementType, Scalar x, Scalar y);

enum class InputKind {
  Ordinary, ///< Floats up to a few tens, integers up to ten.
  Wild,     ///< A third of them break things: NaN, infinities, zeros, subnormal numbers, extreme integers.
  Exact,    ///< Powers of two, whose sums and products do not depend on their order.
};

/// The same for the same seed.
Tensor makeInput(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, unsigned seed, InputKind kind);

} // namespace spmdc
