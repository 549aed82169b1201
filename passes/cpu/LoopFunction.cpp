//===- LoopFunction.cpp - the function of a loop for a CPU ----------------===//

#include "passes/cpu/LoopFunction.h"

#include "passes/kernel/Shapes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

using spmd::BufferId;
using spmd::BufferInfo;

/// Nanoseconds between two calls of `poll`, as estimated. A process notices the end of the job in this time, and a call
/// of 20 ns costs nothing beside it.
constexpr int64_t kPollTime = 100'000;
/// A grain is work of some 5 us (runtime/device/cpu/ParallelFor.h); a step takes 2 ns, however small it is.
constexpr double kGrainTime = 5000, kStepTime = 2;
/// Bytes that a copy moves in a nanosecond, within the caches.
constexpr double kCopySpeed = 32;

class LoopFunction {
public:
  LoopFunction(const spmd::Plan &plan, const spmd::CompiledLoop &loop, const llvm::StringMap<std::string> &names,
               ModuleOp target)
      : plan(plan), loop(loop), names(names), target(target), loc(target.getLoc()), b(target.getContext()),
        atEntry(target.getContext()), pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

  std::string emit() {
    Type none = LLVM::LLVMVoidType::get(b.getContext());
    b.setInsertionPointToEnd(target.getBody());
    function = b.create<LLVM::LLVMFuncOp>(loc, plan.kernels[static_cast<size_t>(loop.function)].symbol,
                                          LLVM::LLVMFunctionType::get(none, {pointer, pointer, pointer, pointer}));
    function.setPassthroughAttr(b.getStrArrayAttr({"nounwind"}));
    Block *entry = function.addEntryBlock(b);
    leave = addBlock();
    b.setInsertionPointToStart(leave);
    b.create<LLVM::ReturnOp>(loc, ValueRange());

    Block *first = addBlock();
    b.setInsertionPointToStart(entry);
    Operation *jump = b.create<LLVM::BrOp>(loc, ValueRange(), first);
    atEntry.setInsertionPoint(jump);
    budget = atEntry.create<LLVM::AllocaOp>(loc, pointer, b.getI64Type(), constant(atEntry, 1));
    atEntry.create<LLVM::StoreOp>(loc, constant(atEntry, kPollTime), budget);
    for (auto [number, id] : llvm::enumerate(spmd::listLoopOperands(plan, *loop.step))) {
      const BufferInfo &info = infoOf(id);
      Value entryOfTable = atEntry.create<LLVM::GEPOp>(loc, pointer, pointer, function.getArgument(0),
                                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)}, true);
      ranges[{info.space, info.index}] = {atEntry.create<LLVM::LoadOp>(loc, pointer, entryOfTable), info.offset};
    }
    b.setInsertionPointToStart(first);
    emitStep(*loop.step);
    b.create<LLVM::BrOp>(loc, ValueRange(), leave);
    return function.getName().str();
  }

private:
  struct Range {
    Value address;
    int64_t offset = 0; ///< Of the buffer at `address`.
  };

  const BufferInfo &infoOf(BufferId id) const { return plan.buffers[static_cast<size_t>(id)]; }

  Block *addBlock() {
    Block *block = new Block();
    function.getBody().push_back(block);
    return block;
  }
  Value constant(OpBuilder &builder, int64_t value) {
    return builder.create<LLVM::ConstantOp>(loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
  }
  Value constant(int64_t value) { return constant(b, value); }

  Value addressOf(BufferId id) {
    Value &address = addresses[id];
    if (!address) {
      const BufferInfo &info = infoOf(id);
      const Range &range = ranges.at({info.space, info.index});
      address = atEntry.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), range.address,
                                            constant(atEntry, info.offset - range.offset));
    }
    return address;
  }
  Value offsetBy(Value address, Value bytes) {
    return b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), address, bytes);
  }

  bool areSame(BufferId x, BufferId y) const {
    const BufferInfo &a = infoOf(x), &c = infoOf(y);
    return a.space == c.space && a.index == c.index && a.offset == c.offset;
  }

  /// Copies a buffer. An argument and a result may be the same memory, so that it must be a move.
  void emitMove(BufferId from, BufferId to, int64_t bytes) {
    if (!areSame(from, to) && bytes > 0)
      b.create<LLVM::MemmoveOp>(loc, addressOf(to), addressOf(from), constant(bytes), false);
  }

  //===--- Control flow -------------------------------------------------------===//

  void emitSteps(const std::vector<spmd::Step> &steps) {
    for (const spmd::Step &step : steps)
      emitStep(step);
  }
  void emitStep(const spmd::Step &step) {
    std::visit([&](const auto &op) { emitOp(op); }, step.op);
  }

  void emitOp(const spmd::ForStep &op) {
    if (op.lower >= op.upper)
      return;
    emitCounted(constant(op.lower), constant(op.upper), [&](Value number) {
      emitPoll(timeOf(op.body));
      if (op.counter >= 0)
        b.create<LLVM::StoreOp>(loc, b.create<LLVM::TruncOp>(loc, b.getI32Type(), number), addressOf(op.counter));
      emitSteps(op.body);
    });
  }

  /// Emits a loop over [low, high), which is not empty.
  void emitCounted(Value low, Value high, llvm::function_ref<void(Value)> emitBody) {
    Block *body = addBlock(), *exit = addBlock();
    Value number = body->addArgument(b.getI64Type(), loc);
    b.create<LLVM::BrOp>(loc, ValueRange(low), body);
    b.setInsertionPointToStart(body);
    emitBody(number);
    Value next = b.create<LLVM::AddOp>(loc, number, constant(1));
    Value isLeft = b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, next, high);
    b.create<LLVM::CondBrOp>(loc, isLeft, body, ValueRange(next), exit, ValueRange());
    b.setInsertionPointToStart(exit);
  }

  void emitOp(const spmd::WhileStep &op) {
    Block *header = addBlock(), *body = addBlock(), *exit = addBlock();
    b.create<LLVM::BrOp>(loc, ValueRange(), header);
    b.setInsertionPointToStart(header);
    emitSteps(op.condition);
    b.create<LLVM::CondBrOp>(loc, emitPredicate(op.predicate), body, exit);
    b.setInsertionPointToStart(body);
    emitPoll(timeOf(op.condition) + timeOf(op.body));
    emitSteps(op.body);
    b.create<LLVM::BrOp>(loc, ValueRange(), header);
    b.setInsertionPointToStart(exit);
  }

  void emitOp(const spmd::IfStep &op) {
    Block *onTrue = addBlock(), *onFalse = addBlock(), *exit = addBlock();
    b.create<LLVM::CondBrOp>(loc, emitPredicate(op.predicate), onTrue, onFalse);
    b.setInsertionPointToStart(onTrue);
    emitSteps(op.thenSteps);
    b.create<LLVM::BrOp>(loc, ValueRange(), exit);
    b.setInsertionPointToStart(onFalse);
    emitSteps(op.elseSteps);
    b.create<LLVM::BrOp>(loc, ValueRange(), exit);
    b.setInsertionPointToStart(exit);
  }

  Value emitPredicate(BufferId id) {
    Value byte = b.create<LLVM::LoadOp>(loc, b.getI8Type(), addressOf(id));
    Value zero = b.create<LLVM::ConstantOp>(loc, b.getI8Type(), b.getI8IntegerAttr(0));
    return b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, byte, zero);
  }

  /// Calls `poll` once kPollTime has passed since the last call, and leaves the function if it says so. `time` is that
  /// of an iteration in nanoseconds, without the loops in it.
  void emitPoll(double time) {
    Block *ask = addBlock(), *goOn = addBlock();
    Value left = b.create<LLVM::LoadOp>(loc, b.getI64Type(), budget);
    left = b.create<LLVM::SubOp>(loc, left, constant(std::max<int64_t>(1, static_cast<int64_t>(time))));
    b.create<LLVM::StoreOp>(loc, left, budget);
    Value isOver = b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, left, constant(0));
    b.create<LLVM::CondBrOp>(loc, isOver, ask, goOn);
    b.setInsertionPointToStart(ask);
    b.create<LLVM::StoreOp>(loc, constant(kPollTime), budget);
    auto type = LLVM::LLVMFunctionType::get(b.getI1Type(), {pointer});
    auto call = b.create<LLVM::CallOp>(loc, type, ValueRange{function.getArgument(2), function.getArgument(3)});
    b.create<LLVM::CondBrOp>(loc, call.getResult(), leave, goOn);
    b.setInsertionPointToStart(goOn);
  }

  /// The time of these steps in nanoseconds, without loops.
  double timeOf(const std::vector<spmd::Step> &steps) const {
    double time = 0;
    for (const spmd::Step &step : steps) {
      time += kStepTime;
      if (auto *launch = std::get_if<spmd::LaunchStep>(&step.op))
        time += kGrainTime * static_cast<double>(launch->extent) / static_cast<double>(launch->grain);
      else if (auto *copy = std::get_if<spmd::CopyStep>(&step.op))
        time += static_cast<double>(infoOf(copy->source).bytes()) / kCopySpeed;
      else if (auto *call = std::get_if<spmd::LibraryStep>(&step.op))
        time += static_cast<double>(infoOf(call->inputs[1]).bytes() +
                                    (areSame(call->inputs[0], call->result) ? 0 : infoOf(call->result).bytes())) /
                kCopySpeed;
      else if (std::get_if<spmd::IfStep>(&step.op))
        for (const std::vector<spmd::Step> *block : spmd::getInnerSteps(step))
          time += timeOf(*block);
    }
    return time;
  }

  //===--- Steps ----------------------------------------------------------------===//

  void emitOp(const spmd::LaunchStep &op) {
    auto type = LLVM::LLVMArrayType::get(pointer, static_cast<unsigned>(op.operands.size()));
    Value table = atEntry.create<LLVM::AllocaOp>(loc, pointer, type, constant(atEntry, 1));
    for (auto [number, id] : llvm::enumerate(op.operands)) {
      Value address = addressOf(id);
      Value entryOfTable = atEntry.create<LLVM::GEPOp>(loc, pointer, pointer, table,
                                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)}, true);
      atEntry.create<LLVM::StoreOp>(loc, address, entryOfTable);
    }
    b.create<LLVM::CallOp>(loc, getKernel(op.kernel),
                           ValueRange{constant(0), constant(op.extent), table, function.getArgument(1)});
  }

  LLVM::LLVMFuncOp getKernel(int32_t kernel) {
    std::string name = names.lookup(plan.kernels[static_cast<size_t>(kernel)].symbol);
    if (auto known = target.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder atStart = OpBuilder::atBlockBegin(target.getBody());
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {i64, i64, pointer, pointer});
    auto declared = atStart.create<LLVM::LLVMFuncOp>(loc, name, type);
    declared.setPassthroughAttr(b.getStrArrayAttr({"nounwind"}));
    return declared;
  }

  void emitOp(const spmd::CopyStep &op) { emitMove(op.source, op.target, infoOf(op.source).bytes()); }

  /// As the runtime's own update_slice (runtime/device/cpu/Library.cpp).
  void emitOp(const spmd::LibraryStep &op) {
    emitMove(op.inputs[0], op.result, infoOf(op.result).bytes());
    size_t rank = op.sizes.size() / 2;
    llvm::ArrayRef<int64_t> shape = llvm::ArrayRef(op.sizes).take_front(rank),
                            window = llvm::ArrayRef(op.sizes).drop_front(rank);
    if (productOf(window) == 0)
      return;
    // Trailing dimensions that the window covers in full size, and the one before them, are one contiguous run.
    size_t outer = rank;
    while (outer > 0 && window[outer - 1] == shape[outer - 1])
      --outer;
    size_t runDim = outer > 0 ? outer - 1 : 0;
    int64_t elementBytes = spmd::byteSize(infoOf(op.result).dtype);
    int64_t runBytes = productOf(window.drop_front(runDim)) * elementBytes;
    Value position = constant(0);
    for (size_t d = 0; d < outer; ++d) {
      Value start = emitStart(op.inputs[2 + d], shape[d] - window[d]);
      position = b.create<LLVM::AddOp>(loc, position, scaled(start, productOf(shape.drop_front(d + 1)) * elementBytes));
    }
    emitRows(addressOf(op.inputs[1]), offsetBy(addressOf(op.result), position), shape, window, runDim, elementBytes,
             runBytes);
  }

  /// Copies a window to its place: for each index of the first `outer` dimensions one run of bytes.
  void emitRows(Value from, Value to, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> window, size_t outer,
                int64_t elementBytes, int64_t runBytes) {
    if (outer == 0) {
      b.create<LLVM::MemcpyOp>(loc, to, from, constant(runBytes), false);
      return;
    }
    int64_t fromStride = productOf(window.drop_front(1)) * elementBytes;
    int64_t toStride = productOf(shape.drop_front(1)) * elementBytes;
    auto emitRow = [&](Value number) {
      emitRows(offsetBy(from, scaled(number, fromStride)), offsetBy(to, scaled(number, toStride)), shape.drop_front(1),
               window.drop_front(1), outer - 1, elementBytes, runBytes);
    };
    if (window[0] == 1)
      emitRow(constant(0));
    else
      emitCounted(constant(0), constant(window[0]), emitRow);
  }

  Value scaled(Value number, int64_t factor) { return b.create<LLVM::MulOp>(loc, number, constant(factor)); }

  /// The index in this buffer, clamped to [0, most].
  Value emitStart(BufferId id, int64_t most) {
    bool isWide = spmd::byteSize(infoOf(id).dtype) == 8;
    Value start = b.create<LLVM::LoadOp>(loc, isWide ? b.getI64Type() : b.getI32Type(), addressOf(id));
    if (!isWide)
      start = b.create<LLVM::SExtOp>(loc, b.getI64Type(), start);
    start = b.create<LLVM::SMaxOp>(loc, start, constant(0));
    return b.create<LLVM::SMinOp>(loc, start, constant(most));
  }

  // spmdc-compile-loops gives no function to a loop with such steps.
  void emitOp(const spmd::MatmulStep &) { llvm_unreachable("a matrix product in a compiled loop"); }
  void emitOp(const spmd::CollectiveStartStep &) { llvm_unreachable("a collective in a compiled loop"); }
  void emitOp(const spmd::CollectiveDoneStep &) { llvm_unreachable("a collective in a compiled loop"); }
  void emitOp(const spmd::PrintStep &) { llvm_unreachable("a print in a compiled loop"); }

  const spmd::Plan &plan;
  const spmd::CompiledLoop loop;
  const llvm::StringMap<std::string> &names;
  ModuleOp target;
  Location loc;
  OpBuilder b, atEntry; ///< At the current place, and where values are computed once.
  Type pointer;
  LLVM::LLVMFuncOp function;
  Block *leave = nullptr;
  Value budget; ///< Address of the nanoseconds until the next call of `poll`.
  std::map<std::pair<BufferInfo::Space, int32_t>, Range> ranges;
  std::map<BufferId, Value> addresses;
};

} // namespace

std::string emitLoopFunction(const spmd::Plan &plan, const spmd::CompiledLoop &loop,
                             const llvm::StringMap<std::string> &names, ModuleOp target) {
  return LoopFunction(plan, loop, names, target).emit();
}

} // namespace spmdc
