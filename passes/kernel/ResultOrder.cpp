//===- ResultOrder.cpp - the order of a product's dimensions --------------===//

#include "passes/kernel/ResultOrder.h"

#include "llvm/ADT/Sequence.h"

#include <optional>

using namespace mlir;

namespace spmdc {
namespace {

using Order = SmallVector<int64_t>;

/// The orders of the value's dimensions in which a product reads it without a copy (spmdc-normalize-contractions); none
/// if it reads the value as both factors.
SmallVector<Order> ordersReadBy(DotGeneralOp reader, Value value) {
  bool isLeft = reader.getLhs() == value;
  if (isLeft && reader.getRhs() == value)
    return {};
  // Contracted dimensions in the order that they have in the left factor.
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [left, right] : llvm::zip(reader.getLhsContract(), reader.getRhsContract()))
    pairs.push_back({left, right});
  llvm::sort(pairs);
  Order contract, free = isLeft ? reader.getLhsFreeDims() : reader.getRhsFreeDims();
  for (auto [left, right] : pairs)
    contract.push_back(isLeft ? left : right);
  SmallVector<Order> orders;
  for (bool isFreeFirst : {true, false}) {
    Order &order = orders.emplace_back(isLeft ? reader.getLhsBatch() : reader.getRhsBatch());
    llvm::append_range(order, isFreeFirst ? free : contract);
    llvm::append_range(order, isFreeFirst ? contract : free);
  }
  return orders;
}

} // namespace

void mergeTransposes(DotGeneralOp product) {
  while (product->hasOneUse()) {
    auto first = dyn_cast<TransposeOp>(*product->user_begin());
    auto second = first && first->hasOneUse() ? dyn_cast<TransposeOp>(*first->user_begin()) : TransposeOp();
    if (!second)
      return;
    Order merged;
    for (int64_t dim : second.getPerm())
      merged.push_back(first.getPerm()[dim]);
    OpBuilder b(second);
    Value both = product.getResult();
    if (!llvm::equal(merged, llvm::seq<int64_t>(0, static_cast<int64_t>(merged.size()))))
      both = b.create<TransposeOp>(second.getLoc(), second.getType(), both, merged);
    second.replaceAllUsesWith(both);
    second.erase();
    first.erase();
  }
}

void orderForReaders(DotGeneralOp product, int64_t feature) {
  if (product->hasOneUse() && isa<TransposeOp>(*product->user_begin()))
    return;
  std::optional<SmallVector<Order>> common;
  for (Operation *user : product->getUsers()) {
    SmallVector<Order> orders;
    if (auto reader = dyn_cast<DotGeneralOp>(user))
      orders = ordersReadBy(reader, product.getResult());
    else if (auto transpose = dyn_cast<TransposeOp>(user))
      orders.push_back(Order(transpose.getPerm()));
    if (!common)
      common = orders;
    else
      llvm::erase_if(*common, [&](const Order &order) { return !llvm::is_contained(orders, order); });
  }
  int64_t rank = product.getType().getRank();
  bool isAdjacent = feature == rank - 1;
  if (!common || (isAdjacent && llvm::any_of(*common, [](const Order &order) { return llvm::is_sorted(order); })))
    return;
  auto known = llvm::find_if(*common, [&](const Order &order) { return order.back() == feature; });
  if (known == common->end() && isAdjacent)
    return;
  Order wanted(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  if (known == common->end())
    std::swap(wanted[rank - 2], wanted[rank - 1]);
  else
    wanted = *known;
  SmallVector<int64_t> shape, inverse(rank);
  for (auto [position, dim] : llvm::enumerate(wanted)) {
    shape.push_back(product.getType().getDimSize(dim));
    inverse[dim] = static_cast<int64_t>(position);
  }
  OpBuilder b(product->getContext());
  b.setInsertionPointAfter(product);
  auto ordered =
      b.create<TransposeOp>(product.getLoc(), product.getType().withShape(shape), product.getResult(), wanted);
  for (Operation *user : llvm::make_early_inc_range(product->getUsers()))
    if (auto transpose = dyn_cast<TransposeOp>(user);
        transpose && transpose != ordered && transpose.getPerm() == ArrayRef<int64_t>(wanted)) {
      user->replaceAllUsesWith(ordered);
      user->erase();
    }
  if (product->hasOneUse())
    return;
  auto back = b.create<TransposeOp>(product.getLoc(), product.getType(), ordered, inverse);
  product.getResult().replaceAllUsesExcept(back, ordered);
}

} // namespace spmdc
