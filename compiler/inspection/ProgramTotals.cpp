//===- ProgramTotals.cpp - the costs of a program, per device -------------===//

#include "compiler/inspection/ProgramTotals.h"

#include "runtime/support/ArraySize.h"

namespace spmdc {

ProgramTotals totalsOf(const Inspection &inspection) {
  ProgramTotals totals;
  for (const FunctionReport &function : inspection.report.functions) {
    totals.collectives += function.collectives.size();
    totals.wireBytes += function.wireBytesPerDevice;
    totals.communicationSeconds += function.communicationSeconds;
    totals.savedSeconds += function.combiningSaves + function.ringSaves;
    totals.flops += function.flopsPerDevice;
    totals.argumentBytes = spmd::addSaturated(totals.argumentBytes, function.argumentBytesPerDevice);
  }
  for (const WorkReport &work : inspection.work)
    totals.memoryBytes += work.isCounted ? work.memoryBytes * static_cast<double>(work.tripCount) : 0;
  totals.computeSeconds = inspection.computeSeconds();
  totals.peakBytes = inspection.peakBytesPerDevice;
  return totals;
}

} // namespace spmdc
