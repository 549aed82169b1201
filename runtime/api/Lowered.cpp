//===- Lowered.cpp - a program that is lowered and not run ----------------===//

#include "runtime/api/FunctionImpl.h"

namespace spmd {
namespace {

const FunctionImpl &get(const std::shared_ptr<FunctionImpl> &impl) {
  if (!impl)
    throw Error("a Lowered without a program is used; make it with Function::lower()", Error::Kind::Usage);
  return *impl;
}

template <typename T> T known(const std::optional<T> &figure, const char *name) {
  if (!figure)
    throw Error(std::string("a loaded artifact does not know its ") + name +
                    ": it holds machine code, and only wire_bytes and memory_analysis() follow from its plan; jit() of "
                    "its source, or `spmdc inspect`, has the rest",
                Error::Kind::Usage);
  return *figure;
}

} // namespace

double CostAnalysis::flops() const { return known(figures.flops, "flops"); }
double CostAnalysis::bytes_accessed() const { return known(figures.bytes_accessed, "bytes_accessed"); }
int64_t CostAnalysis::collectives() const { return known(figures.collectives, "collectives"); }
double CostAnalysis::optimal_seconds() const { return known(figures.optimal_seconds, "optimal_seconds"); }

std::string Lowered::as_text(const std::string &stage) const { return get(impl).getText(stage); }
CostAnalysis Lowered::cost_analysis() const { return get(impl).getCosts(); }

CompiledMemoryStats Lowered::memory_analysis() const {
  MemoryUse use = get(impl).getMemory();
  return {.argument_size_in_bytes = use.argumentBytes,
          .output_size_in_bytes = use.resultBytes,
          .temp_size_in_bytes = use.arenaBytes,
          .constant_size_in_bytes = use.constantBytes,
          .peak_memory_in_bytes = use.peakBytes()};
}

Function Lowered::compile() const {
  get(impl).compile();
  return Function(impl);
}

} // namespace spmd
