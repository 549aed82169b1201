//===- Evaluation.cpp - what a region computes ----------------------------===//

#include "frontend/stablehlo/Evaluation.h"

#include "ir/evaluate/GlobalEvaluator.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace spmdc::stablehlo {

static bool isScalar(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0;
}

/// Scalar code of a region or function, and of the branches and loops in it.
class ScalarCode {
public:
  explicit ScalarCode(bool hasLoops) : hasLoops(hasLoops) {}

  /// The first operation of `body` that is none. Values are those of `root`, the region of the arguments around it.
  Operation *findOther(Region &body, Region &root) {
    if (!llvm::hasSingleElement(body) || !llvm::all_of(body.getArgumentTypes(), isScalar))
      return body.getParentOp();
    for (Operation &op : body.front()) {
      bool hasScalars =
          llvm::all_of(op.getResultTypes(), isScalar) && llvm::all_of(op.getOperands(), [&](Value operand) {
            return isScalar(operand.getType()) && root.isAncestor(operand.getParentRegion());
          });
      bool isControl = isa<IfOp, CaseOp>(op) || (hasLoops && isa<WhileOp>(op));
      if (!hasScalars || (op.getNumRegions() && !isControl) || isa<CompositeOp, CustomCallOp>(op))
        return &op;
      for (Region &region : op.getRegions())
        if (Operation *other = findOther(region, root))
          return other;
      if (auto call = llvm::dyn_cast<func::CallOp>(op))
        if (Operation *other = findOtherInCallee(call))
          return other;
    }
    return nullptr;
  }

private:
  Operation *findOtherInCallee(func::CallOp call) {
    auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() || llvm::is_contained(calls, callee))
      return call;
    calls.push_back(callee);
    Operation *other = findOther(callee.getBody(), callee.getBody());
    calls.pop_back();
    return other;
  }

  bool hasLoops;
  SmallVector<func::FuncOp> calls; ///< The functions around the region, none of which may be called again.
};

Operation *findOtherThanScalarCode(Region &body) { return ScalarCode(/*hasLoops=*/true).findOther(body, body); }

bool canBeEvaluated(Region &body) { return !ScalarCode(/*hasLoops=*/false).findOther(body, body); }

FailureOr<SmallVector<Tensor>> evaluateElementwise(Translation &t, Region &body, ArrayRef<Points> arguments) {
  if (arguments.empty() || body.getNumArguments() != arguments.size() || !canBeEvaluated(body))
    return failure();
  MLIRContext *context = t.b.getContext();
  // A region that is not of the expected form is no error of the program: the caller goes on to its other forms.
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) { return success(); });
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto size = static_cast<int64_t>(arguments.front().values.size());
  SmallVector<Type> types;
  SmallVector<Tensor> values;
  for (const Points &points : arguments) {
    types.push_back(ArrayType::get({size}, points.elementType));
    Tensor &tensor = values.emplace_back(ArrayRef<int64_t>{size}, points.elementType);
    tensor.elements = points.values;
  }
  auto function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "region", builder.getFunctionType(types, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Translation inner(t.source, builder, t.meshes);
  Results results = inner.applyElementwise(body, llvm::to_vector_of<Value>(function.getArguments()));
  if (failed(results))
    return failure();
  builder.create<func::ReturnOp>(builder.getUnknownLoc(), *results);
  function.setType(
      builder.getFunctionType(types, llvm::map_to_vector(*results, [](Value value) { return value.getType(); })));
  return evaluateGlobal(function, values);
}

} // namespace spmdc::stablehlo
