//===- Inspection.cpp - predicted costs of a program ----------------------===//

#include "compiler/inspection/Inspection.h"

#include <algorithm>

namespace spmdc {

double Inspection::computeSeconds() const {
  double seconds = 0;
  for (const WorkReport &item : work)
    seconds += item.isCounted ? item.totalSeconds() : 0;
  return seconds;
}

double Inspection::computeSecondsOf(const WhileReport &loop) const {
  double seconds = 0;
  for (const WorkReport &item : work)
    for (const WhileAround &around : item.whileLoops)
      if (item.isCounted && around.location == loop.location)
        seconds += item.totalSeconds() / static_cast<double>(std::max<int64_t>(1, around.runs));
  return seconds;
}

std::optional<Inspection> inspectProgram(Compiler &compiler) {
  std::optional<ProgramReport> report = compiler.report();
  if (!report)
    return std::nullopt;
  std::optional<int64_t> bytes = compiler.bytesPerDevice();
  if (!bytes)
    return std::nullopt;
  return Inspection{std::move(*report), *bytes, *compiler.work()};
}

} // namespace spmdc
