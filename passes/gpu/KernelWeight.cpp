//===- KernelWeight.cpp - the work of one thread of a kernel --------------===//

#include "passes/gpu/KernelWeight.h"

using namespace mlir;

namespace spmdc {

unsigned weightOf(const KernelBody &body) {
  unsigned calls = 0;
  for (Operation *op : body.ops) {
    bool isMath = op->hasTrait<MathFunction>() || isa<RemainderOp>(op);
    if (!isMath && !op->hasTrait<Division>())
      continue;
    Type type = cast<ArrayType>(op->getResult(0).getType()).getElementType();
    bool isDivision = op->hasTrait<Division>() && type.getIntOrFloatBitWidth() == 64;
    if (isMath || isDivision)
      calls += type.isF64() || isa<SinOp, CosOp, TanOp, PowerOp, Atan2Op>(op) || isDivision ? 4 : 1;
  }
  return calls;
}

bool isSimple(const KernelBody &body, const KernelSchedule &schedule) {
  // Kernels with more of these spilled in blocks of 1024 threads, which leave a thread 64 registers (measured:
  // GpuOperation.NoLargeShapeSpills).
  constexpr size_t kMaxLoads = 6, kMaxOutputs = 2, kMaxReductions = 4, kMaxScans = 1;
  size_t reductions = 0, scans = 0;
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    reductions += stage.reductions.size();
    scans += stage.scans.size();
  }
  bool isWide = llvm::any_of(body.ops, [](Operation *op) {
    return spmd::byteSize(cast<ArrayType>(op->getResult(0).getType()).getDType()) > 4;
  });
  return !isWide && schedule.loads.size() <= kMaxLoads && body.outputs.size() <= kMaxOutputs &&
         reductions <= kMaxReductions && scans <= kMaxScans;
}

} // namespace spmdc
