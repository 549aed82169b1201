//===- Concatenation.cpp - operands of concatenations ---------------------===//

#include "passes/restructure/Concatenation.h"

#include "passes/sharding/Rematerialization.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The largest number of parts: each of them becomes a separate operation.
constexpr size_t kMostParts = 64;

/// The dimension along which `pad` adds zeros; nothing if there are several, or if it crops or dilates.
std::optional<int64_t> getPaddedDim(PadOp pad) {
  std::optional<int64_t> padded;
  for (auto [dim, low, high, interior] : llvm::enumerate(pad.getLow(), pad.getHigh(), pad.getInterior())) {
    if (low < 0 || high < 0 || interior != 0 || ((low > 0 || high > 0) && padded))
      return std::nullopt;
    if (low > 0 || high > 0)
      padded = dim;
  }
  return isZero(pad.getValue()) ? padded : std::nullopt;
}

Concatenation concatenationOf(ConcatenateOp op) {
  Concatenation concatenation;
  concatenation.dim = static_cast<int64_t>(op.getDim());
  concatenation.movers.push_back(op);
  int64_t start = 0;
  for (Value operand : op.getOperands()) {
    concatenation.parts.push_back({operand, start});
    start += typeOf(operand).getDimSize(concatenation.dim);
  }
  return concatenation;
}

/// Collects the parts of a sum of padded arrays; false for any other value.
bool addParts(Value value, Concatenation &concatenation) {
  Operation *op = value.getDefiningOp();
  if (!op || op->hasAttr(kAnnotatedAttrName) || concatenation.parts.size() == kMostParts)
    return false;
  if (auto pad = dyn_cast<PadOp>(op)) {
    std::optional<int64_t> dim = getPaddedDim(pad);
    if (!dim || (!concatenation.parts.empty() && *dim != concatenation.dim))
      return false;
    concatenation.dim = *dim;
    concatenation.parts.push_back({pad.getOperand(), pad.getLow()[*dim]});
    concatenation.movers.push_back(pad);
    return true;
  }
  if (!isa<AddOp>(op))
    return false;
  concatenation.adders.push_back(op);
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return operand.hasOneUse() && addParts(operand, concatenation); });
}

} // namespace

std::optional<Concatenation> matchConcatenation(Value value) {
  Concatenation concatenation;
  if (auto concatenate = value.getDefiningOp<ConcatenateOp>()) {
    if (concatenate->getNumOperands() > kMostParts || concatenate->hasAttr(kAnnotatedAttrName))
      return std::nullopt;
    concatenation = concatenationOf(concatenate);
  } else if (!value.getDefiningOp<AddOp>() || !addParts(value, concatenation)) {
    return std::nullopt;
  }
  llvm::sort(concatenation.parts,
             [](const Concatenation::Part &a, const Concatenation::Part &b) { return a.start < b.start; });
  int64_t end = 0;
  for (const Concatenation::Part &part : concatenation.parts) {
    if (part.start != end)
      return std::nullopt;
    end += part.getSize(concatenation.dim);
  }
  return end == typeOf(value).getDimSize(concatenation.dim) ? std::make_optional(std::move(concatenation))
                                                            : std::nullopt;
}

} // namespace spmdc
