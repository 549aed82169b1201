//===- GridSteps.cpp - the steps of the plan dialect on all devices -------===//
//
// The part of ProcessGridEvaluator that runs `plan` operations: kernels are evaluated in place, a collective between
// start and done happens at its start, branches and loops follow a predicate on which all devices must agree.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ScalarEvaluation.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/plan/PlanOps.h"

using namespace mlir;

namespace spmdc {
namespace {

/// One device's product, [batch, m, k] x [batch, k, n] as flat row-major memory.
Tensor multiply(plan::MatmulOp op, const Tensor &lhs, const Tensor &rhs, ArrayType type) {
  auto batch = static_cast<int64_t>(op.getBatch()), m = static_cast<int64_t>(op.getM()),
       n = static_cast<int64_t>(op.getN()), depth = static_cast<int64_t>(op.getK());
  Tensor result(type.getShape(), type.getElementType());
  Type elementType = type.getElementType();
  spmd::OperandView left{
      0, {{batch, m * depth}}, {{m, op.getTransposeLhs() ? 1 : depth}}, {{depth, op.getTransposeLhs() ? m : 1}}};
  spmd::OperandView right{
      0, {{batch, depth * n}}, {{depth, op.getTransposeRhs() ? 1 : n}}, {{n, op.getTransposeRhs() ? depth : 1}}};
  if (auto view = op.getLhsViewAttr())
    left = view.toView();
  if (auto view = op.getRhsViewAttr())
    right = view.toView();
  auto at = [](const Tensor &tensor, const spmd::OperandView &view, int64_t number, int64_t row, int64_t column) {
    return tensor.elements[view.offset + positionOf(view.batch, number) + positionOf(view.rows, row) +
                           positionOf(view.columns, column)];
  };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Scalar sum;
        for (int64_t k = 0; k < depth; ++k) {
          sum = evaluateAdd(elementType, sum,
                            evaluateMultiply(elementType, at(lhs, left, b, i, k), at(rhs, right, b, k, j)));
        }
        result.elements[(b * m + i) * n + j] = roundTo(sum, elementType);
      }
  return result;
}

} // namespace

LogicalResult ProcessGridEvaluator::runKernel(Operation *user, StringAttr name, ArrayRef<DeviceTensors> inputs,
                                              Values &outputs) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(user, name);
  if (!kernel)
    return user->emitError() << "unknown kernel @" << name.getValue();
  return runBlock(kernel.getBlock(), inputs, outputs);
}

LogicalResult ProcessGridEvaluator::runMatmul(Operation *op, ArrayRef<DeviceTensors> operands, Values &results) {
  auto matmul = cast<plan::MatmulOp>(op);
  auto batch = static_cast<int64_t>(matmul.getBatch()), m = static_cast<int64_t>(matmul.getM()),
       n = static_cast<int64_t>(matmul.getN()), k = static_cast<int64_t>(matmul.getK());
  ArrayType productType = matmul.getType();
  if (matmul.getEpilogue()) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(op, matmul.getEpilogueAttr().getAttr());
    if (!kernel || kernel.getBlock().getNumArguments() == 0)
      return op->emitError() << "has no epilogue @" << *matmul.getEpilogue() << " that takes the product";
    productType = cast<ArrayType>(kernel.getBlock().getArgument(0).getType());
  }
  auto fits = [&](ArrayType type, plan::ViewAttr view, const std::vector<int64_t> &shape) {
    return view ? view.toView().fits(shape, type.getNumElements())
                : type.getNumElements() == shape[0] * shape[1] * shape[2];
  };
  if (!fits(matmul.getLhs().getType(), matmul.getLhsViewAttr(), {batch, m, k}) ||
      !fits(matmul.getRhs().getType(), matmul.getRhsViewAttr(), {batch, k, n}) ||
      productType.getNumElements() != batch * m * n)
    return op->emitError("has operands that do not fit its sizes");
  DeviceTensors product;
  for (auto [lhs, rhs] : llvm::zip(operands[0], operands[1]))
    product.push_back(multiply(matmul, lhs, rhs, productType));
  if (!matmul.getEpilogue()) {
    results.push_back(std::move(product));
    return success();
  }
  Values inputs = {std::move(product)};
  inputs.append(operands.begin() + 2, operands.end());
  return runKernel(op, matmul.getEpilogueAttr().getAttr(), inputs, results);
}

LogicalResult ProcessGridEvaluator::runPlanOp(Operation *op, ArrayRef<DeviceTensors> operands, Values &results) {
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return runKernel(op, launch.getKernelAttr().getAttr(), operands, results);
  if (isa<plan::MatmulOp>(op))
    return runMatmul(op, operands, results);
  if (auto call = dyn_cast<plan::LibraryOp>(op))
    return runLibrary(call, operands, results);
  if (auto start = dyn_cast<plan::StartOp>(op))
    return runBlock(start.getBody().front(), operands, results);
  if (isa<plan::DoneOp>(op)) {
    results.push_back(operands[0]);
    return success();
  }
  if (auto copy = dyn_cast<plan::CopyOp>(op)) {
    // Copies bytes: the target may have another shape.
    DeviceTensors result = operands[0];
    for (Tensor &tensor : result)
      tensor.shape.assign(copy.getType().getShape().begin(), copy.getType().getShape().end());
    if (copy.getType().getNumElements() != copy.getOperand().getType().getNumElements())
      return op->emitError("copies between buffers of different sizes");
    results.push_back(std::move(result));
    return success();
  }
  if (auto constant = dyn_cast<plan::ConstantOp>(op)) {
    Tensor value = Tensor::fromAttr(cast<DenseElementsAttr>(constant.getValue()));
    results.emplace_back(mesh.deviceCount(), value);
    return success();
  }
  if (isa<plan::IfOp>(op))
    return runIf(op, operands[0], results);
  if (auto loop = dyn_cast<plan::ForOp>(op))
    return runFor(op, static_cast<int64_t>(loop.getLower()), static_cast<int64_t>(loop.getUpper()), Values(operands),
                  results);
  if (isa<plan::WhileOp>(op))
    return runWhile(op, Values(operands), results);
  if (isa<plan::PrintOp>(op))
    return success();
  return op->emitError() << "'" << op->getName() << "' has no reference evaluation";
}

} // namespace spmdc
