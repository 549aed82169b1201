//===- CompileKey.cpp - the cache key of a compile ------------------------===//
//
// Structured bindings name every member of the options, so code with a new option does not build until this file
// handles it.
//
//===----------------------------------------------------------------------===//

#include "compiler/cache/CompileKey.h"

#include "compiler/Target.h"
#include "compiler/cache/CompilerIdentity.h"
#include "passes/cpu/EmitCpu.h"
#include "passes/gpu/Libdevice.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <bit>
#include <concepts>

namespace spmdc {
namespace {

/// Serializes the inputs of a compile. Texts and sequences begin with their lengths, so that different inputs give
/// different bytes.
class KeyText {
public:
  void add(const std::string &value) {
    add(value.size());
    text += value;
  }
  void add(double value) { add(std::bit_cast<uint64_t>(value)); }
  template <std::integral Value> void add(Value value) { text += std::to_string(value) + ";"; }
  template <typename First, typename Second> void add(const std::pair<First, Second> &value) {
    add(value.first);
    add(value.second);
  }
  template <typename Value> void add(const std::vector<Value> &values) { addAll(values); }
  template <typename Name, typename Value> void add(const std::map<Name, Value> &values) { addAll(values); }

  void add(const FrontendOptions &options) {
    // The receivers of the index and of warnings are not inputs.
    const auto &[sets, setOption, meshOverride, meshOption, function, functionOption, platform, index, receiver] =
        options;
    // Warnings name the options that are given. Errors, which are not kept, name the entry's option, too.
    const std::string none;
    addEach(sets, sets.empty() ? none : setOption, meshOverride, meshOverride.empty() ? none : meshOption, function,
            platform);
  }
  void add(const LinkRates &rates) {
    const auto &[latencyMicroseconds, bytesPerSecond, overlap] = rates;
    addEach(latencyMicroseconds, bytesPerSecond, overlap);
  }
  void add(const CostModel &model) {
    const auto &[link, axes, flopsPerSecond, memoryPerSecond, goal] = model;
    addEach(link, axes, flopsPerSecond, memoryPerSecond, static_cast<int>(goal));
  }
  void add(const BudgetLimit &budget) {
    const auto &[what, limit, place] = budget;
    addEach(what, limit, place);
  }
  void add(const CpuTarget &cpu) {
    const auto &[name, features, optimizationLevel] = cpu;
    addEach(name, features, optimizationLevel);
  }

  template <typename... Values> void addEach(const Values &...values) { (add(values), ...); }

  std::string digest() const { return spmd::toHex(spmd::sha256({text})); }

private:
  template <typename Values> void addAll(const Values &values) {
    add(values.size());
    for (const auto &value : values)
      add(value);
  }

  std::string text;
};

/// For CUDA: the hash of the library that is linked into kernels (libdevice). Throws if it cannot be read.
std::string libdeviceOf(const CompileOptions &options) {
  std::optional<Target> target = Target::parse(options.target);
  std::optional<std::string> file =
      target && target->isCuda ? findLibdevice(options.cudaToolkit) : std::optional<std::string>();
  return file ? spmd::toHex(spmd::sha256({spmd::MappedFile(*file).bytes()})) : "";
}

} // namespace

std::optional<std::string> compileKey(const std::string &fileName, const std::string &programText,
                                      const CompileOptions &options) {
  const auto &[frontend, pipeline, costModel, reducePrecision, allowTf32, budget, target, optimizationLevel,
               cudaToolkit, cache] = options;
  const auto &[backend, gpu, leastScoreBytes, dumpDirectory, dumps, bytesToFree, growsCarries, startsEarly, remarks,
               propagationLog, shouldContinue] = pipeline;
  bool needsPasses = !dumpDirectory.empty() || dumps || remarks || propagationLog || frontend.index;
  const std::optional<std::string> &compiler = compilerIdentity();
  if (needsPasses || !compiler)
    return std::nullopt;
  KeyText key;
  try {
    key.addEach(*compiler, spmd::kArtifactFormatVersion, fileName, programText, frontend, static_cast<int>(backend),
                gpu.sharedBytes, gpu.clusterBlocks, static_cast<int>(gpu.matrixUnit), leastScoreBytes, bytesToFree,
                growsCarries, startsEarly, costModel, reducePrecision ? static_cast<int>(*reducePrecision) : -1,
                allowTf32, budget, target, optimizationLevel, cudaToolkit, libdeviceOf(options));
  } catch (const spmd::Error &) {
    return std::nullopt;
  }
  // This host's CPU counts for all targets: the C library chooses its functions, which fold constants, by that CPU.
  key.add(CpuTarget::host());
  return key.digest();
}

} // namespace spmdc
