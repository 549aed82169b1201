//===- ShardingProposals.cpp - proposes shardings of parameters -----------===//

#include "passes/assign/ShardingProposals.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/Location.h"
#include "passes/assign/ExactSolver.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The factors by which the prices of reshards are multiplied.
constexpr double kWeights[] = {1, 4};
/// The price of holding all parameters in full size, as a fraction of the program's time. `kLittle` only breaks ties in
/// favour of less memory, so that parameters are sharded where that costs nothing; `kHeldShares` are for short memory.
constexpr double kLittle = 1.0 / 1024, kHeldShares[] = {1.0 / 16, 1.0 / 4, 1, 4, 16, 64};
/// The most entries of one table: more than for a normal compile, because the user asks for the proposals explicitly.
constexpr size_t kMaxEntries = 1 << 20;

class Proposer {
public:
  Proposer(func::FuncOp func, llvm::function_ref<bool(StringRef)> isFree) : func(func) {
    for (BlockArgument argument : func.getArguments()) {
      std::optional<Location> annotation = getAnnotationRange(argument.getLoc());
      std::optional<SourcePosition> place = annotation ? getSourcePosition(*annotation) : std::nullopt;
      if (place && isa<ArrayType>(argument.getType()) && isFree(place->str()))
        groups[{StringAttr::get(func.getContext(), place->str()), argument.getType()}].push_back(argument);
    }
    freeResults();
  }

  std::vector<ShardingProposal> run(bool limitsMemory) {
    auto attr = func->getParentOfType<ModuleOp>()->getAttrOfType<MeshAttr>(kMeshAttrName);
    if (groups.empty() || !attr)
      return {};
    const spmd::MeshShape fullMesh = attr.toValue();
    if (std::optional<Proposals> all = solve(fullMesh, limitsMemory))
      return withoutDoubles(*all);
    // The arguments of a shard_map have the local shapes of this mesh, so it cannot be solved on a part of the mesh.
    if (func.walk([](ManualOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return {};
    Proposals found;
    std::vector<size_t> axes;
    for (auto [axis, shape] : llvm::enumerate(fullMesh.axes))
      if (shape.size > 1)
        axes.push_back(axis);
    for (size_t first : axes)
      for (size_t second : axes) {
        if (first >= second)
          continue;
        auto isOfTwo = [&](size_t axis) { return axis == first || axis == second; };
        Proposals ofTwo = solveAlong(fullMesh, isOfTwo, limitsMemory), ofOthers;
        if (axes.size() <= 4)
          ofOthers = solveAlong(fullMesh, [&](size_t axis) { return !isOfTwo(axis); }, limitsMemory);
        for (auto [proposal, other] : llvm::zip(ofTwo, ofOthers))
          shardFurther(proposal, other);
        llvm::append_range(found, ofTwo);
      }
    return withoutDoubles(found);
  }

private:
  /// A result with a parameter's name and type becomes that parameter in the next step, so it gets the parameter's
  /// sharding. Other results that are replicated now may have any sharding, because theirs follows from annotations.
  void freeResults() {
    llvm::StringMap<SmallVector<Value> *> byName;
    for (auto &[key, values] : groups)
      for (Value value : values)
        if (auto name = func.getArgAttrOfType<StringAttr>(cast<BlockArgument>(value).getArgNumber(), kNameAttrName))
          byName[name.getValue()] = &values;
    func.walk([&](func::ReturnOp op) {
      OpBuilder builder(op);
      SmallVector<Value> kept;
      SmallVector<Type> keptTypes;
      for (auto [index, value] : llvm::enumerate(op.getOperands())) {
        auto name = func.getResultAttrOfType<StringAttr>(static_cast<unsigned>(index), kNameAttrName);
        auto values = name ? byName.find(name.getValue()) : byName.end();
        Type type = func.getResultTypes()[index];
        if (values != byName.end() && values->second->front().getType() == type)
          values->second->push_back(builder.create<ReshardOp>(value.getLoc(), type, value, StringAttr()));
        else if (auto array = dyn_cast<ArrayType>(type); array && !array.getShardingOrOpen().isReplicated()) {
          kept.push_back(value);
          keptTypes.push_back(type);
        }
      }
      op->setOperands(kept);
      func.setType(FunctionType::get(func.getContext(), func.getArgumentTypes(), keptTypes));
    });
  }

  using Proposals = std::vector<ShardingProposal>;

  /// Solves on a mesh whose other axes have one device, so that dimensions sharded over them have full size.
  Proposals solveAlong(spmd::MeshShape mesh, llvm::function_ref<bool(size_t)> isAlong, bool limitsMemory) {
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (!isAlong(axis))
        mesh.axes[axis].size = 1;
    return solve(mesh, limitsMemory).value_or(Proposals());
  }

  /// The proposals on this mesh, equally many for each mesh; none if the solver has too many choices.
  std::optional<Proposals> solve(const spmd::MeshShape &mesh, bool limitsMemory) {
    auto module = func->getParentOfType<ModuleOp>();
    auto fullMesh = module->getAttrOfType<MeshAttr>(kMeshAttrName);
    auto restore = llvm::make_scope_exit([&] { module->setAttr(kMeshAttrName, fullMesh); });
    module->setAttr(kMeshAttrName, MeshAttr::fromValue(func.getContext(), fullMesh.getName(), mesh));
    ReshardPlanner planner(module);
    ShardingGraph::Freed freed;
    for (auto &[key, values] : groups)
      freed.push_back(values);
    ShardingGraph graph(func, planner, freed);
    ExactSolver elimination(graph, planner, kMaxEntries);
    if (!elimination.build())
      return std::nullopt;
    double held = 0;
    for (auto &[key, values] : groups)
      for (Value value : values)
        if (isa<BlockArgument>(value) && graph.getVariable(value)) {
          elimination.countHeld(value);
          held += static_cast<double>(cast<ArrayType>(value.getType()).getLocalBytes(mesh));
        }
    Proposals proposals;
    if (held == 0)
      return proposals;
    const double seconds = elimination.solve(/*weight=*/1, /*mayHoldMore=*/true).leastSeconds;
    SmallVector<double> shares = {kLittle};
    if (limitsMemory)
      llvm::append_range(shares, kHeldShares);
    for (double share : shares)
      for (double weight : kWeights)
        proposals.push_back(
            describe(graph, elimination.solve(weight, /*mayHoldMore=*/true, share * seconds / held).shardings));
    return proposals;
  }

  ShardingProposal describe(const ShardingGraph &graph, const ShardingChange &shardings) const {
    ShardingProposal proposal;
    for (auto &[key, values] : groups) {
      std::optional<unsigned> variable = graph.getVariable(values.front());
      if (!variable)
        continue;
      ShardingProposal::Entry entry{key.first.str(), shardings.lookup(*variable).toValue()};
      for (Value value : values)
        entry.bytes += isa<BlockArgument>(value) ? cast<ArrayType>(value.getType()).getBytes() : 0;
      proposal.entries.push_back(std::move(entry));
    }
    return proposal;
  }

  /// Shards each shard of the proposal further, like the full array in the other proposal.
  static void shardFurther(ShardingProposal &proposal, const ShardingProposal &other) {
    for (auto [entry, further] : llvm::zip_equal(proposal.entries, other.entries))
      for (auto [dim, axes] : llvm::zip_equal(entry.sharding.dims, further.sharding.dims))
        llvm::append_range(dim, axes);
  }

  static Proposals withoutDoubles(const Proposals &proposals) {
    Proposals result;
    for (const ShardingProposal &proposal : proposals)
      if (!llvm::is_contained(result, proposal))
        result.push_back(proposal);
    return result;
  }

  func::FuncOp func;
  /// Keyed by the place of the type and by the type, because a struct may have several types for different sizes.
  /// Arguments come first.
  llvm::MapVector<std::pair<StringAttr, Type>, SmallVector<Value>> groups;
};

} // namespace

std::vector<ShardingProposal> proposeShardings(func::FuncOp func, llvm::function_ref<bool(StringRef)> isFree,
                                               bool limitsMemory) {
  return Proposer(func, isFree).run(limitsMemory);
}

} // namespace spmdc
