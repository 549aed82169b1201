//===- ProgramReport.cpp - the report of a partitioned program ------------===//

#include "passes/report/ProgramReport.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/ElementFormats.h"
#include "ir/spmd/ValueNames.h"
#include "passes/collectives/CollectiveMatmulMatch.h"
#include "passes/cost/CountedBranches.h"
#include "runtime/support/ArraySize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {
namespace {

std::vector<int64_t> toVector(ArrayRef<int64_t> shape) { return {shape.begin(), shape.end()}; }

std::string locationText(Location loc) {
  std::optional<SourcePosition> position = getSourcePosition(loc);
  return position ? position->str() : "";
}

/// `place`: the place of the value's name, or of the value if it has no name.
ValueReport reportValue(std::string name, Location place, ArrayType type, MeshAttr mesh) {
  ValueReport report;
  report.name = std::move(name);
  report.location = locationText(place);
  report.dtype = type.getDType();
  report.shape = toVector(type.getShape());
  report.localShape = toVector(type.getLocal(mesh).getShape());
  report.sharding = type.getShardingOrOpen().toValue();
  return report;
}

/// An array with this attribute of its format as the array of the numbers that it holds, which the user has written.
ValueReport withFormat(ValueReport report, Attribute attribute) {
  spmd::ElementFormat format = formatOf(attribute);
  if (format == spmd::ElementFormat::Complex && report.shape.empty()) // Of IR that a user wrote.
    return report;
  report.format = format;
  if (format != spmd::ElementFormat::Complex)
    return report;
  report.shape.pop_back();
  report.localShape.pop_back();
  report.sharding.dims.resize(std::min(report.sharding.dims.size(), report.shape.size()));
  return report;
}

/// The report spells axes as dumps and messages do: a full axis is its name.
CollectiveReport reportCollective(CollectiveOpInterface op, MeshAttr mesh, const CostModel &model) {
  CollectiveReport report;
  report.op = op->getName().stripDialect().str();
  spmd::MeshShape shape = mesh.toValue();
  for (const spmd::AxisRef &axis : op.getGroupAxes().toValues()) {
    report.axes.push_back(axis.str());
    report.groupSize *= axis.sizeIn(shape);
  }
  report.groups = shape.deviceCount() / report.groupSize;
  if (auto kind = op->getAttrOfType<ReductionKindAttr>("kind"))
    report.reduction = stringifyReductionKind(kind.getValue()).str();
  auto operand = cast<ArrayType>(op->getOperand(0).getType()), result = cast<ArrayType>(op->getResult(0).getType());
  report.dtype = operand.getDType();
  report.operandShape = toVector(operand.getShape());
  report.resultShape = toVector(result.getShape());
  report.wireBytesPerDevice = op.getWireBytes(mesh);
  report.steps = CostModel::stepsOf(report.op);
  report.predictedSeconds = model.collectiveSeconds(report.op, report.axes, report.wireBytesPerDevice);
  report.location = locationText(op->getLoc());
  report.isBackward = isBackward(op->getLoc());
  for (const auto &positions : getSourceCallStacks(op->getLoc())) {
    std::vector<std::string> &way = report.callPaths.emplace_back();
    for (const SourcePosition &position : positions)
      way.push_back(position.str());
    report.places.push_back(way.front());
  }
  if (auto why = op->getAttrOfType<StringAttr>("why"))
    report.why = why.str();
  return report;
}

void reportGlobalView(func::FuncOp func, MeshAttr mesh, FunctionReport &report) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
    BlockArgument argument = func.getArgument(i);
    report.params.push_back(reportValue(name ? name.str() : std::to_string(i), argument.getLoc(),
                                        cast<ArrayType>(argument.getType()), mesh));
    report.params.back() = withFormat(std::move(report.params.back()), func.getArgAttr(i, kFormatAttrName));
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttrName);
    report.results.push_back(reportValue(name ? name.str() : std::to_string(i), func.getLoc(),
                                         cast<ArrayType>(func.getResultTypes()[i]), mesh));
    report.results.back() = withFormat(std::move(report.results.back()), func.getResultAttr(i, kFormatAttrName));
  }
  auto reportNames = [&](Value value) {
    if (auto type = dyn_cast<ArrayType>(value.getType()))
      for (const ValueName &name : getValueNames(value))
        report.values.push_back(reportValue(name.name.str(), name.place.value_or(value.getLoc()), type, mesh));
  };
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), reportNames);
    // Values inside a fully manual region are local and have no sharding.
    if (isa<ManualOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), reportNames);
    return WalkResult::advance();
  });
}

SmallVector<WhileOp> listWhileLoops(Operation *op) {
  SmallVector<WhileOp> loops;
  for (Operation *around = op->getParentOp(); around; around = around->getParentOp())
    if (auto loop = dyn_cast<WhileOp>(around))
      loops.push_back(loop);
  return loops;
}

/// Adds up the amounts of one iteration of each `while`.
class WhileLoops {
public:
  WhileLoops(CountedBranches &branches, std::vector<WhileReport> &reports) : branches(branches), reports(reports) {}

  void addLoop(WhileOp loop) {
    std::string location = locationText(loop.getLoc());
    auto known = llvm::find_if(reports, [&](const WhileReport &report) { return report.location == location; });
    if (known != reports.end())
      ++known->copies;
    else
      reports.push_back({location, 1, 0, 0, 0});
  }

  /// Adds the amounts of all executions of a counted operation to the loops around it, which `addLoop` knows.
  void add(Operation *op, double flops, double wireBytes, double seconds) {
    for (WhileOp loop : listWhileLoops(op)) {
      auto runs = static_cast<double>(std::max<int64_t>(1, branches.countRuns(loop)));
      std::string location = locationText(loop.getLoc());
      auto report = llvm::find_if(reports, [&](const WhileReport &one) { return one.location == location; });
      report->flopsPerDevice += flops / runs;
      report->wireBytesPerDevice += wireBytes / runs;
      report->communicationSeconds += seconds / runs;
    }
  }

private:
  CountedBranches &branches;
  std::vector<WhileReport> &reports;
};

double communicationSeconds(func::FuncOp func, MeshAttr mesh, const CostModel &model) {
  double seconds = 0;
  CountedBranches branches(func, mesh);
  func.walk([&](CollectiveOpInterface op) {
    if (!isa<AllSliceOp>(op.getOperation()) && branches.counts(op))
      seconds += reportCollective(op, mesh, model).predictedSeconds * static_cast<double>(branches.countRuns(op));
  });
  return seconds;
}

void reportDeviceView(func::FuncOp func, MeshAttr mesh, const CostModel &model, FunctionReport &report) {
  auto bytesOf = [](Type type) { return cast<ArrayType>(type).getBytes(); };
  for (Type type : func.getArgumentTypes())
    report.argumentBytesPerDevice = spmd::addSaturated(report.argumentBytesPerDevice, bytesOf(type));
  for (Type type : func.getResultTypes())
    report.resultBytesPerDevice = spmd::addSaturated(report.resultBytesPerDevice, bytesOf(type));
  llvm::DenseMap<Operation *, ChosenCollectiveMatmul> rings;
  DebugTrace::Pause inReport; // The pass traces the same choices.
  for (const ChosenCollectiveMatmul &chosen : chooseCollectiveMatmuls(func, mesh, model))
    rings.try_emplace(chosen.ring.collective, chosen);
  CountedBranches branches(func, mesh);
  WhileLoops loops(branches, report.whileLoops);
  func.walk<WalkOrder::PreOrder>([&](WhileOp loop) { loops.addLoop(loop); });
  func.walk([&](Operation *op) {
    bool isCounted = branches.counts(op);
    if (double flops = isCounted ? countFlops(op) * static_cast<double>(branches.countRuns(op)) : 0; flops > 0) {
      report.flopsPerDevice += flops;
      loops.add(op, flops, 0, 0);
    }
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective || isa<AllSliceOp>(op))
      return;
    report.collectives.push_back(reportCollective(collective, mesh, model));
    CollectiveReport &last = report.collectives.back();
    last.tripCount = branches.countRuns(op);
    last.isCounted = isCounted;
    for (WhileOp loop : listWhileLoops(op))
      last.whileLoops.push_back(locationText(loop.getLoc()));
    if (auto ring = rings.find(op); ring != rings.end()) {
      last.ring = ring->second.way;
      last.hiddenSeconds = last.predictedSeconds - collectiveMatmulTime(ring->second.ring.work, last.ring).exposed;
      if (isCounted)
        report.ringSaves += last.hiddenSeconds * static_cast<double>(last.tripCount);
    }
    if (!isCounted)
      return;
    report.wireBytesPerDevice += last.totalWireBytes();
    report.communicationSeconds += last.totalSeconds();
    loops.add(op, 0, last.totalWireBytes(), last.totalSeconds());
  });
}

size_t countCollectives(func::FuncOp func) {
  size_t count = 0;
  func.walk([&](CollectiveOpInterface) { ++count; });
  return count;
}

} // namespace

ProgramReport reportProgram(ModuleOp propagated, ModuleOp partitioned, ModuleOp ringed, ModuleOp combined,
                            const CostModel &model) {
  ProgramReport report;
  MeshAttr mesh = getMesh(propagated);
  report.mesh = mesh.toValue();
  for (auto func : propagated.getOps<func::FuncOp>()) {
    FunctionReport &function = report.functions.emplace_back();
    function.name = func.getName().str();
    reportGlobalView(func, mesh, function);
    if (auto local = partitioned.lookupSymbol<func::FuncOp>(func.getName()))
      reportDeviceView(local, mesh, model, function);
    auto before = ringed.lookupSymbol<func::FuncOp>(func.getName());
    auto after = combined.lookupSymbol<func::FuncOp>(func.getName());
    if (before && after) {
      function.combiningSaves = communicationSeconds(before, mesh, model) - communicationSeconds(after, mesh, model);
      function.combinedAway = countCollectives(before) - countCollectives(after);
    }
  }
  return report;
}

} // namespace spmdc
