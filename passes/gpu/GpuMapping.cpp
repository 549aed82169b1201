//===- GpuMapping.cpp - overwrites of a mapping, and its text -------------===//

#include "passes/gpu/GpuMapping.h"

using namespace mlir;

namespace spmdc {

/// True if the computation of `root` reads `input`.
static bool reads(const KernelBody &body, Value root, Value input) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> pending{root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == input)
      return true;
    if (body.contains(value) && seen.insert(value).second)
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
  }
  return false;
}

bool GpuMapping::canOverwrite(const KernelBody &body, const KernelSchedule &schedule, Value input,
                              unsigned output) const {
  if (!schedule.canOverwrite(input, output, body.outputs[output]))
    return false;
  // Flat, ThreadPerRow: one thread reads and writes all of a row, and reads each element before it writes it; it has
  // also read the adjacent elements that it computes. Tiles: only the block of a square reads its elements, crosswise
  // ones before the barrier, others in the thread that writes them.
  if (kind != Kind::GroupPerRow)
    return true;
  // One thread owns an element of a domain in all stages. One thread writes the values of an entire row, behind a
  // barrier; threads without a row read nothing. But a stage makes several passes over its domain: one for all but
  // scans, then one for each scan. No pass after the one that writes may read.
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    bool isWritten =
        llvm::any_of(stage.stores, [&](const KernelSchedule::Store &store) { return store.output == output; });
    for (const KernelSchedule::Scan &scan : stage.scans) {
      if (isWritten && reads(body, CumulativeOp(scan.op).getOperand(), input))
        return false;
      isWritten |= scan.output == output;
    }
  }
  return true;
}

std::string GpuMapping::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (kind) {
  case Kind::Flat:
    os << "flat, " << vector << " elements a thread";
    break;
  case Kind::ThreadPerRow:
    if (strips == 1)
      os << "a thread a row";
    else
      os << strips << " threads a row, one " << blockThreads / strips << " from the next";
    if (vector > 1)
      os << ", " << vector << " rows a thread";
    os << ", " << batch << " elements ahead";
    break;
  case Kind::GroupPerRow:
    os << threadsPerRow << " threads a row, ";
    if (clusterBlocks > 1)
      os << clusterBlocks << " blocks a row";
    else
      os << rowsPerBlock << " rows a block";
    for (const DomainMapping &domain : domains)
      os << "; " << domain.rounds << (domain.isUnrolled ? " unrolled" : "") << " rounds of " << domain.vector;
    if (hasSharedCaches)
      os << "; keeps in shared memory";
    if (sharedBytes)
      os << ", " << sharedBytes << " bytes that the launch asks for";
    if (stateBytes)
      os << "; blocks in the order in which they begin, " << stateBytes << " bytes for their totals";
    break;
  case Kind::Tiles:
    os << "squares of " << tileSide << ", " << tileVector << " elements a thread, " << tiledLoads.size()
       << " loads through shared memory";
    break;
  }
  os << "; " << gridBlocks << " blocks of " << blockThreads << " threads";
  return text;
}

} // namespace spmdc
