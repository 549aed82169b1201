//===- function.h - compiled programs ---------------------------*- C++ -*-===//
#pragma once

#include "array.h"
#include "lowered.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

struct Artifact;

/// A parameter or a result.
struct ValueDescription {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  NamedSharding sharding;
  /// Its index among the parameters or results of the program: all arrays of a struct have the same index.
  int64_t index = 0;
};

class FunctionImpl;

/// A compiled program, or one that is compiled at its first call. Safe from any thread; copies share the compiled
/// program. The program must make its calls in the same order on all processes (spmd.h).
class Function {
public:
  Function() = default;
  explicit Function(std::shared_ptr<FunctionImpl> impl) : impl(std::move(impl)) {}

  /// Runs the program and returns without waiting for the results. Arguments must have the types and shardings of the
  /// parameters; otherwise the error suggests the device_put that helps.
  std::vector<Array> call(const std::vector<Array> &arguments) const;
  template <typename... Arrays> std::vector<Array> operator()(const Arrays &...arguments) const {
    return call({arguments...});
  }

  /// Lowers the program without running it; JAX's `jit(f).lower(...)`. The source has the types of all parameters, so
  /// no argument is needed; given arguments are checked as in a call. Errors of the program are thrown here, with
  /// source line and caret. No communication.
  Lowered lower() const;
  Lowered lower(const std::vector<Array> &arguments) const;
  template <std::same_as<Array>... Arrays>
    requires(sizeof...(Arrays) > 0)
  Lowered lower(const Arrays &...arguments) const {
    return lower(std::vector<Array>{arguments...});
  }

  /// For a compiled program.
  std::vector<ValueDescription> parameters() const;
  std::vector<ValueDescription> results() const;

  /// Returns the arrays of one result from the results of call(): by the plain name in the program's `return`, or by
  /// its index among the results, named or not (`p`, `0`; for a struct all its arrays, and `p.w` or `0.w` for one of
  /// them), as `--output` of `spmdc run` names it. Throws an error that lists the results if none has that name.
  std::vector<Array> result(const std::vector<Array> &results, const std::string &name) const;
  /// The same as for lower(), as JAX's compiled functions have them. A text is compiled no further than its stage, so
  /// that stages before an error can be printed.
  std::string as_text(const std::string &stage) const;
  CostAnalysis cost_analysis() const { return lower().cost_analysis(); }
  CompiledMemoryStats memory_analysis() const { return lower().memory_analysis(); }

  const std::shared_ptr<FunctionImpl> &get_impl() const { return impl; }

private:
  std::shared_ptr<FunctionImpl> impl;
};

/// Loads a program that `spmdc compile` wrote. Without a mesh it runs on all devices. If the file has several targets,
/// the best that the devices of this process run is loaded: of GPUs the newest architecture; an error lists the targets
/// if there is none. All processes must choose the same.
Function load(const std::string &path, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());
Function load(std::shared_ptr<const Artifact> artifact, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());

struct JitOptions {
  std::string function = "main"; ///< The function to compile. Not for a callable.
  /// Default: the source's mesh, over all devices; for a callable the mesh of its arguments.
  std::optional<Mesh> mesh = {};
  std::vector<std::pair<std::string, std::string>> constants = {}; ///< Values of the source's consts.
  std::string file_name = "<jit>";                                 ///< The file name in messages.
  /// `cpu` (this host), `cpu:<LLVM's name of a CPU>`, `cuda` (this machine's GPU), or `cuda:<architecture>` as
  /// cuda:sm_90. A call needs devices of that kind (InitializeOptions::platform); lower() shows code for any.
  std::string target = "cpu";
  /// As JAX's `jax_debug_nans`: a call whose results (or printed values) contain a NaN throws a NanError that names the
  /// step that computed it, on all processes of the mesh alike; the next call works. Such a call waits for its results.
  bool check_nans = false;
  /// Indices of donated arguments, as in JAX: for a callable those of its arguments (all arrays of a tree), for a
  /// source those of parameters(). A call deletes a donated array, and later uses of it are errors. If a result has its
  /// type and sharding, and nothing else shares its memory, the result takes that memory; otherwise the memory is
  /// released when the call has read it. In a source the result must have the parameter's name.
  std::vector<int> donate_argnums = {};
  /// As JAX's `jax_default_matmul_precision='tensorfloat32'`: on GPUs, factors of f32 matrix products may be rounded to
  /// TF32 (10 bits of mantissa), which multiplies faster. No effect on CPUs.
  bool allow_tf32 = false;
};

/// Returns a program in the language of docs/language.md; it is compiled at the first call and cached, also for later
/// processes of the user (docs/cache.md). Needs the library with the compiler.
Function jit(std::string source, JitOptions options = {}, std::source_location where = std::source_location::current());

} // namespace spmd
