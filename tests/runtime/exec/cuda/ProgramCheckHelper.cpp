//===- ProgramCheckHelper.cpp - compares emulated GPUs and CPUs -----------===//

#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include "runtime/support/Error.h"
#include "tests/programs/support/Case.h"

#include <gtest/gtest.h>

using namespace mlir;
using spmdc::Poison;
using spmdc::Tensor;

namespace spmd::test {

std::set<CollectiveKind> collectivesOf(const std::vector<Step> &steps) {
  std::set<CollectiveKind> kinds;
  for (const Step &step : steps) {
    if (auto *start = std::get_if<CollectiveStartStep>(&step.op))
      kinds.insert(start->desc.kind);
    else if (auto *branch = std::get_if<IfStep>(&step.op)) {
      kinds.merge(collectivesOf(branch->thenSteps));
      kinds.merge(collectivesOf(branch->elseSteps));
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      kinds.merge(collectivesOf(loop->condition));
      kinds.merge(collectivesOf(loop->body));
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      kinds.merge(collectivesOf(counted->body));
    }
  }
  return kinds;
}

/// Two runs, with both kinds of poison in the padding: the second one has the same addresses, so that it runs graphs.
static SmallVector<Tensor> runOnGpus(MLIRContext &context, const GpuArtifact &program, ArrayRef<Tensor> arguments,
                                     const GpuJobOptions &options) {
  SmallVector<Tensor> results;
  try {
    GpuJob job(program->plan.mesh.deviceCount(), options);
    std::unique_ptr<spmdc::CompiledProgram> loaded = job.load(program);
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      std::string error;
      FailureOr<SmallVector<Tensor>> run = loaded->run(context, arguments, poison, error);
      EXPECT_EQ(error, "");
      if (failed(run))
        return {};
      if (poison == Poison::Huge)
        EXPECT_EQ(compareTensors(results, *run, 0), "") << "the second run";
      results = std::move(*run);
    }
    EXPECT_TRUE(options.transport == Transport::Host || collectivesOf(program->plan.steps).empty() ||
                job.getNccl().countBytes() > 0)
        << "NCCL was not used";
  } catch (const Error &error) {
    ADD_FAILURE() << error.what();
  }
  return results;
}

std::set<CollectiveKind> checkOnGpus(std::string text, const ProgramCheck &check) {
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += check.type.size())
    if (at == 0 || !isalnum(static_cast<unsigned char>(text[at - 1])))
      text.replace(at, 1, check.type);
  SCOPED_TRACE(text);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  spmdc::loadDialects(context);
  GpuArtifact program = compileForGpus("program.spmd", text);
  if (!program)
    return {};
  const Plan &plan = program->plan;
  std::vector<Tensor> arguments = makeArguments(context, plan, check.seed, check.areExact);
  std::string error;
  std::shared_ptr<const Artifact> forCpus = spmdc::compileText("program.spmd", text, 1, error);
  EXPECT_TRUE(forCpus) << error;
  if (!forCpus)
    return {};
  FailureOr<SmallVector<Tensor>> expected = spmdc::CompiledProgram(forCpus).run(context, arguments, Poison::Nan, error);
  EXPECT_EQ(error, "");
  if (failed(expected))
    return {};
  for (uint64_t order = 0; order < check.orders; ++order) {
    GpuJobOptions options;
    options.seed = check.seed + order;
    options.sharesGpu = check.sharesGpu;
    SmallVector<Tensor> results = runOnGpus(context, program, arguments, options);
    EXPECT_EQ(compareTensors(*expected, results, check.ulps), "");
    if (plan.mesh.deviceCount() == 1 || check.sharesGpu)
      continue;
    options.transport = Transport::Nccl;
    SmallVector<Tensor> byNccl = runOnGpus(context, program, arguments, options);
    EXPECT_EQ(compareTensors(results, byNccl, 0), "") << "NCCL against the host";
  }
  return collectivesOf(plan.steps);
}

} // namespace spmd::test
