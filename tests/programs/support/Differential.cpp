//===- Differential.cpp - one program through every stage -----------------===//

#include "tests/programs/support/Differential.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/plan/PlanOps.h"
#include "passes/pipeline/Pipeline.h"
#include "runtime/support/Error.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/TensorBytes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

/// Collects diagnostics as text while the object lives.
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

bool isNear(Type type, Scalar expected, Scalar actual, const Accuracy &accuracy) {
  if (!isa<FloatType>(type))
    return expected.i == actual.i;
  if (std::isnan(expected.f) || std::isnan(actual.f))
    return std::isnan(expected.f) && std::isnan(actual.f);
  // Equality first: for infinities, and, unless the sign is known, for zeros of both signs (the sign of a sum of
  // negative zeros depends on its initial value).
  if (expected.f == actual.f)
    return !accuracy.bits || std::signbit(expected.f) == std::signbit(actual.f);
  return !accuracy.exact && std::isfinite(expected.f) &&
         std::abs(expected.f - actual.f) <= accuracy.errorAt(expected.f);
}

/// Every fourth case rematerializes all gathered arrays; in every second of these, loops carry no partial sums that are
/// larger than their sums, and no array is gathered in front of a loop.
PipelineOptions pipelineOptions(uint64_t seed) {
  PipelineOptions options;
  options.growsCarries = seed % 8 != 7;
  options.bytesToFree = seed % 4 == 3 ? std::numeric_limits<int64_t>::max() : 0;
  return options;
}

/// Runs the artifact in jobs of several processes.
std::string runInJobs(ProcessJobs &jobs, const spmd::Artifact &artifact, const Subject &subject, uint64_t seed,
                      std::vector<ResultBytes> &results) {
  std::vector<std::vector<char>> arguments;
  for (const Tensor &argument : subject.arguments)
    arguments.push_back(toBytes(argument));
  return jobs.run(artifact, arguments, seed, results);
}

std::string checkOnGpus(const Subject &subject, uint64_t seed, ArrayRef<Tensor> expected, const CheckOptions &options) {
  std::string error;
  std::shared_ptr<const spmd::Artifact> artifact =
      compileText(subject.fileName, subject.text, options.optimizationLevel, error, pipelineOptions(seed),
                  options.costModel, "cuda:sm_90");
  if (!artifact)
    return "GPUs: does not compile:\n" + error;
  std::vector<ResultBytes> results;
  if (std::string failure = runInJobs(*options.gpuProcesses, *artifact, subject, seed, results); !failure.empty())
    return "GPUs: " + failure;
  SmallVector<Tensor> actual;
  for (auto [i, tensor] : llvm::enumerate(expected))
    actual.push_back(fromBytes(results[i], tensor.shape, tensor.elementType));
  if (std::string difference = compareResults(expected, actual, subject.results); !difference.empty())
    return "GPUs: wrong result: " + difference;
  return {};
}

/// Compiles the program and runs it twice on one executor, with both kinds of poison: state that a run leaves behind
/// would show. Then runs it in several processes, which must give the bits of one process.
std::string checkCompiled(const Subject &subject, uint64_t seed, ArrayRef<Tensor> expected,
                          const CheckOptions &options) {
  std::string error;
  std::shared_ptr<const spmd::Artifact> artifact = compileText(
      subject.fileName, subject.text, options.optimizationLevel, error, pipelineOptions(seed), options.costModel);
  if (!artifact)
    return "compiled: does not compile:\n" + error;
  MLIRContext &context = *subject.module.get().getContext();
  SmallVector<Tensor> alone;
  try {
    CompiledProgram compiled(artifact);
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      FailureOr<SmallVector<Tensor>> actual = compiled.run(context, subject.arguments, poison, error);
      if (failed(actual))
        return "compiled: run fails: " + error;
      if (std::string difference = compareResults(expected, *actual, subject.results); !difference.empty())
        return "compiled: wrong result: " + difference;
      alone = std::move(*actual);
    }
  } catch (const spmd::Error &thrown) {
    return std::string("compiled: cannot be loaded: ") + thrown.what();
  }
  if (!options.processes)
    return {};
  std::vector<ResultBytes> results;
  if (std::string failure = runInJobs(*options.processes, *artifact, subject, seed, results); !failure.empty())
    return "processes: " + failure;
  for (auto [i, tensor] : llvm::enumerate(alone))
    if (toBytes(fromBytes(results[i], tensor.shape, tensor.elementType)) != toBytes(tensor))
      return "processes: different bits: result " + std::to_string(i) + " in several processes and in one";
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
        os << llvm::format(" (allowed error %.3g)", accuracy[result].errorAt(want.elements[i].f));
      return text;
    }
  }
  return text;
}

namespace {

/// Runs the stages up to the plan, and evaluates each.
std::string checkStages(Subject &subject, uint64_t seed, const CheckOptions &options, SmallVector<Tensor> &expected,
                        OwningOpRef<ModuleOp> &lowered) {
  ModuleOp module = *subject.module;
  DiagnosticText diagnostics(module.getContext());
  auto fail = [&](StringRef stageLabel, const std::string &what, ModuleOp culprit) {
    return (stageLabel + ": " + what + "\n" + diagnostics.str() + textOf(culprit)).str();
  };
  if (failed(module.verify()))
    return fail("array", "invalid:", module);
  OwningOpRef<ModuleOp> plain = differentiated(module);
  if (!plain)
    return fail("array", "cannot be differentiated:", module);
  FailureOr<SmallVector<Tensor>> global = evaluateGlobal(entryOf(*plain), subject.arguments);
  if (failed(global))
    return fail("array", "cannot be evaluated:", module);
  expected = std::move(*global);

  lowered = module.clone();
  options.costModel.attachTo(*lowered);
  Stage reached = getStage(module);
  for (Stage stage : {Stage::Propagated, Stage::Partitioned, Stage::Kernels, Stage::Plan}) {
    if (stage <= reached || stage > options.lastStage)
      continue;
    OwningOpRef<ModuleOp> before = lowered->clone();
    if (failed(runPipeline(*lowered, reached, stage, pipelineOptions(seed))))
      return fail(stageName(stage), "pipeline fails:", *before);
    reached = stage;
    if (stage == Stage::Propagated) {
      FailureOr<SmallVector<Tensor>> actual = evaluateGlobal(entryOf(*lowered), subject.arguments);
      if (failed(actual))
        return fail(stageName(stage), "cannot be evaluated:", *lowered);
      if (std::string difference = compareResults(expected, *actual, subject.results); !difference.empty())
        return fail(stageName(stage), "wrong result: " + difference, *lowered);
      continue;
    }
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      ProcessGridEvaluator grid(getMesh(*lowered), poison);
      FailureOr<SmallVector<Tensor>> actual = grid.evaluateGlobalView(entryOf(*lowered), subject.arguments);
      if (failed(actual))
        return fail(stageName(stage), "cannot be evaluated:", *lowered);
      if (std::string difference = compareResults(expected, *actual, subject.results); !difference.empty())
        return fail(stageName(stage), "wrong result: " + difference, *lowered);
    }
  }
  return {};
}

} // namespace

std::string checkCase(const Case &test, const CheckOptions &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::string error;
  FailureOr<Subject> subject = makeSubject(context, test, error);
  if (failed(subject))
    return "frontend: " + error;
  SmallVector<Tensor> expected;
  OwningOpRef<ModuleOp> lowered;
  if (std::string failure = checkStages(*subject, test.seed, options, expected, lowered); !failure.empty())
    return failure;
  if (options.compiled || options.processes)
    if (std::string failure = checkCompiled(*subject, test.seed, expected, options); !failure.empty())
      return failure + "\n" + textOf(*lowered);
  if (options.gpuProcesses)
    if (std::string failure = checkOnGpus(*subject, test.seed, expected, options); !failure.empty())
      return failure + "\n" + textOf(*lowered);
  return {};
}

std::string kindOfFailure(const std::string &failure) {
  size_t stageLabel = failure.find(':');
  return failure.substr(0, stageLabel == std::string::npos ? stageLabel : failure.find_first_of(":\n", stageLabel + 1));
}

} // namespace spmdc
