//===- ExportPlan.cpp - from the plan dialect to an artifact --------------===//

#include "passes/plan/ExportPlan.h"

#include "ir/plan/AllowTf32.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/ElementFormats.h"
#include "ir/spmd/Location.h"
#include "passes/kernel/KernelSchedule.h"
#include "passes/plan/CollectiveDescs.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Liveness.h"
#include "passes/plan/LoopSteps.h"
#include "runtime/artifact/CompiledLoops.h"
#include "runtime/artifact/PlanFields.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

using spmd::BufferInfo;
using Space = spmd::BufferInfo::Space;

std::vector<int64_t> toVector(ArrayRef<int64_t> shape) { return {shape.begin(), shape.end()}; }

spmd::SourceLocation toLocation(Location loc) {
  std::optional<SourcePosition> position = getSourcePosition(loc);
  if (!position)
    return {};
  return {position->file, static_cast<int32_t>(position->line), static_cast<int32_t>(position->column)};
}

/// The bytes of a constant in memory: row-major, bool as one byte.
std::string toBytes(DenseElementsAttr value, ArrayType type) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(type.getBytes()));
  if (type.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(element ? 1 : 0);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  if (!value.isSplat())
    return std::string(raw.begin(), raw.end());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    bytes.append(raw.begin(), raw.end());
  return bytes;
}

class Exporter {
public:
  explicit Exporter(ModuleOp module) : module(module) {}

  FailureOr<spmd::Artifact> run() {
    auto funcs = module.getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(funcs))
      return module.emitError("a plan must have exactly one function"), failure();
    func::FuncOp func = *funcs.begin();
    spmd::Plan &plan = artifact.plan;
    plan.name = func.getName().str();
    plan.mesh = getMesh(module).toValue();
    for (auto kernel : module.getOps<plan::KernelOp>()) {
      kernels[kernel.getSymName()] = {static_cast<int32_t>(plan.kernels.size()), kernel};
      spmd::KernelInfo info;
      info.symbol = kernel.getSymName().str();
      if (auto threads = kernel->getAttrOfType<IntegerAttr>(kBlockThreadsAttrName)) {
        info.blockThreads = static_cast<int32_t>(threads.getInt());
        info.gridBlocks = static_cast<int64_t>(kernel.getExtent().value_or(0));
        if (auto bytes = kernel->getAttrOfType<IntegerAttr>(kSharedBytesAttrName))
          info.sharedBytes = static_cast<int32_t>(bytes.getInt());
        if (auto bytes = kernel->getAttrOfType<IntegerAttr>(kStateBytesAttrName))
          info.stateBytes = bytes.getInt();
      }
      plan.kernels.push_back(std::move(info));
    }
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      plan.params.push_back(toValueInfo(func.getArgAttrDict(i), i, func.getArgument(i).getType()));
      auto type = cast<ArrayType>(func.getArgument(i).getType());
      buffers[func.getArgument(i)] = addBuffer(Space::Argument, static_cast<int32_t>(i), 0, type);
    }
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      plan.results.push_back(toValueInfo(func.getResultAttrDict(i), i, func.getResultTypes()[i]));
    steps = &plan.steps;
    if (failed(exportBlock(func.getBody().front())))
      return failure();
    findAliases(func);
    for (int32_t number : compiledLoops) {
      spmd::KernelInfo info;
      info.symbol = spmd::getLoopFunctionName(number);
      plan.kernels.push_back(std::move(info));
    }
    return std::move(artifact);
  }

private:
  spmd::ValueInfo toValueInfo(DictionaryAttr attrs, unsigned index, Type local) {
    spmd::ValueInfo info;
    info.name = getName(attrs, index);
    auto globalAttr = attrs ? attrs.getAs<TypeAttr>(kGlobalTypeAttrName) : TypeAttr();
    auto localType = cast<ArrayType>(local);
    auto global = globalAttr ? cast<ArrayType>(globalAttr.getValue()) : localType;
    info.dtype = global.getDType();
    info.shape = toVector(global.getShape());
    info.sharding = global.getShardingOrOpen().toValue();
    info.localShape = toVector(localType.getShape());
    info.format = formatOf(attrs ? attrs.get(kFormatAttrName) : Attribute());
    return info;
  }

  spmd::BufferId addBuffer(Space space, int32_t index, int64_t offset, ArrayType type) {
    artifact.plan.buffers.push_back({space, index, offset, type.getDType(), toVector(type.getShape())});
    return static_cast<spmd::BufferId>(artifact.plan.buffers.size()) - 1;
  }

  /// Adds the buffer that a step's `buffers` attribute names.
  spmd::BufferId addBuffer(Attribute attr, ArrayType type) {
    auto buffer = cast<plan::BufferAttr>(attr);
    int64_t position = buffer.getPosition();
    if (buffer.getSpace() == "result")
      return addBuffer(Space::Result, static_cast<int32_t>(position), 0, type);
    if (buffer.getSpace() == "constant")
      return addBuffer(Space::Constant, 0, position, type);
    artifact.plan.arenaBytes = std::max(artifact.plan.arenaBytes, position + type.getBytes());
    return addBuffer(Space::Arena, 0, position, type);
  }

  spmd::BufferId bufferOf(Value value) {
    auto known = buffers.find(value);
    if (known != buffers.end())
      return known->second;
    // A reshape is the same memory with another shape.
    BufferInfo info = artifact.plan.buffers[static_cast<size_t>(bufferOf(Liveness::getRoot(value)))];
    info.shape = toVector(cast<ArrayType>(value.getType()).getShape());
    artifact.plan.buffers.push_back(info);
    return buffers[value] = static_cast<spmd::BufferId>(artifact.plan.buffers.size()) - 1;
  }

  void define(Value value, Attribute buffer) { buffers[value] = addBuffer(buffer, cast<ArrayType>(value.getType())); }

  template <typename StepT> void addStep(Operation *op, StepT step) {
    steps->push_back({std::move(step), toLocation(op->getLoc())});
  }

  LogicalResult exportBlock(Block &block) {
    for (Operation &op : block)
      if (failed(exportStep(&op)))
        return failure();
    return success();
  }

  /// The steps of a loop's or branch's block.
  LogicalResult exportBlock(Region &region, std::vector<spmd::Step> &into) {
    std::vector<spmd::Step> *outer = std::exchange(steps, &into);
    LogicalResult result = exportBlock(region.front());
    steps = outer;
    return result;
  }

  LogicalResult exportStep(Operation *op) {
    if (op->hasAttr(kCompiledAttrName))
      compiledLoops.push_back(nextNumber);
    nextNumber += isa<plan::LaunchOp, plan::MatmulOp, plan::StartOp, plan::DoneOp, plan::CopyOp, plan::LibraryOp,
                      plan::PrintOp, plan::IfOp, plan::ForOp, plan::WhileOp>(op);
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<plan::LaunchOp, plan::MatmulOp, plan::StartOp, plan::DoneOp, plan::CopyOp, plan::LibraryOp,
              plan::ConstantOp, plan::PrintOp, plan::IfOp, plan::ForOp, plan::WhileOp>(
            [&](auto step) { return exportOp(step); })
        .Case<ReshapeOp, func::ReturnOp, plan::YieldOp>([](auto) { return success(); })
        .Default([](Operation *other) { return other->emitOpError("is not a step of a plan"); });
  }

  LogicalResult exportOp(plan::LaunchOp op) {
    auto [index, kernel] = kernels.at(op.getKernel());
    spmd::LaunchStep step;
    step.kernel = index;
    step.extent = static_cast<int64_t>(kernel.getExtent().value_or(1));
    step.grain = static_cast<int64_t>(kernel.getGrain().value_or(1));
    step.outputs = static_cast<int32_t>(op.getOutputs().size());
    for (Value input : op.getInputs())
      step.operands.push_back(bufferOf(input));
    for (auto [output, buffer] : llvm::zip(op.getOutputs(), op.getBuffersAttr())) {
      define(output, buffer);
      step.operands.push_back(bufferOf(output));
    }
    addStep(op, std::move(step));
    return success();
  }

  static spmd::LibraryEpilogue toEpilogue(plan::LibraryEpilogueAttr given) {
    spmd::LibraryEpilogue epilogue;
    auto name = llvm::find(spmd::plan_fields::epilogueNames, std::string_view(given.getFunction()));
    epilogue.function = static_cast<spmd::LibraryEpilogue::Function>(name - spmd::plan_fields::epilogueNames.begin());
    epilogue.factor = given.getFactor().getValueAsDouble();
    epilogue.arrayFactor = given.getArrayFactor().getValueAsDouble();
    // The plan's first operand is the product.
    epilogue.array = given.getArray() < 0 ? -1 : given.getArray() + 1;
    epilogue.bias = given.getBias() < 0 ? -1 : given.getBias() + 1;
    return epilogue;
  }

  LogicalResult exportOp(plan::MatmulOp op) {
    spmd::MatmulStep step;
    step.lhs = bufferOf(op.getLhs());
    step.rhs = bufferOf(op.getRhs());
    define(op.getResult(), op.getBuffersAttr()[0]);
    step.result = bufferOf(op.getResult());
    step.batch = static_cast<int64_t>(op.getBatch());
    step.m = static_cast<int64_t>(op.getM());
    step.n = static_cast<int64_t>(op.getN());
    step.k = static_cast<int64_t>(op.getK());
    step.transposeLhs = op.getTransposeLhs();
    step.transposeRhs = op.getTransposeRhs();
    step.allowTf32 = allowsTf32(module, op);
    if (auto view = op.getLhsViewAttr())
      step.lhsView = view.toView();
    if (auto view = op.getRhsViewAttr())
      step.rhsView = view.toView();
    if (op.getEpilogue()) {
      auto [index, kernel] = kernels.at(*op.getEpilogue());
      auto productType = cast<ArrayType>(kernel.getBlock().getArgument(0).getType());
      Attribute place = op.getBuffersAttr()[op.getBuffersAttr().size() - 1];
      spmd::BufferId product = addBuffer(place, productType), result = step.result;
      step.result = product;
      step.epilogueKernel = index;
      step.epilogueOperands.push_back(product);
      for (Value extra : op.getExtras())
        step.epilogueOperands.push_back(bufferOf(extra));
      step.epilogueOperands.push_back(result);
      if (auto epilogue = op.getLibraryEpilogueAttr())
        step.libraryEpilogue = toEpilogue(epilogue);
    }
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::StartOp op) {
    spmd::CollectiveStartStep step;
    step.id = static_cast<int32_t>(op.getId());
    auto collective = cast<CollectiveOpInterface>(&op.getBody().front().front());
    FailureOr<spmd::CollectiveDesc> desc = describeCollective(collective);
    if (failed(desc))
      return failure();
    step.desc = std::move(*desc);
    step.operand = bufferOf(op.getOperand());
    if (step.desc.kind == spmd::CollectiveKind::CollectiveBroadcast)
      step.root = bufferOf(collective->getOperand(1));
    auto done = cast<plan::DoneOp>(*op.getToken().user_begin());
    define(done.getResult(), op.getBuffersAttr()[0]);
    step.result = bufferOf(done.getResult());
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::DoneOp op) {
    auto start = op.getToken().getDefiningOp<plan::StartOp>();
    addStep(op, spmd::CollectiveDoneStep{static_cast<int32_t>(start.getId())});
    return success();
  }

  LogicalResult exportOp(plan::CopyOp op) {
    spmd::BufferId source = bufferOf(op.getOperand());
    define(op.getResult(), op.getBuffersAttr()[0]);
    addStep(op, spmd::CopyStep{source, bufferOf(op.getResult())});
    return success();
  }

  LogicalResult exportOp(plan::LibraryOp op) {
    spmd::LibraryStep step;
    const auto *name = llvm::find(spmd::plan_fields::libraryNames, std::string_view(op.getFunction()));
    if (name == spmd::plan_fields::libraryNames.end())
      return op.emitOpError() << "names the function '" << op.getFunction() << "', which the library does not have";
    step.function = static_cast<spmd::LibraryFunction>(name - spmd::plan_fields::libraryNames.begin());
    for (Value input : op.getInputs())
      step.inputs.push_back(bufferOf(input));
    define(op.getResult(), op.getBuffersAttr()[0]);
    step.result = bufferOf(op.getResult());
    step.sizes.assign(op.getSizes().begin(), op.getSizes().end());
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::ConstantOp op) {
    define(op.getResult(), op.getBuffersAttr()[0]);
    auto offset = static_cast<size_t>(artifact.plan.buffers[static_cast<size_t>(bufferOf(op.getResult()))].offset);
    std::string bytes = toBytes(cast<DenseElementsAttr>(op.getValue()), op.getResult().getType());
    if (artifact.constants.size() < offset + bytes.size())
      artifact.constants.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), artifact.constants.begin() + static_cast<std::ptrdiff_t>(offset));
    return success();
  }

  LogicalResult exportOp(plan::PrintOp op) {
    spmd::PrintStep step;
    for (auto text : op.getTexts().getAsRange<StringAttr>())
      step.texts.push_back(text.str());
    for (auto [value, global] : llvm::zip(op.getValues(), op.getGlobals().getAsRange<TypeAttr>())) {
      step.values.push_back(bufferOf(value));
      auto type = cast<ArrayType>(global.getValue());
      step.infos.push_back({"", type.getDType(), toVector(type.getShape()), type.getShardingOrOpen().toValue(),
                            toVector(cast<ArrayType>(value.getType()).getShape())});
    }
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::IfOp op) {
    spmd::IfStep step;
    step.predicate = bufferOf(op.getPredicate());
    if (failed(exportBlock(op.getThenRegion(), step.thenSteps)) ||
        failed(exportBlock(op.getElseRegion(), step.elseSteps)))
      return failure();
    for (auto [result, buffer] : llvm::zip(op.getOutputs(), op.getBuffersAttr()))
      define(result, buffer);
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::ForOp op) {
    spmd::ForStep step;
    step.lower = static_cast<int64_t>(op.getLower());
    step.upper = static_cast<int64_t>(op.getUpper());
    for (auto [argument, buffer] : llvm::zip(op.getBody().getArguments(), op.getBuffersAttr()))
      define(argument, buffer);
    if (!op.getBody().getArgument(0).use_empty())
      step.counter = bufferOf(op.getBody().getArgument(0));
    if (failed(exportBlock(op.getBody(), step.body)))
      return failure();
    for (auto [result, buffer] : llvm::zip(op.getOutputs(), op.getBuffersAttr().getValue().drop_front()))
      define(result, buffer);
    addStep(op, std::move(step));
    return success();
  }

  LogicalResult exportOp(plan::WhileOp op) {
    spmd::WhileStep step;
    for (Region *region : {&op.getCondition(), &op.getBody()})
      for (auto [argument, buffer] : llvm::zip(region->getArguments(), op.getBuffersAttr()))
        define(argument, buffer);
    if (failed(exportBlock(op.getCondition(), step.condition)) || failed(exportBlock(op.getBody(), step.body)))
      return failure();
    step.predicate = bufferOf(op.getCondition().front().getTerminator()->getOperand(0));
    for (auto [result, buffer] : llvm::zip(op.getOutputs(), op.getBuffersAttr()))
      define(result, buffer);
    addStep(op, std::move(step));
    return success();
  }

  /// True if the step is a launch that may write the plan's result into the memory of the argument.
  static bool isWrittenInPlace(Operation *step, BlockArgument argument, size_t result) {
    auto launch = dyn_cast<plan::LaunchOp>(step);
    if (!launch)
      return false;
    auto places = step->getAttrOfType<ArrayAttr>("buffers").getAsRange<plan::BufferAttr>();
    for (auto [output, place] : llvm::enumerate(places))
      if (place.getSpace() == "result" && static_cast<size_t>(place.getPosition()) == result &&
          !mayOverwrite(launch, argument, static_cast<unsigned>(output)))
        return false;
    return true;
  }

  /// A result may overwrite the parameter of the same name and type if no step reads the parameter once a step has
  /// written to the result. A launch may do both if it writes each element after it has read that element. A copy of
  /// the parameter to the result is then a no-op.
  void findAliases(func::FuncOp func) {
    spmd::Plan &plan = artifact.plan;
    plan.aliases.assign(plan.params.size(), -1);
    Liveness liveness(func);
    std::vector<Operation *> firstWrite(plan.results.size());
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto places = op->getAttrOfType<ArrayAttr>("buffers");
      if (!places)
        return;
      for (auto place : places.getAsRange<plan::BufferAttr>())
        if (place.getSpace() == "result" && !firstWrite[static_cast<size_t>(place.getPosition())])
          firstWrite[static_cast<size_t>(place.getPosition())] = op;
    });
    for (size_t p = 0; p < plan.params.size(); ++p) {
      BlockArgument argument = func.getArgument(static_cast<unsigned>(p));
      std::optional<LiveRanges> reads = liveness.getArgumentRanges(argument);
      for (size_t r = 0; r < plan.results.size(); ++r) {
        if (!firstWrite[r] || !isDonatedTo(func, static_cast<unsigned>(p), static_cast<unsigned>(r)))
          continue;
        int64_t lastRead = reads ? reads->getEnd() : -1, written = liveness.getStep(firstWrite[r]);
        auto copy = dyn_cast<plan::CopyOp>(firstWrite[r]);
        bool isCopied = copy && Liveness::getRoot(copy.getOperand()) == argument;
        bool isInPlace = lastRead == written && isWrittenInPlace(firstWrite[r], argument, r);
        if (lastRead < written || (isCopied && lastRead == written) || isInPlace)
          plan.aliases[p] = static_cast<int32_t>(r);
      }
    }
  }

  ModuleOp module;
  spmd::Artifact artifact;
  std::vector<spmd::Step> *steps = nullptr; ///< Steps of the block that is being exported.
  int32_t nextNumber = 0;                   ///< Of the next step (runtime/artifact/CompiledLoops.h).
  std::vector<int32_t> compiledLoops;
  llvm::DenseMap<Value, spmd::BufferId> buffers;
  std::map<StringRef, std::pair<int32_t, plan::KernelOp>> kernels;
};

} // namespace

FailureOr<spmd::Artifact> exportPlan(ModuleOp module) { return Exporter(module).run(); }

} // namespace spmdc
