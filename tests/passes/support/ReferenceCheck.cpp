//===- ReferenceCheck.cpp - compiled programs against the evaluators ------===//

#include "tests/passes/support/ReferenceCheck.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/kernel/Overwrites.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

constexpr int kMostFailures = 3;

std::string show(Scalar value) { return std::to_string(value.f) + " or " + std::to_string(value.i); }

void compare(const std::vector<Tensor> &actual, ArrayRef<Tensor> expected, ArrayRef<Tensor> inputs,
             const ProgramCheck &options) {
  ASSERT_EQ(actual.size(), expected.size());
  for (auto [number, wanted] : llvm::enumerate(expected)) {
    const Tensor &got = actual[number];
    ASSERT_EQ(got.size(), wanted.size());
    Tolerance tolerance = options.tolerances[std::min(number, options.tolerances.size() - 1)];
    std::string name = number < options.names.size() ? options.names[number] : "result " + std::to_string(number);
    int wrong = 0;
    for (int64_t i = 0; i < wanted.size() && wrong < kMostFailures; ++i) {
      Scalar x = got.elements[i], y = wanted.elements[i];
      if (ulpDistance(wanted.elementType, x, y) <= tolerance.ulps || std::abs(x.f - y.f) <= tolerance.absolute)
        continue;
      ++wrong;
      std::string from;
      for (const Tensor &input : inputs)
        if (input.size() == wanted.size())
          from += (from.empty() ? ", of " : ", ") + show(input.elements[i]);
      ADD_FAILURE() << name << ", element " << i << ": " << show(x) << ", expected " << show(y) << from;
    }
  }
}

void expectSameBits(const std::vector<Tensor> &again, const std::vector<Tensor> &first, const std::string &what) {
  ASSERT_EQ(again.size(), first.size());
  for (size_t number = 0; number < first.size(); ++number)
    EXPECT_EQ(toBytes(again[number]), toBytes(first[number])) << "result " << number << " changes " << what;
}

std::vector<Tensor> makeInputs(TypeRange types, const ProgramCheck &options, unsigned seed) {
  std::vector<Tensor> inputs;
  for (auto [number, type] : llvm::enumerate(types)) {
    auto array = cast<ArrayType>(type);
    inputs.push_back(makeInput(array.getShape(), array.getElementType(), seed + number, options.inputs));
  }
  return inputs;
}

/// The results of the kernel on every device, by output.
FailureOr<SmallVector<DeviceTensors>> evaluateKernel(plan::KernelOp kernel, MeshAttr mesh,
                                                     ArrayRef<DeviceTensors> inputs) {
  OpBuilder b(kernel);
  TypeRange inputTypes = kernel.getBlock().getArgumentTypes();
  TypeRange outputTypes = kernel.getBlock().getTerminator()->getOperandTypes();
  auto probe = b.create<func::FuncOp>(kernel.getLoc(), "probe", b.getFunctionType(inputTypes, outputTypes));
  b.setInsertionPointToStart(probe.addEntryBlock());
  auto launch =
      b.create<plan::LaunchOp>(kernel.getLoc(), outputTypes, kernel.getSymName(), probe.getArguments(), ArrayAttr());
  b.create<func::ReturnOp>(kernel.getLoc(), launch.getResults());
  auto outputs = ProcessGridEvaluator(mesh).evaluate(probe, inputs);
  probe.erase();
  return outputs;
}

} // namespace

void checkProgram(const std::string &text, const ProgramCheck &options, const MakeProgram &make) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module) << text;
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> arguments = makeInputs(function.getArgumentTypes(), options, options.seed);
  auto expected = evaluateGlobal(function, arguments);
  ASSERT_TRUE(succeeded(expected));
  std::unique_ptr<PlannedProgram> program = make(*module);
  ASSERT_TRUE(program->isGood());
  EXPECT_EQ(program->findFault(), "");
  std::vector<Tensor> actual = program->run(arguments);
  compare(actual, *expected, arguments, options);
  for (unsigned way = 1; way < program->getVariantCount(); ++way)
    expectSameBits(program->run(arguments, way), actual, "with way " + std::to_string(way) + " of running");
}

int checkKernels(const std::string &text, const ProgramCheck &options, const MakeProgram &make) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  EXPECT_TRUE(module) << text;
  std::unique_ptr<PlannedProgram> program = module ? make(*module) : nullptr;
  if (!program || !program->isGood())
    return 0;
  EXPECT_EQ(program->findFault(), "");
  MeshAttr mesh = getMesh(*module);
  spmd::MeshShape shape = mesh.toValue();
  int pairs = 0;
  SmallVector<plan::KernelOp> kernels(program->getModule().getOps<plan::KernelOp>());
  for (plan::KernelOp kernel : kernels) {
    SCOPED_TRACE(kernel.getSymName().str());
    std::vector<std::vector<Tensor>> inputs; // By device.
    for (int64_t device = 0; device < shape.deviceCount(); ++device)
      inputs.push_back(makeInputs(kernel.getBlock().getArgumentTypes(), options,
                                  options.seed + 100 * static_cast<unsigned>(device)));
    SmallVector<DeviceTensors> byInput(kernel.getBlock().getNumArguments());
    for (const std::vector<Tensor> &ofDevice : inputs)
      for (auto [number, tensor] : llvm::enumerate(ofDevice))
        byInput[number].push_back(tensor);
    auto expected = evaluateKernel(kernel, mesh, byInput);
    EXPECT_TRUE(succeeded(expected));
    if (failed(expected))
      return pairs;
    unsigned outputs = kernel.getBlock().getTerminator()->getNumOperands();
    for (int64_t device = 0; device < shape.deviceCount(); ++device) {
      SCOPED_TRACE("device " + std::to_string(device));
      std::vector<int64_t> coordinates = shape.coordinates(device);
      std::vector<Tensor> wanted;
      for (const DeviceTensors &output : *expected)
        wanted.push_back(output[device]);
      std::vector<Tensor> actual = program->runKernel(kernel, inputs[device], 0, coordinates);
      compare(actual, wanted, inputs[device], options);
      for (unsigned way = 1; way < program->getVariantCount(); ++way)
        expectSameBits(program->runKernel(kernel, inputs[device], way, coordinates), actual,
                       "with way " + std::to_string(way) + " of running");
      for (unsigned output = 0; output < outputs; ++output)
        for (unsigned input = 0; input < inputs[device].size(); ++input) {
          if (!canOverwrite(kernel, input, output))
            continue;
          pairs += device == 0;
          for (unsigned way = 0; way < program->getVariantCount(); ++way)
            expectSameBits(
                program->runKernel(kernel, inputs[device], way, coordinates, PlannedProgram::Overwrite{input, output}),
                actual, "when output " + std::to_string(output) + " overwrites input " + std::to_string(input));
        }
    }
  }
  return pairs;
}

} // namespace spmdc
