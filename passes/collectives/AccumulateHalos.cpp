//===- AccumulateHalos.cpp - adds contributions to halos before sending ---===//
//
// The gradient of an operation that reads one array through shifted windows (a convolution, a pool, a stencil) is a sum
// of arrays that are shifted against each other. The partitioner exchanges each of them separately, so a device sends
// its contributions to a neighbour's elements once per tap. This pass adds the contributions up first, where that sends
// less (HaloAccumulation.h).
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/ReducePrecision.h"
#include "passes/collectives/HaloAccumulation.h"
#include "passes/collectives/Passes.h"
#include "passes/exchange/Reasons.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ACCUMULATEHALOS
#include "passes/collectives/Passes.h.inc"

namespace {

DebugTrace trace("accumulate-halos", "not accumulated");

class HaloAccumulator {
public:
  explicit HaloAccumulator(MeshAttr mesh) : mesh(mesh) {}

  /// Operations in program order.
  void visit(ArrayRef<Operation *> ops) {
    for (Operation *op : llvm::reverse(ops)) // In this order a sum is visited before its terms.
      if (!done.contains(op))
        visit(op);
  }

private:
  void visit(Operation *op) {
    Value root = op->getResult(0);
    ExchangedSum sum = findExchangedSum(root);
    if (sum.terms.size() < 2) { // Then no part of the sum has two terms either.
      if (sum.terms.size() == 1)
        trace.skip(op, "only one of its terms is exchanged");
      done.insert(sum.ops.begin(), sum.ops.end());
      return;
    }
    std::vector<HaloAccumulation> halos;
    for (const ExchangedTerm &term : sum.terms) {
      if (llvm::any_of(halos, [&](HaloAccumulation &other) { return other.add(term); }))
        continue;
      halos.emplace_back(mesh, sum.type, getPartialSumType(op, sum.type.getElementType()));
      halos.back().add(term);
    }
    CollectiveCost before, now;
    SmallVector<Location> locs;
    for (Operation *inner : sum.ops)
      if (auto exchange = dyn_cast<ExchangeOp>(inner)) {
        before.addExchange(exchange.getWireBytes(mesh) * static_cast<double>(mesh.toValue().deviceCount()));
        locs.push_back(exchange.getLoc());
      }
    for (HaloAccumulation &part : halos)
      now = now + part.settle();
    if (!now.isLessInBoth(before)) {
      trace.skip(op, "adding first sends ", asCount(now.linkBytes), " bytes in ", now.exchanges,
                 " exchanges, exchanging each term ", asCount(before.linkBytes), " in ", before.exchanges);
      return;
    }
    done.insert(sum.ops.begin(), sum.ops.end());
    OpBuilder builder(op);
    Location loc = fuseLocs(op->getContext(), locs);
    std::string why = "each device adds up its contributions to the other shards of " + sum.type.str() +
                      " before it sends them" + whyForCondition(root);
    Value total;
    auto add = [&](Value value) { total = total ? builder.create<AddOp>(op->getLoc(), total, value) : value; };
    for (const HaloAccumulation &part : halos)
      add(part.build(builder, loc, why));
    for (const LocalTerm &term : sum.own)
      add(rebuild(builder, term));
    root.replaceAllUsesWith(total);
    eraseUnused(op);
  }

  static Value rebuild(OpBuilder &builder, const LocalTerm &term) {
    Value value = term.local;
    for (Operation *op : llvm::reverse(term.path)) {
      Operation *clone = builder.clone(*op);
      clone->setOperand(0, value);
      value = clone->getResult(0);
    }
    return value;
  }

  /// Erases an unused operation of the old sum, and the operations of the sum that only it used.
  void eraseUnused(Operation *op) {
    if (!op || !done.contains(op) || !op->use_empty())
      return;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      eraseUnused(operand.getDefiningOp());
  }

  MeshAttr mesh;
  llvm::DenseSet<Operation *> done;
};

class AccumulateHalosPass : public impl::AccumulateHalosBase<AccumulateHalosPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AddOp, ExchangeOp>(op))
        ops.push_back(op);
    });
    HaloAccumulator(getMesh(getOperation())).visit(ops);
  }
};

} // namespace
} // namespace spmdc
