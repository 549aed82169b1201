//===- ExchangePrices.cpp - cost of moving elements directly --------------===//

#include "passes/strategy/ExchangePrices.h"

#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/Regrouping.h"
#include "passes/exchange/ReshapeExchange.h"

using namespace mlir;

namespace spmdc {

std::optional<Price> ExchangePrices::ofMoves(const Price &best) {
  SmallVector<Operation *> skipped;
  ArrayMoves moves = getNearestMoves(op, &skipped);
  if (moves.parts.empty() || !result.getShardingOrOpen().getUnreduced().empty())
    return std::nullopt;
  auto local = static_cast<double>(result.getLocalBytes(mesh));
  CollectiveCost cost;
  for (const ArrayMove &part : moves.parts) {
    auto from = cast<ArrayType>(part.source.getType());
    if (!from.getShardingOrOpen().getUnreduced().empty())
      return std::nullopt;
    cost = cost + planner.getExchangeCost(from, result, part.dims) + available.getUnpaidCost(part.source, op);
  }
  // Each part is written; with several parts the result is also selected from them.
  bool isChosen = moves.parts.size() > 1 || moves.outside;
  double touched = local * static_cast<double>(moves.parts.size() + isChosen);
  CollectiveCost saved = getMoveCosts(skipped);
  // A local move is fused into kernels; an exchange is not.
  if (best.linkBytes == 0 && cost.linkBytes == saved.linkBytes)
    return std::nullopt;
  return priceOf(cost, touched, saved);
}

std::optional<Price> ExchangePrices::ofWindow() {
  std::optional<CollectiveCost> share = getShare(op);
  if (!share)
    return std::nullopt;
  bool isBuilt = !windowsOf(op)->isSkipped(op);
  auto touched = isBuilt ? static_cast<double>(result.getLocalBytes(mesh)) : 0;
  return priceOf(*share + available.getUnpaidCost(op->getOperand(0), op), touched, CollectiveCost());
}

/// The share of `payer`, this or another operation, in the cost of a window.
std::optional<CollectiveCost> ExchangePrices::getShare(Operation *payer) const {
  const Windows *windows = windowsOf(payer);
  return windows ? windows->getShare(payer, model) : std::nullopt;
}

/// The price of exchanges of this cost that also touch `touched` bytes of memory; `saved` is the cost of operations
/// that are skipped.
Price ExchangePrices::priceOf(const CollectiveCost &cost, double touched, const CollectiveCost &saved) const {
  int64_t devices = mesh.deviceCount();
  Price price = model.price(cost, devices, touched / model.memoryPerSecond);
  price -= model.price(saved, devices);
  return price;
}

std::optional<Price> ExchangePrices::ofReshape(const Price &best, Value &from) {
  auto reshape = dyn_cast<ReshapeOp>(op.getOperation());
  if (!reshape || best.linkBytes == 0)
    return std::nullopt;
  SmallVector<Operation *> skipped;
  auto priceOfExchange = [&](ArrayType before, ArrayType behind, const std::vector<spmd::DimMove> &moves, int copies) {
    CollectiveCost cost = planner.getExchangeCost(before, behind, moves) + available.getUnpaidCost(from, op);
    return priceOf(cost, copies * static_cast<double>(result.getLocalBytes(mesh)), getMoveCosts(skipped));
  };
  if (std::optional<Regrouping> regrouping = findRegrouping(mesh, reshape, result, typeOf, &skipped)) {
    from = regrouping->source;
    if (regrouping->isComplete && isLocalReshape(mesh, reshape, typeOf(from), result))
      return std::nullopt;
    return priceOfExchange(regrouping->from, regrouping->to, regrouping->moves, /*copies=*/2);
  }
  from = reshape.getOperand();
  for (ReshardOp reshard; (reshard = getOwnReshard(from)); from = reshard.getOperand())
    skipped.push_back(reshard);
  if (!canExchangeReshape(mesh, typeOf(from), result) || isLocalReshape(mesh, reshape, typeOf(from), result))
    return std::nullopt;
  Price price = priceOfExchange(typeOf(from), result, /*moves=*/{}, /*copies=*/1);
  // On a tie in bytes, named collectives win.
  return price.linkBytes < best.linkBytes ? std::make_optional(price) : std::nullopt;
}

/// The cost of an operation before this one, which moves its operand or changes its sharding.
CollectiveCost ExchangePrices::getMoveCost(Operation *other) {
  auto to = cast<ArrayType>(other->getResult(0).getType());
  if (auto reshard = dyn_cast<ReshardOp>(other)) {
    // An unpaid cost is already in the price of the strategy.
    bool isOwed = available.getUnpaidCost(reshard, op).wireBytes > 0;
    return isOwed ? CollectiveCost() : planner.plan(reshard.getOperand().getType(), to).cost;
  }
  CollectiveCost cost;
  if (needsExchange(other))
    for (const ArrayMove &part : cast<ShardingRuleOpInterface>(other).getMoves().parts)
      cost = cost + planner.getExchangeCost(typeOf(part.source), to, part.dims);
  // Its share of a window is an upper bound on its cost.
  std::optional<CollectiveCost> share = getShare(other);
  return share && *share < cost ? *share : cost;
}

CollectiveCost ExchangePrices::getMoveCosts(ArrayRef<Operation *> others) {
  CollectiveCost cost;
  for (Operation *other : others)
    cost = cost + getMoveCost(other);
  return cost;
}

} // namespace spmdc
