//===- AssignBuffers.cpp - gives every value its place in memory ----------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/Overwrites.h"
#include "passes/plan/InPlace.h"
#include "passes/plan/Liveness.h"
#include "passes/plan/Passes.h"

#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ASSIGNBUFFERS
#include "passes/plan/Passes.h.inc"

namespace {

/// A cache line, and the widest vector.
constexpr int64_t kAlignment = 64;

/// A piece of the arena that one value (or the scratch of one step) needs.
struct Request {
  int64_t bytes = 0;
  LiveRange range;
  int64_t offset = 0;
};

class FunctionAssigner {
public:
  explicit FunctionAssigner(func::FuncOp func) : func(func), liveness(func) {}

  void run() {
    Operation *ret = func.getBody().front().getTerminator();
    for (OpOperand &operand : ret->getOpOperands())
      results[Liveness::getRoot(operand.get())] = operand.getOperandNumber();
    collect();
    allocate();
    for (Operation &op : func.getBody().front())
      annotate(&op);
  }

private:
  void collect() {
    for (auto &[value, range] : liveness.getRanges()) {
      if (auto matmul = value.getDefiningOp<plan::MatmulOp>(); matmul && needsProduct(matmul))
        products[matmul] = addRequest(productBytes(matmul), {range.begin, range.begin});
      if (results.contains(value) || isa<plan::ConstantOp>(value.getDefiningOp()))
        continue;
      if (std::optional<size_t> shared = findDyingInput(value)) {
        values[value] = *shared;
        requests[*shared].range.end = range.end;
      } else {
        values[value] = addRequest(cast<ArrayType>(value.getType()).getBytes(), range);
      }
    }
  }

  /// The memory of an input that is dead after this launch, if its output may take its place.
  std::optional<size_t> findDyingInput(Value value) {
    auto launch = value.getDefiningOp<plan::LaunchOp>();
    if (!launch)
      return std::nullopt;
    for (Value input : launch.getInputs()) {
      auto known = values.find(Liveness::getRoot(input));
      // Memory that another output of this launch has taken lives on.
      if (known == values.end() || requests[known->second].range.end != liveness.getStep(launch) ||
          !taken.insert({launch, known->second}).second)
        continue;
      if (mayOverwrite(launch, known->first, cast<OpResult>(value).getResultNumber()))
        return known->second;
      taken.erase({launch, known->second});
    }
    return std::nullopt;
  }

  /// An epilogue works in place where its result may be written over the product; else the product needs memory of its
  /// own.
  static int64_t productBytes(plan::MatmulOp op) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(op, op.getEpilogueAttr());
    return cast<ArrayType>(kernel.getBlock().getArgument(0).getType()).getBytes();
  }
  static bool needsProduct(plan::MatmulOp op) {
    return op.getEpilogueAttr() &&
           !canOverwrite(SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(op, op.getEpilogueAttr()), 0, 0);
  }

  size_t addRequest(int64_t bytes, LiveRange range) {
    requests.push_back({bytes, range, 0});
    return requests.size() - 1;
  }

  /// Largest first, each at the lowest free offset.
  void allocate() {
    SmallVector<Request *> order;
    for (Request &request : requests)
      order.push_back(&request);
    // Ties in program order: the requests stand in one vector.
    llvm::sort(order,
               [](const Request *x, const Request *y) { return x->bytes != y->bytes ? x->bytes > y->bytes : x < y; });
    SmallVector<Request *> placed;
    for (Request *request : order) {
      SmallVector<Request *> inTheWay;
      for (Request *other : placed)
        if (other->bytes > 0 && other->range.overlaps(request->range))
          inTheWay.push_back(other);
      llvm::sort(inTheWay, [](const Request *x, const Request *y) {
        return x->offset != y->offset ? x->offset < y->offset : x < y;
      });
      int64_t offset = 0;
      for (Request *other : inTheWay) {
        if (offset + request->bytes <= other->offset)
          break;
        offset = std::max(offset, static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes, kAlignment)));
      }
      request->offset = offset;
      placed.push_back(request);
    }
  }

  plan::BufferAttr place(Value value) {
    MLIRContext *context = func.getContext();
    if (auto result = results.find(value); result != results.end())
      return plan::BufferAttr::get(context, "result", result->second);
    return plan::BufferAttr::get(context, "arena", requests[values.lookup(value)].offset);
  }

  void annotate(Operation *op) {
    SmallVector<Attribute> buffers;
    if (auto constant = dyn_cast<plan::ConstantOp>(op)) {
      buffers.push_back(plan::BufferAttr::get(op->getContext(), "constant", nextConstant));
      nextConstant += static_cast<int64_t>(llvm::alignTo(constant.getResult().getType().getBytes(), kAlignment));
    } else if (auto start = dyn_cast<plan::StartOp>(op)) {
      for (Operation *user : start.getToken().getUsers())
        buffers.push_back(place(user->getResult(0)));
    } else if (isa<plan::LaunchOp, plan::MatmulOp, plan::CopyOp>(op)) {
      for (Value result : op->getResults())
        buffers.push_back(place(result));
      if (auto product = products.find(op); product != products.end())
        buffers.push_back(plan::BufferAttr::get(op->getContext(), "arena", requests[product->second].offset));
    } else {
      return;
    }
    op->setAttr("buffers", ArrayAttr::get(op->getContext(), buffers));
  }

  func::FuncOp func;
  Liveness liveness;
  std::vector<Request> requests;
  llvm::DenseMap<Value, int64_t> results; ///< Root value to result number.
  llvm::DenseMap<Value, size_t> values;
  /// Memory of inputs that outputs of the same launch have taken.
  std::set<std::pair<Operation *, size_t>> taken;
  llvm::DenseMap<Operation *, size_t> products;
  int64_t nextConstant = 0;
};

class AssignBuffersPass : public impl::AssignBuffersBase<AssignBuffersPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      FunctionAssigner(func).run();
  }
};

} // namespace
} // namespace spmdc
