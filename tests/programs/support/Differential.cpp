//===- Differential.cpp - one program through every station ---------------===//

#include "tests/programs/support/Differential.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/plan/PlanOps.h"
#include "passes/pipeline/Pipeline.h"
#include "runtime/support/Error.h"
#include "tests/programs/support/CompiledRun.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

/// Diagnostics as text while the object lives.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          text += diagnostic.str() + "\n";
          for (Diagnostic &note : diagnostic.getNotes())
            text += "  note: " + note.str() + "\n";
          return success();
        }) {}
  const std::string &str() const { return text; }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeElementsAttrs(256));
  return text;
}

func::FuncOp entryOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

void loadDialects(MLIRContext &context) {
  context.loadDialect<func::FuncDialect, ArrayDialect, SpmdDialect, plan::PlanDialect>();
}

bool isNear(Type type, Scalar expected, Scalar actual, const Accuracy &accuracy) {
  if (!isa<FloatType>(type))
    return expected.i == actual.i;
  if (std::isnan(expected.f) || std::isnan(actual.f))
    return std::isnan(expected.f) && std::isnan(actual.f);
  // Equality first: infinities, and zeros of both signs (a sum of negative zeros depends on where it starts).
  if (expected.f == actual.f)
    return true;
  return !accuracy.exact && std::isfinite(expected.f) && std::abs(expected.f - actual.f) <= accuracy.error;
}

/// Compiled and run twice on one executor, with both kinds of poison: state left behind by a run would show.
std::string checkCompiled(RandomProgram &program, ArrayRef<Tensor> expected, unsigned optimizationLevel) {
  std::string error;
  std::shared_ptr<const spmd::Artifact> artifact = compileModule(*program.module, optimizationLevel, error);
  if (!artifact)
    return error;
  try {
    CompiledProgram compiled(artifact);
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      FailureOr<SmallVector<Tensor>> actual =
          compiled.run(*program.module->getContext(), program.arguments, poison, error);
      if (failed(actual))
        return error;
      if (std::string difference = compareResults(expected, *actual, program.results); !difference.empty())
        return difference;
    }
  } catch (const spmd::Error &thrown) {
    return std::string("cannot be loaded: ") + thrown.what();
  }
  return {};
}

} // namespace

std::string compareResults(ArrayRef<Tensor> expected, ArrayRef<Tensor> actual, ArrayRef<Accuracy> accuracy) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (expected.size() != actual.size()) {
    os << "expected " << expected.size() << " results, got " << actual.size();
    return text;
  }
  for (size_t result = 0; result < expected.size(); ++result) {
    const Tensor &want = expected[result], &got = actual[result];
    if (want.shape != got.shape || want.elementType != got.elementType) {
      os << "result " << result << " is " << ArrayType::get(got.shape, got.elementType).str() << " instead of "
         << ArrayType::get(want.shape, want.elementType).str();
      return text;
    }
    for (int64_t i = 0; i < want.size(); ++i) {
      if (isNear(want.elementType, want.elements[i], got.elements[i], accuracy[result]))
        continue;
      os << "result " << result << " (" << ArrayType::get(want.shape, want.elementType).str() << "), element " << i
         << ": expected ";
      if (isa<FloatType>(want.elementType))
        os << llvm::format("%.9g", want.elements[i].f) << ", got " << llvm::format("%.9g", got.elements[i].f);
      else
        os << want.elements[i].i << ", got " << got.elements[i].i;
      if (!accuracy[result].exact)
        os << llvm::format(" (allowed error %.3g)", accuracy[result].error);
      return text;
    }
  }
  return text;
}

std::string checkProgram(RandomProgram &program, const DifferentialOptions &options) {
  ModuleOp module = *program.module;
  DiagnosticText diagnostics(module.getContext());
  auto fail = [&](StringRef station, const std::string &what, ModuleOp culprit) {
    return ("at " + station + ": " + what + "\n" + diagnostics.str() + textOf(culprit)).str();
  };
  if (failed(module.verify()))
    return fail("array", "the generator made an invalid program", module);
  FailureOr<SmallVector<Tensor>> expected = evaluateGlobal(entryOf(module), program.arguments);
  if (failed(expected))
    return fail("array", "the global view cannot be evaluated", module);

  OwningOpRef<ModuleOp> lowered = module.clone();
  Stage reached = getStage(module);
  for (Stage stage : {Stage::Propagated, Stage::Partitioned, Stage::Kernels, Stage::Plan}) {
    if (stage <= reached || stage > options.lastStage)
      continue;
    OwningOpRef<ModuleOp> before = lowered->clone();
    if (failed(runPipeline(*lowered, reached, stage, {})))
      return fail(stageName(stage), "the pipeline fails on", *before);
    reached = stage;
    if (stage == Stage::Propagated) {
      FailureOr<SmallVector<Tensor>> actual = evaluateGlobal(entryOf(*lowered), program.arguments);
      if (failed(actual))
        return fail(stageName(stage), "cannot be evaluated", *lowered);
      if (std::string difference = compareResults(*expected, *actual, program.results); !difference.empty())
        return fail(stageName(stage), difference, *lowered);
      continue;
    }
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      ProcessGridEvaluator grid(getMesh(*lowered), poison);
      FailureOr<SmallVector<Tensor>> actual = grid.evaluateGlobalView(entryOf(*lowered), program.arguments);
      if (failed(actual))
        return fail(stageName(stage), "cannot be evaluated", *lowered);
      if (std::string difference = compareResults(*expected, *actual, program.results); !difference.empty())
        return fail(stageName(stage), difference, *lowered);
    }
  }
  if (options.compiled)
    if (std::string failure = checkCompiled(program, *expected, options.optimizationLevel); !failure.empty())
      return fail("compiled", failure, *lowered);
  return {};
}

std::string checkSeed(const GeneratorOptions &generator, const DifferentialOptions &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  RandomProgram program = generateProgram(context, generator);
  std::string source = textOf(*program.module);
  std::string failure = checkProgram(program, options);
  if (failure.empty())
    return {};
  return "seed " + std::to_string(generator.seed) +
         (generator.mode == ShardingMode::Everything ? ", everything sharded" : ", annotations") + ", " +
         std::to_string(generator.maxOps) + " operations: " + failure + "\n// the program\n" + source;
}

std::string describeSeed(const GeneratorOptions &generator) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  return textOf(*generateProgram(context, generator).module);
}

} // namespace spmdc
