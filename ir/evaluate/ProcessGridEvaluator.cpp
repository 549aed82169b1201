//===- ProcessGridEvaluator.cpp - a partitioned program on all devices ----===//

#include "ir/evaluate/ProcessGridEvaluator.h"

#include "ir/array/ArrayOps.h"
#include "ir/evaluate/GridCollectives.h"
#include "ir/evaluate/OpEvaluator.h"
#include "ir/plan/PlanOps.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The global type of a parameter or result: `spmd.global`, or the type itself if the program is not partitioned.
ArrayType getGlobalType(Attribute attribute, Type local) {
  if (auto type = dyn_cast_if_present<TypeAttr>(attribute))
    return cast<ArrayType>(type.getValue());
  return cast<ArrayType>(local);
}

/// An i32[] with a value for each device.
DeviceTensors coordinateTensors(const spmd::MeshShape &mesh, Type elementType,
                                llvm::function_ref<int64_t(int64_t device)> value) {
  DeviceTensors result;
  for (int64_t device = 0; device < mesh.deviceCount(); ++device)
    result.emplace_back(ArrayRef<int64_t>{}, elementType, Scalar::ofInt(value(device)));
  return result;
}

} // namespace

FailureOr<SmallVector<DeviceTensors>> ProcessGridEvaluator::evaluate(func::FuncOp function,
                                                                     ArrayRef<DeviceTensors> arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("must have one block to be evaluated");
  values.clear();
  Values results;
  if (failed(runBlock(function.getBody().front(), arguments, results)))
    return failure();
  return results;
}

FailureOr<SmallVector<Tensor>> ProcessGridEvaluator::evaluateGlobalView(func::FuncOp function,
                                                                        ArrayRef<Tensor> arguments) {
  FunctionType type = function.getFunctionType();
  if (arguments.size() != type.getNumInputs())
    return function.emitError() << "takes " << type.getNumInputs() << " arguments, got " << arguments.size();
  Values inputs;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    ArrayType global = getGlobalType(function.getArgAttr(index, kGlobalTypeAttrName), type.getInput(index));
    if (ArrayRef<int64_t>(argument.shape) != global.getShape() || argument.elementType != global.getElementType())
      return function.emitError() << "argument " << index << " is not a " << global.withoutSharding().str();
    inputs.push_back(splitIntoShards(argument, global, mesh, poison));
  }
  FailureOr<Values> outputs = evaluate(function, inputs);
  if (failed(outputs))
    return failure();
  SmallVector<Tensor> results;
  for (auto [index, output] : llvm::enumerate(*outputs)) {
    ArrayType global = getGlobalType(function.getResultAttr(index, kGlobalTypeAttrName), type.getResult(index));
    std::string error;
    FailureOr<Tensor> result = assembleShards(output, global, mesh, error);
    if (failed(result))
      return function.emitError() << "result " << index << ": " << error;
    results.push_back(std::move(*result));
  }
  return results;
}

FailureOr<SmallVector<Tensor>> ProcessGridEvaluator::evaluateManual(ManualOp op, ArrayRef<Tensor> operands) {
  Values inputs, outputs;
  for (auto [input, operand] : llvm::zip(op.getInputs(), operands))
    inputs.push_back(splitIntoShards(operand, op.getManualPart(cast<ArrayType>(input.getType())), mesh, poison));
  if (failed(runBlock(op.getBlock(), inputs, outputs)))
    return failure();
  SmallVector<Tensor> results;
  for (auto [index, value] : llvm::enumerate(op.getOutputs())) {
    std::string error;
    FailureOr<Tensor> result =
        assembleShards(outputs[index], op.getManualPart(cast<ArrayType>(value.getType())), mesh, error);
    if (failed(result))
      return op.emitError() << "result " << index << ": " << error;
    results.push_back(std::move(*result));
  }
  return results;
}

LogicalResult ProcessGridEvaluator::runManual(ManualOp op, ArrayRef<DeviceTensors> operands, Values &results) {
  MeshAttr meshOfBoth = op.getManualMesh();
  spmd::MeshShape both = meshOfBoth.toValue();
  // Maps a device of the combined mesh to its device in the grid of the region around.
  auto around = [&](int64_t device) {
    std::vector<int64_t> place;
    for (const spmd::MeshAxis &axis : mesh.axes)
      place.push_back(both.coordinates(device)[both.indexOf(axis.name)]);
    return mesh.deviceAt(place);
  };
  auto atPlaceOf = [&](int64_t device, int64_t other) {
    std::vector<int64_t> place = both.coordinates(device);
    for (auto [axis, coordinate] : llvm::zip(mesh.axes, mesh.coordinates(other)))
      place[both.indexOf(axis.name)] = coordinate;
    return both.deviceAt(place);
  };
  ProcessGridEvaluator evaluator(meshOfBoth, poison);
  for (int64_t device = 0; !here.empty() && device < both.deviceCount(); ++device)
    evaluator.here.push_back(here[around(device)]);
  Values inputs, outputs;
  for (auto [input, operand] : llvm::zip(op.getInputs(), operands)) {
    ArrayType type = op.getManualPart(cast<ArrayType>(input.getType()));
    SmallVector<DeviceTensors> cut;
    for (const Tensor &tensor : operand)
      cut.push_back(splitIntoShards(tensor, type, both, poison));
    DeviceTensors &pieces = inputs.emplace_back();
    for (int64_t device = 0; device < both.deviceCount(); ++device)
      pieces.push_back(cut[around(device)][device]);
  }
  if (failed(evaluator.runBlock(op.getBlock(), inputs, outputs)))
    return failure();
  for (auto [index, value] : llvm::enumerate(op.getOutputs())) {
    ArrayType type = op.getManualPart(cast<ArrayType>(value.getType()));
    DeviceTensors &result = results.emplace_back();
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      DeviceTensors pieces;
      for (int64_t other = 0; other < both.deviceCount(); ++other)
        pieces.push_back(outputs[index][atPlaceOf(other, device)]);
      std::string error;
      FailureOr<Tensor> joined = assembleShards(pieces, type, both, error);
      if (failed(joined))
        return op.emitError() << "result " << index << ": " << error;
      result.push_back(std::move(*joined));
    }
  }
  return success();
}

LogicalResult ProcessGridEvaluator::runBlock(Block &block, ArrayRef<DeviceTensors> arguments, Values &yielded) {
  if (arguments.size() != block.getNumArguments())
    return block.getParentOp()->emitError()
           << "takes " << block.getNumArguments() << " values, got " << arguments.size();
  for (auto [parameter, argument] : llvm::zip(block.getArguments(), arguments)) {
    auto type = cast<ArrayType>(parameter.getType());
    for (const Tensor &tensor : argument)
      if (ArrayRef<int64_t>(tensor.shape) != type.getShape() || tensor.elementType != type.getElementType())
        return block.getParentOp()->emitError() << "value " << parameter.getArgNumber() << " is not a " << type.str();
    values[parameter] = argument;
  }
  for (Operation &op : block) {
    Values operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      yielded = std::move(operands);
      return success();
    }
    if (failed(runOp(&op, operands, results)))
      return failure();
    if (results.size() != op.getNumResults())
      return op.emitError() << "has " << op.getNumResults() << " results, its evaluation " << results.size();
    for (auto [value, result] : llvm::zip(op.getResults(), results))
      values[value] = std::move(result);
  }
  return block.getParentOp()->emitError("has no terminator");
}

LogicalResult ProcessGridEvaluator::runOp(Operation *op, ArrayRef<DeviceTensors> operands, Values &results) {
  if (isa<plan::PlanDialect>(op->getDialect()))
    return runPlanOp(op, operands, results);
  if (auto loop = dyn_cast<ForOp>(op))
    return runFor(op, static_cast<int64_t>(loop.getLower()), static_cast<int64_t>(loop.getUpper()), Values(operands),
                  results);
  if (isa<WhileOp>(op))
    return runWhile(op, Values(operands), results);
  if (isa<IfOp>(op))
    return runIf(op, operands[0], results);
  if (auto manual = dyn_cast<ManualOp>(op))
    return runManual(manual, operands, results);
  if (isa<PrintOp, ShardingGroupOp>(op))
    return success();
  // In a manual region, these concern its automatic axes.
  if (isa<ConstraintOp, ReshardOp>(op)) {
    results.push_back(operands[0]);
    return success();
  }
  if (isa<CollectiveOpInterface>(op)) {
    FailureOr<DeviceTensors> result = evaluateCollective(op, mesh, operands, poison);
    if (failed(result))
      return failure();
    results.push_back(std::move(*result));
    return success();
  }
  auto elementType = [&] { return cast<ArrayType>(op->getResult(0).getType()).getElementType(); };
  if (auto start = dyn_cast<ShardStartOp>(op)) {
    results.push_back(coordinateTensors(mesh, elementType(), [&](int64_t device) {
      return getOwnedRange(mesh, start.getAxes().toValues(), device, start.getSize()).start;
    }));
    return success();
  }
  if (auto size = dyn_cast<ShardSizeOp>(op)) {
    results.push_back(coordinateTensors(mesh, elementType(), [&](int64_t device) {
      return getOwnedRange(mesh, size.getAxes().toValues(), device, size.getSize()).size;
    }));
    return success();
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    results.push_back(coordinateTensors(mesh, elementType(), [&](int64_t device) {
      int64_t position = 0;
      for (const spmd::AxisRef &axis : index.getAxes().toValues())
        position = position * axis.sizeIn(mesh) + axis.coordinateIn(mesh, mesh.coordinates(device));
      return position;
    }));
    return success();
  }
  DeviceTensors result;
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    SmallVector<Tensor> local;
    for (const DeviceTensors &operand : operands)
      local.push_back(operand[device]);
    FailureOr<Tensor> tensor = evaluateArrayOp(op, local);
    if (failed(tensor))
      return failure();
    result.push_back(std::move(*tensor));
  }
  results.push_back(std::move(result));
  return success();
}

} // namespace spmdc
