//===- ExactSolver.cpp - chooses all shardings together -------------------===//

#include "passes/assign/ExactSolver.h"

#include "passes/exchange/ReshapeExchange.h"
#include "passes/reshard/KeyParts.h"
#include "passes/strategy/ComputeTime.h"
#include "passes/strategy/FactorAxesLists.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

/// With more devices, the missing elements are not counted device by device, and exchanges get no price.
constexpr int64_t kManyDevices = 1024;

/// Whether the reshape may be done by an exchange of the ends of runs (Regrouping.h), which no strategy describes.
bool mayRegroup(ReshapeOp op, const ShardingRule &rule, int64_t devices) {
  auto isUneven = [&](const ValueFactors &factors, ArrayType type) {
    return llvm::any_of(llvm::enumerate(factors), [&](auto dim) {
      return dim.value().size() > 1 && type.getDimSize(static_cast<int64_t>(dim.index())) % devices != 0;
    });
  };
  return isUneven(rule.operands[0], op.getOperand().getType()) || isUneven(rule.results[0], op.getType());
}

} // namespace

bool ExactSolver::build() {
  return listShardings() && llvm::all_of(graph.getOps(), [&](Operation *op) { return addOp(op); });
}

void ExactSolver::countHeld(Value value) {
  unsigned variable = *graph.getVariable(value);
  std::vector<double> bytes;
  for (ArrayType type : shardings[variable])
    bytes.push_back(static_cast<double>(type.getLocalBytes(mesh)));
  problem.add({variable}, std::move(bytes), MinSum::Kind::Held);
}

ExactSolver::Outcome ExactSolver::solve(double weight, bool mayHoldMore, double secondsPerHeldByte) const {
  MinSum::Solution solution =
      problem.solve(maxEntries, {.weight = weight, .held = secondsPerHeldByte, .hasOptional = !mayHoldMore});
  Outcome outcome;
  outcome.leastSeconds = solution.bound;
  for (auto [variable, listed] : llvm::enumerate(shardings))
    outcome.shardings[static_cast<unsigned>(variable)] = listed[solution.values[variable]].getShardingOrOpen();
  return outcome;
}

ArrayRef<ArrayType> ExactSolver::share(std::vector<ArrayType> types) {
  std::vector<const void *> key;
  for (ArrayType type : types)
    key.push_back(type.getAsOpaquePointer());
  return lists.try_emplace(std::move(key), std::move(types)).first->second;
}

/// The value's types in its possible shardings, of at most so many bytes on a device: its current type first, so that
/// it wins ties.
ArrayRef<ArrayType> ExactSolver::listTypes(Value value, int64_t maxHeldBytes) {
  ArrayType type = typeOf(value);
  Operation *place = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
  // The axes of the regions around the value, which are manual, cannot shard it.
  auto [entry, isNew] = listsByType.try_emplace({type, place->getParentOfType<ManualOp>()});
  if (!isNew)
    return entry->second;
  ShardingRule rule = ShardingRule::elementwise(type.getShape(), 1);
  std::vector<spmd::Sharding> current = {type.getShardingOrOpen().toValue()};
  std::vector<ArrayType> listed = {type.withSharding(type.getShardingOrOpen().getClosed())};
  for (const FactorAxes &axes : listAllFactorAxes(getAutomaticMesh(place), rule, current, current.front())) {
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, rule, rule.results[0], axes);
    if (!sharding)
      continue;
    ShardingAttr attr = ShardingAttr::fromValue(value.getContext(), *sharding);
    if (!attr.hasSameAxes(type.getShardingOrOpen()) && type.getLocalBytes(mesh, attr) <= maxHeldBytes)
      listed.push_back(type.withSharding(attr));
  }
  return entry->second = share(std::move(listed));
}

/// Lists the shardings of each variable. Those that hold more than allowed get an infinite optional price.
bool ExactSolver::listShardings() {
  const int64_t maxHeldBytes = graph.getLargestShard();
  for (unsigned variable = 0; variable < graph.getVariableCount(); ++variable) {
    ArrayRef<ArrayType> listed = shardings.emplace_back(listTypes(graph.getValue(variable), maxHeldBytes));
    if (listed.size() > kMaxShardings)
      return false;
    std::vector<double> ofHoldingMore = {0}; // The current sharding may always be kept.
    for (ArrayType type : listed.drop_front())
      ofHoldingMore.push_back(
          graph.mayHaveSharding(variable, type.getShardingOrOpen()) ? 0 : std::numeric_limits<double>::infinity());
    problem.addVariable(static_cast<unsigned>(listed.size()));
    problem.add({variable}, std::move(ofHoldingMore), MinSum::Kind::Optional);
  }
  return true;
}

ExactSolver::Candidates ExactSolver::candidatesOf(Value value) {
  std::optional<unsigned> variable = graph.getVariable(value);
  return variable ? Candidates{variable, shardings[*variable]} : Candidates{std::nullopt, share({typeOf(value)})};
}

double ExactSolver::secondsOf(ArrayType from, ArrayType to) {
  auto [entry, isNew] = known.try_emplace({from, to}, 0.0);
  if (isNew)
    entry->second = computeSeconds(from, to);
  return entry->second;
}

/// A lower bound on the seconds of a reshard: the bytes that devices miss, and one latency. Partial sums are reduced
/// and scattered as far as they are needed, and then sent to devices that need more than a shard.
double ExactSolver::computeSeconds(ArrayType from, ArrayType to) const {
  ShardingAttr before = from.getShardingOrOpen(), after = to.getShardingOrOpen();
  if (!isUnreduced(to) && before.hasSameAxes(after))
    return 0;
  const CostModel &model = planner.getModel();
  auto devices = static_cast<double>(mesh.deviceCount());
  double bytes = 0;
  if (isUnreduced(to)) { // Making partial sums of a reduced value sends nothing.
    bytes = planner.getLeastBytes(withoutUnreduced(from), withoutUnreduced(to).withElementType(from.getElementType()));
  } else if (isUnreduced(from)) {
    AxisRefs summed = before.toValue().unreduced, there = summed;
    for (const AxisRefs &dim : before.toValue().dims)
      llvm::append_range(there, dim);
    auto group = static_cast<double>(sizeOf(mesh, summed)), needed = static_cast<double>(from.getLocalBytes(mesh));
    for (const AxisRefs &dim : after.toValue().dims)
      for (const spmd::AxisRef &axis : dim)
        if (!overlap({axis}, there))
          needed /= static_cast<double>(axis.sizeIn(mesh));
    // Partial sums may have a wider type; they are rounded before they are sent elsewhere.
    double narrowed = static_cast<double>(spmd::byteSize(to.getDType())) / spmd::byteSize(from.getDType());
    double rest = std::max(0.0, static_cast<double>(to.getLocalBytes(mesh)) - narrowed * needed / group);
    bytes = devices * ((group - 1) / group * needed + rest);
  } else {
    bytes = planner.getLeastBytes(from, to);
  }
  double latency = model.link.latencyMicroseconds;
  for (const auto &[name, rates] : model.axes)
    latency = std::min(latency, rates.latencyMicroseconds);
  return bytes <= 0 ? 0 : model.seconds({.linkBytes = bytes, .latencySeconds = latency / 1e6}, mesh.deviceCount());
}

/// Adds a function of the variables among the places; a place without a variable has one type.
void ExactSolver::addFunction(ArrayRef<Candidates> places, llvm::function_ref<double(ArrayRef<ArrayType>)> price) {
  SmallVector<unsigned> nodes;
  SmallVector<size_t> at(places.size(), 0);
  SmallVector<ArrayType> types;
  for (const Candidates &place : places) {
    if (place.node)
      nodes.push_back(*place.node);
    types.push_back(place.types.front());
  }
  std::vector<double> values;
  for (bool isMore = true; isMore;) {
    values.push_back(price(types));
    isMore = false;
    for (size_t i = places.size(); i-- > 0 && !isMore;) {
      isMore = ++at[i] < places[i].types.size();
      at[i] = isMore ? at[i] : 0;
      types[i] = places[i].types[at[i]];
    }
  }
  if (llvm::any_of(values, [](double value) { return value != 0; }))
    problem.add(nodes, std::move(values), MinSum::Kind::Weighted);
}

bool ExactSolver::addOp(Operation *op) {
  double runCount = graph.countRuns(op);
  auto addEdge = [&](Value from, const Candidates &to) {
    if (isRematerializable(from)) // It is rematerialized in any sharding.
      return;
    addFunction({candidatesOf(from), to},
                [&](ArrayRef<ArrayType> types) { return runCount * secondsOf(types[0], types[1]); });
  };
  if (graph.getRule(op))
    return addRuled(cast<ShardingRuleOpInterface>(op));
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    addEdge(reshard.getOperand(), candidatesOf(reshard));
  } else if (isa<LoopLikeOpInterface>(op)) {
    for (auto [initial, result] : llvm::zip(op->getOperands(), op->getResults()))
      addEdge(initial, candidatesOf(result));
  } else if (isa<YieldOp>(op)) {
    for (auto [operand, result] : llvm::zip(op->getOperands(), ShardingGraph::getYielded(op)))
      addEdge(operand, candidatesOf(result));
  } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto [operand, type] : llvm::zip(op->getOperands(), ret->getParentOfType<func::FuncOp>().getResultTypes()))
      if (auto wanted = dyn_cast<ArrayType>(type))
        addEdge(operand, {std::nullopt, share({wanted})});
  }
  return true;
}

/// The strategies of an operation, computed once for equal operations.
const ExactSolver::Strategies &ExactSolver::listStrategies(ShardingRuleOpInterface op) {
  auto [entry, isNew] = strategies.try_emplace(graph.getStrategies().getKey(op));
  if (isNew)
    entry->second = listSolverStrategies(planner, op, graph.getStrategies().find(op)->operationRule, kMaxStrategies);
  return entry->second;
}

bool ExactSolver::addRuled(ShardingRuleOpInterface op) {
  auto reshape = dyn_cast<ReshapeOp>(op.getOperation());
  // An exchange that may start from a value in front of the operand gets no price, so that the sum stays a lower bound.
  if (reshape && (mayRegroup(reshape, *graph.getRule(op), mesh.deviceCount()) || getOwnReshard(reshape.getOperand())))
    return true;
  const Strategies &strategies = listStrategies(op);
  if (!strategies || strategies->empty() || known.size() > kMaxReshards)
    return false;
  double runCount = graph.countRuns(op);
  ArrayMoves moves = op.getMoves();
  if (reshape)
    moves.parts.push_back({reshape.getOperand(), {}});
  bool mayMove = !moves.parts.empty();
  size_t count = strategies->size();
  unsigned node = problem.addVariable(static_cast<unsigned>(count + mayMove));
  std::vector<double> own;
  for (const SolverStrategy &strategy : *strategies)
    own.push_back(runCount * strategy.seconds);
  if (mayMove) // A further value stands for exchanges alone: at least as fast as the fastest strategy.
    own.push_back(*llvm::min_element(own));
  problem.add({node}, own);
  // Adds the reshards between the strategies and a value; a row of the table is a sharding of the value. `number` is
  // that of the value around the operation. Many strategies need the same type, which is priced once.
  auto addTable = [&](unsigned number, const Candidates &place,
                      llvm::function_ref<ArrayType(const SolverStrategy &)> getWanted,
                      llvm::function_ref<double(ArrayType, ArrayType)> price) {
    SmallVector<unsigned> nodes = {node};
    if (place.node)
      nodes.insert(nodes.begin(), *place.node);
    // Equal updates may differ in whether their places are known, and so in whether they may be exchanges.
    MinSum::Table &table =
        reshardTables[{{&strategies, asKeyPart(number), place.types.data(), asKeyPart(runCount), asKeyPart(mayMove)}}];
    if (table)
      return problem.addTable(nodes, table, MinSum::Kind::Weighted);
    llvm::SetVector<Type> wanted;
    std::vector<size_t> places;
    for (const SolverStrategy &strategy : *strategies) {
      Type type = getWanted(strategy);
      wanted.insert(type);
      places.push_back(llvm::find(wanted, type) - wanted.begin());
    }
    std::vector<double> values, prices(wanted.size());
    values.reserve(place.types.size() * (count + mayMove));
    for (ArrayType type : place.types) {
      llvm::transform(wanted, prices.begin(),
                      [&](Type other) { return runCount * price(type, cast<ArrayType>(other)); });
      for (size_t index : places)
        values.push_back(prices[index]);
      if (mayMove)
        values.push_back(0);
    }
    table = problem.share(std::move(values));
    problem.addTable(nodes, table, MinSum::Kind::Weighted);
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (isRematerializable(operand)) // It is rematerialized in any sharding.
      continue;
    auto number = static_cast<unsigned>(index);
    addTable(
        number, candidatesOf(operand), [number](const SolverStrategy &strategy) { return strategy.operands[number]; },
        [&, number](ArrayType type, ArrayType wanted) {
          return secondsOf(type, wanted) / getRunsPerReshard(op, number, type, wanted, mesh);
        });
  }
  Candidates result = candidatesOf(op->getResult(0));
  llvm::DenseMap<Type, double> shares;
  for (const SolverStrategy &strategy : *strategies)
    shares.try_emplace(strategy.result, isUnreduced(strategy.result) ? strategy.resultFraction : 1);
  addTable(
      op->getNumOperands(), result, [](const SolverStrategy &strategy) { return strategy.result; },
      [&](ArrayType type, ArrayType made) { return secondsOf(made, type) * shares.lookup(made); });
  if (mayMove && mesh.deviceCount() <= kManyDevices)
    addExchanges(moves, result, node, static_cast<unsigned>(count),
                 runCount / static_cast<double>(graph.countWindowUsers(op)));
  return true;
}

/// The seconds of one part's exchange, as a table of the source's type, the result's type and the strategy: all but the
/// last strategy, which stands for exchanges, send nothing here. A part without moves is a reshape.
std::vector<double> ExactSolver::listExchangeSeconds(ArrayRef<ArrayType> sources, ArrayRef<ArrayType> results,
                                                     const std::vector<spmd::DimMove> &moves, unsigned strategy,
                                                     double runCount) {
  const CostModel &model = planner.getModel();
  const auto elementBytes = static_cast<double>(spmd::byteSize(results.front().getDType()));
  auto shapes = llvm::map_to_vector(results, [](ArrayType type) { return type.toShardedShape(); });
  std::vector<double> values;
  for (ArrayType source : sources) {
    const spmd::ShardedShape from = source.toShardedShape();
    for (auto [result, to] : llvm::zip_equal(results, shapes)) {
      values.resize(values.size() + strategy, 0);
      bool isSum = !from.sharding.unreduced.empty() || !to.sharding.unreduced.empty();
      bool isCounted = !isSum && (!moves.empty() || canExchangeReshape(mesh, source, result));
      double bytes = isCounted ? missing.of(from, to, moves) * elementBytes : 0;
      values.push_back(runCount * model.seconds({.linkBytes = bytes}, mesh.deviceCount()));
    }
  }
  return values;
}

/// Adds the bytes of each part's exchange, if the operation is run by exchanges. Operations that share a window send at
/// least as much together as the largest of them, so at least their mean each.
void ExactSolver::addExchanges(const ArrayMoves &moves, const Candidates &result, unsigned node, unsigned strategy,
                               double runCount) {
  for (const ArrayMove &part : moves.parts) {
    if (isRematerializable(part.source))
      continue;
    const Candidates source = candidatesOf(part.source);
    OperationKey key{{source.types.data(), result.types.data(), asKeyPart(strategy), asKeyPart(runCount)}};
    for (int64_t number : listMoveNumbers(part.dims))
      key.parts.push_back(asKeyPart(number));
    MinSum::Table &table = exchangeTables[std::move(key)];
    if (!table)
      table = problem.share(listExchangeSeconds(source.types, result.types, part.dims, strategy, runCount));
    SmallVector<unsigned> nodes;
    for (const Candidates *place : {&source, &result})
      if (place->node && !llvm::is_contained(nodes, *place->node))
        nodes.push_back(*place->node);
    nodes.push_back(node);
    problem.addTable(nodes, table, MinSum::Kind::Weighted);
  }
}

} // namespace spmdc
