//===- Case.cpp - one program to check ------------------------------------===//

#include "tests/programs/support/Case.h"

#include "frontend/Frontend.h"
#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/differentiate/Passes.h"
#include "tests/programs/support/RandomSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace spmdc {

void loadDialects(MLIRContext &context) {
  context.loadDialect<func::FuncDialect, ArrayDialect, SpmdDialect, plan::PlanDialect>();
}

Case generateCase(MLIRContext &context, const GeneratorOptions &options, Mode mode, std::set<std::string> *made) {
  Case test;
  test.program = generateProgram(context, options, made);
  test.mode = mode;
  test.seed = options.seed;
  return test;
}

/// Sets a random sharding on every value. Constraints become reshards; sharding groups are removed.
static void shardEverything(ModuleOp module, const Case &test) {
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  MLIRContext *context = module.getContext();
  MeshAttr mesh = module->getAttrOfType<MeshAttr>(kMeshAttrName);
  size_t number = 0;
  auto shard = [&](Value value) {
    auto type = cast<ArrayType>(value.getType());
    // Each value has its own random numbers, so that removing one leaves the others as they are.
    Random random(test.seed * 0x2545F4914F6CDD1Du + 3000 + number);
    bool isReplicated = test.replicated.count(number++);
    auto draw = [&](ManualOp region, ArrayType array) {
      MeshAttr among = region ? MeshAttr::fromValue(context, "m", getAutomaticMesh(&region.getBlock().front())) : mesh;
      ShardingAttr sharding = randomSharding(random, among, array.getShape());
      return isReplicated ? ShardingAttr::getReplicated(context, array.getRank()) : sharding;
    };
    // In a region with all axes manual, values have no sharding; the operands and results of such a region keep theirs.
    // Around a region over some axes, arrays have the shardings that are written.
    Operation *around = value.getParentRegion()->getParentOp();
    auto region = dyn_cast<ManualOp>(around);
    if (!region)
      region = around->getParentOfType<ManualOp>();
    auto border = value.getDefiningOp<ManualOp>();
    for (Operation *user : value.getUsers())
      if (auto manual = dyn_cast<ManualOp>(user))
        border = manual;
    if ((region && !region.hasAutomaticAxes()) || (border && !border.hasAutomaticAxes()))
      return;
    value.setType(border ? border.withLocalSharding(type, draw(border, border.getLocalType(type)))
                         : type.withSharding(draw(region, type)));
  };
  function.walk([&](Operation *op) {
    OpBuilder builder(op);
    if (isa<ShardingGroupOp>(op)) {
      op->erase();
    } else if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      auto reshard = builder.create<ReshardOp>(op->getLoc(), op->getResult(0).getType(), constraint.getOperand(),
                                               /*why=*/nullptr);
      constraint.replaceAllUsesWith(reshard.getResult());
      constraint.erase();
    }
  });
  for (BlockArgument argument : function.getArguments())
    shard(argument);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      shard(result);
    if (auto manual = dyn_cast<ManualOp>(op))
      for (BlockArgument argument : manual.getBlock().getArguments())
        shard(argument);
    // A carry's arguments have the sharding of the loop's result.
    for (Region &region : op->getRegions())
      if (isa<ForOp, WhileOp>(op))
        for (auto [argument, result] :
             llvm::zip(region.getArguments().drop_front(isa<ForOp>(op) ? 1 : 0), op->getResults()))
          argument.setType(result.getType());
  });
  Operation *end = function.getBody().front().getTerminator();
  function.setFunctionType(FunctionType::get(context, function.getBody().getArgumentTypes(), end->getOperandTypes()));
  module->setAttr("spmd.stage", StringAttr::get(context, "propagated"));
}

/// The front end must infer the types that the generator expects.
static std::string checkTypes(func::FuncOp function, const Program &program) {
  auto differs = [&](Type type, int variable) -> std::string {
    const Variable &expected = program.variables[variable];
    auto array = cast<ArrayType>(type);
    if (array.getDType() == expected.dtype && array.getShape().equals(expected.shape))
      return "";
    return program.nameOf(variable) + " is " + array.withoutSharding().str() + " instead of " +
           typeText(expected.dtype, expected.shape);
  };
  for (auto [argument, parameter] : llvm::zip_equal(function.getArgumentTypes(), program.parameters))
    if (std::string text = differs(argument, parameter.variable); !text.empty())
      return text;
  for (auto [type, result] : llvm::zip_equal(function.getResultTypes(), program.results))
    if (std::string text = differs(type, result.variable); !text.empty())
      return text;
  return "";
}

OwningOpRef<ModuleOp> differentiated(ModuleOp module) {
  OwningOpRef<ModuleOp> clone = module.clone();
  PassManager passes(module.getContext());
  passes.addPass(createDifferentiatePass());
  passes.addPass(createVerifyDifferentiatedPass());
  return succeeded(passes.run(*clone)) ? std::move(clone) : OwningOpRef<ModuleOp>();
}

FailureOr<Subject> makeSubject(MLIRContext &context, const Case &test, std::string &error) {
  Subject subject;
  subject.fileName = "program.spmd";
  subject.text = test.program.str();
  Diagnostics diagnostics;
  subject.module = importProgram(subject.text, subject.fileName, {}, context, diagnostics);
  if (!subject.module) {
    error = "refused:\n" + diagnostics.str();
    return failure();
  }
  func::FuncOp function = *subject.module->getOps<func::FuncOp>().begin();
  error = checkTypes(function, test.program);
  if (!error.empty()) {
    error = "wrong type: " + error;
    return failure();
  }
  for (const ProgramParameter &parameter : test.program.parameters) {
    const Variable &variable = test.program.variables[parameter.variable];
    Tensor tensor(variable.shape, getElementType(&context, variable.dtype));
    tensor.elements = parameter.elements;
    subject.arguments.push_back(std::move(tensor));
  }
  for (const ProgramResult &result : test.program.results)
    subject.results.push_back(test.program.variables[result.variable].accuracy);
  if (test.mode == Mode::Text)
    return subject;
  if (!(*subject.module)->hasAttr(kMeshAttrName))
    (*subject.module)->setAttr(kMeshAttrName, MeshAttr::fromValue(&context, "m", {}));
  subject.module = differentiated(*subject.module);
  if (!subject.module) {
    error = "cannot be differentiated";
    return failure();
  }
  if (test.hasIrOperations)
    addIrOperations(*subject.module, test.seed, subject.results);
  shardEverything(*subject.module, test);
  subject.fileName = "program.mlir";
  subject.text.clear();
  llvm::raw_string_ostream os(subject.text);
  subject.module->print(os);
  return subject;
}

} // namespace spmdc
