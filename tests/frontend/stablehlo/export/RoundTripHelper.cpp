//===- RoundTripHelper.cpp - programs to StableHLO and back ---------------===//

#include "tests/frontend/stablehlo/export/RoundTripHelper.h"

#include "frontend/stablehlo/Import.h"
#include "frontend/stablehlo/export/Export.h"
#include "ir/array/ArrayOps.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/Shards.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/JaxValues.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace spmdc {

namespace {

/// Whether roundings differ: powers and quotients for exp2 and log2, products in another order for einsum, and sums of
/// 16-bit floats, which are rounded to f32 in between.
bool isComposed(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool isSum = isa<ReduceOp, CumulativeOp, ScatterAddOp, ScatterAddAlongOp>(op);
        Type element = op->getNumResults() ? typeOf(op->getResult(0)).getElementType() : Type();
        bool isHalf = element && (element.isBF16() || element.isF16());
        return isa<Exp2Op, Log2Op, EinsumOp>(op) || (isSum && isHalf) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The largest error, relative to the largest element, of a composed operation.
double toleranceOf(Type element) {
  return element.isBF16() ? 0x1p-7 : element.isF16() ? 0x1p-10 : element.isF64() ? 1e-13 : 1e-5;
}

/// Whether the reference evaluator ends soon: it copies all carries in each iteration.
bool isShort(ModuleOp module) {
  constexpr int64_t kMaxIterations = 100'000;
  return !module
              .walk([](ForOp loop) {
                return loop.getTripCount() > kMaxIterations ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

std::string compareValues(ArrayRef<Tensor> expected, ArrayRef<Tensor> actual, bool isExact) {
  for (auto [index, want, have] : llvm::enumerate(expected, actual)) {
    std::string difference;
    if (!isExact)
      difference = compareWithJax(want, have, toleranceOf(want.elementType));
    else
      for (size_t i = 0; i < want.elements.size() && difference.empty(); ++i)
        if (!isSameScalar(want.elementType, want.elements[i], have.elements[i]))
          difference = "element " + std::to_string(i) + " is " + std::to_string(have.elements[i].f) + " or " +
                       std::to_string(have.elements[i].i) + ", the original has " + std::to_string(want.elements[i].f) +
                       " or " + std::to_string(want.elements[i].i);
    if (!difference.empty())
      return "result " + std::to_string(index) + ": " + difference;
  }
  return "";
}

/// The parameters and results as text: `x: f32[8@a, 4] -> y: f32[8]`. Types of results are without shardings, because a
/// constraint before the return says the same; types of parameters only have them if there is a mesh.
std::string signatureOf(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  bool hasMesh = module->hasAttr(kMeshAttrName);
  std::string text;
  auto nameOf = [](StringAttr name) { return name ? name.str() : std::string("(no name)"); };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    text += nameOf(function.getArgAttrOfType<StringAttr>(index, kNameAttrName)) + ": " +
            (hasMesh ? cast<ArrayType>(type) : cast<ArrayType>(type).withoutSharding()).str() + " ";
  text += "->";
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    text += " " + nameOf(function.getResultAttrOfType<StringAttr>(index, kNameAttrName)) + ": " +
            cast<ArrayType>(type).withoutSharding().str();
  return text;
}

} // namespace

std::string describeRoundTrip(ModuleOp module, std::optional<ArrayRef<Tensor>> arguments) {
  std::string errors;
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> original = module.clone();
  PassManager passes(module.getContext());
  addDifferentiation(passes);
  if (failed(passes.run(*original)))
    return errors;
  FailureOr<std::string> text = exportStablehlo(*original);
  if (failed(text))
    return "not exported: " + errors;
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> imported = importStablehlo(*text, "exported.mlir", {}, *module.getContext(), diagnostics);
  if (!imported)
    return "not imported: " + errors + diagnostics.str() + "\n" + *text;
  if (signatureOf(*imported) != signatureOf(*original))
    return "the signature is\n" + signatureOf(*imported) + "\nthe original has\n" + signatureOf(*original);
  if (!arguments || !isShort(*original))
    return "";
  auto evaluate = [&](ModuleOp of) { return evaluateGlobal(of.lookupSymbol<func::FuncOp>("main"), *arguments); };
  FailureOr<SmallVector<Tensor>> expected = evaluate(*original), actual = evaluate(*imported);
  if (failed(expected) || failed(actual))
    return "not evaluated: " + errors;
  std::string difference = compareValues(*expected, *actual, !isComposed(*original));
  return difference.empty() ? "" : difference + "\n" + *text;
}

std::string describeRoundTrip(MLIRContext &context, const std::string &fileName, const std::string &text,
                              std::optional<ArrayRef<Tensor>> arguments) {
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> module = StringRef(fileName).ends_with(".mlir")
                                     ? importStablehlo(text, fileName, {}, context, diagnostics)
                                     : importProgram(text, fileName, {}, context, diagnostics);
  return module ? describeRoundTrip(*module, arguments) : "not read: " + errors + diagnostics.str();
}

} // namespace spmdc
