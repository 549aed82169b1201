//===- Interior.cpp - where a loop reads no padding -----------------------===//

#include "passes/cpu/Interior.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

class Collector {
public:
  Collector(KernelIndexing &indexing, const KernelBody &body, unsigned lane)
      : indexing(indexing), body(body), lane(lane) {}

  void collect(Value value, ArrayRef<IndexExpr> index) {
    if (!body.contains(value) || !seen.insert({value.getAsOpaquePointer(), index.vec()}).second)
      return;
    Operation *op = value.getDefiningOp();
    if (isa<ElementwiseOpInterface>(op)) {
      for (Value operand : op->getOperands())
        collect(operand, index);
      return;
    }
    if (!isIndexOp(op) || isa<DynamicUpdateSliceOp>(op))
      return;
    MappedIndex mapped = indexing.map(op, index);
    if (isa<PadOp>(op))
      for (const IndexGuard &guard : mapped.guards)
        add(guard);
    collect(op->getOperand(0), mapped.index);
  }

  std::vector<IndexAssumption> assumptions;

private:
  void add(const IndexGuard &guard) {
    IndexExpr rest = guard.expr;
    llvm::erase_if(rest.terms, [&](auto &term) { return term.first == lane; });
    int64_t factor = guard.expr.coefficientOf(lane);
    IndexRange range = indexing.space.rangeOf(guard.expr);
    int64_t inside = std::min(range.high + 1, guard.high) - std::max(range.low, guard.low);
    IndexAssumption assumption{guard, 2 * inside >= range.high + 1 - range.low};
    bool isOfRange = factor == 0 || (std::abs(factor) == 1 && assumption.holds);
    if (isOfRange && !indexing.space.dependsOn(rest, lane) && !llvm::is_contained(assumptions, assumption))
      assumptions.push_back(assumption);
  }

  KernelIndexing &indexing;
  const KernelBody &body;
  unsigned lane;
  std::set<std::pair<const void *, std::vector<IndexExpr>>> seen;
};

} // namespace

std::vector<IndexAssumption> findInterior(KernelIndexing &indexing, const KernelBody &body, Value value,
                                          ArrayRef<IndexExpr> index, unsigned lane) {
  Collector collector(indexing, body, lane);
  collector.collect(value, index);
  return std::move(collector.assumptions);
}

} // namespace spmdc
