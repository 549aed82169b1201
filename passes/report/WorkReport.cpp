//===- WorkReport.cpp - the computation of one device ---------------------===//

#include "passes/report/WorkReport.h"

#include "runtime/artifact/PlanFields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace spmdc {
namespace {

class Walker {
public:
  Walker(const spmd::Plan &plan, const std::vector<KernelWork> &kernels, const CostModel &model)
      : plan(plan), kernels(kernels), model(model) {}

  void walk(const std::vector<spmd::Step> &steps, int64_t trips) {
    for (const spmd::Step &step : steps)
      std::visit([&](const auto &op) { visit(op, step, trips); }, step.op);
  }

  std::vector<WorkReport> reports;

private:
  static double secondsOf(llvm::ArrayRef<WorkReport> reports) {
    double seconds = 0;
    for (const WorkReport &report : reports)
      seconds += report.isCounted ? report.totalSeconds() : 0;
    return seconds;
  }

  double bytesOf(llvm::ArrayRef<spmd::BufferId> buffers) const {
    double bytes = 0;
    for (spmd::BufferId buffer : buffers)
      bytes += static_cast<double>(plan.buffers[buffer].bytes());
    return bytes;
  }

  /// The bytes that a kernel reads of its inputs, from input `first` on.
  double bytesRead(int32_t kernel, size_t first = 0) const {
    double bytes = 0;
    for (int64_t input : llvm::ArrayRef(kernels[kernel].readBytes).drop_front(first))
      bytes += static_cast<double>(input);
    return bytes;
  }

  bool isSamePlace(spmd::BufferId x, spmd::BufferId y) const {
    const spmd::BufferInfo &first = plan.buffers[x], &second = plan.buffers[y];
    return first.space == second.space && first.index == second.index && first.offset == second.offset;
  }

  /// An update reads the new elements and their indices, and writes as many bytes to the operand. If the result has
  /// another buffer, the library first copies the operand there.
  double bytesUpdated(const spmd::LibraryStep &op) const {
    if (spmd::isFourier(op.function))
      return bytesOf({op.inputs[0], op.result});
    spmd::BufferId operand = op.inputs[0],
                   update = op.inputs[op.function == spmd::LibraryFunction::UpdateSlice ? 1 : 2];
    double copied = isSamePlace(operand, op.result) ? 0 : bytesOf({operand, op.result});
    return bytesOf(llvm::ArrayRef(op.inputs).drop_front()) + std::min(bytesOf(update), bytesOf(operand)) + copied;
  }

  void add(const char *kind, std::string name, const spmd::Step &step, double flops, double bytes, int64_t trips) {
    std::string location = step.location.line ? step.location.str() : "";
    reports.push_back(
        {kind, std::move(name), std::move(location), flops, bytes, trips, model.computeSeconds(flops, bytes)});
    reports.back().whileLoops = whileLoops;
  }

  void visit(const spmd::LaunchStep &op, const spmd::Step &step, int64_t trips) {
    double written = bytesOf(llvm::ArrayRef(op.operands).take_back(op.outputs));
    add("kernel", plan.kernels[op.kernel].symbol, step, kernels[op.kernel].productFlops, bytesRead(op.kernel) + written,
        trips);
  }
  void visit(const spmd::MatmulStep &op, const spmd::Step &step, int64_t trips) {
    double flops = 2;
    for (int64_t size : {op.batch, op.m, op.n, op.k})
      flops *= static_cast<double>(size);
    double bytes = bytesOf({op.lhs, op.rhs, op.result});
    // The epilogue finds the product in cache and writes it to the result's buffer, which is counted already.
    if (op.epilogueKernel >= 0)
      bytes += bytesRead(op.epilogueKernel, /*first=*/1);
    add("matmul", op.epilogueKernel < 0 ? "" : plan.kernels[op.epilogueKernel].symbol, step, flops, bytes, trips);
    reports.back().allowsTf32 = op.allowTf32;
  }
  void visit(const spmd::LibraryStep &op, const spmd::Step &step, int64_t trips) {
    bool isSort = spmd::isSort(op.function);
    double bytes = isSort ? bytesOf(op.inputs) + bytesOf(op.result) : bytesUpdated(op);
    double flops = 0;
    if (spmd::isFourier(op.function)) {
      // The customary count, as FftOp::countFlops.
      auto length = static_cast<double>(op.sizes[1]);
      flops = (op.sizes[3] + op.sizes[4] == 4 ? 5.0 : 2.5) * length * std::log2(length) *
              static_cast<double>(op.sizes[0] * op.sizes[2]);
    }
    add("library", std::string(spmd::plan_fields::libraryNames[static_cast<size_t>(op.function)]), step, flops, bytes,
        trips);
    if (isSort) {
      auto line = static_cast<double>(op.sizes[1]);
      reports.back().predictedSeconds = model.sortSeconds(line * static_cast<double>(op.sizes[0] * op.sizes[2]), line);
    }
  }
  void visit(const spmd::CopyStep &op, const spmd::Step &step, int64_t trips) {
    add("copy", "", step, 0, bytesOf({op.source, op.target}), trips);
  }
  void visit(const spmd::IfStep &op, const spmd::Step &, int64_t trips) {
    size_t begin = reports.size();
    walk(op.thenSteps, trips);
    size_t middle = reports.size();
    walk(op.elseSteps, trips);
    llvm::MutableArrayRef<WorkReport> all(reports);
    llvm::MutableArrayRef<WorkReport> first = all.slice(begin, middle - begin), second = all.slice(middle);
    for (WorkReport &report : secondsOf(first) < secondsOf(second) ? first : second)
      report.isCounted = false;
  }
  void visit(const spmd::WhileStep &op, const spmd::Step &step, int64_t trips) {
    whileLoops.push_back({step.location.line ? step.location.str() : "", trips});
    walk(op.condition, trips);
    walk(op.body, trips);
    whileLoops.pop_back();
  }
  void visit(const spmd::ForStep &op, const spmd::Step &, int64_t trips) {
    int64_t inner = 0;
    walk(op.body, llvm::MulOverflow(trips, op.upper - op.lower, inner) ? INT64_MAX : inner);
  }
  // ProgramReport has the collectives; prints count as free.
  void visit(const spmd::CollectiveStartStep &, const spmd::Step &, int64_t) {}
  void visit(const spmd::CollectiveDoneStep &, const spmd::Step &, int64_t) {}
  void visit(const spmd::PrintStep &, const spmd::Step &, int64_t) {}

  const spmd::Plan &plan;
  const std::vector<KernelWork> &kernels;
  const CostModel &model;
  std::vector<WhileAround> whileLoops; ///< Around the present steps.
};

} // namespace

std::vector<WorkReport> reportWork(const spmd::Plan &plan, const std::vector<KernelWork> &kernels,
                                   const CostModel &model) {
  Walker walker(plan, kernels, model);
  walker.walk(plan.steps, 1);
  return std::move(walker.reports);
}

} // namespace spmdc
