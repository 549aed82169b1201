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
  /// Its number among the parameters or results of the program: the arrays of a struct have one number.
  int64_t index = 0;
};

class FunctionImpl;

/// A compiled program, or one that is compiled at its first call. Safe from any thread; copies share what was compiled.
/// Between processes the order of calls is the program's duty (spmd.h).
class Function {
public:
  Function() = default;
  explicit Function(std::shared_ptr<FunctionImpl> impl) : impl(std::move(impl)) {}

  /// Runs it and returns without waiting for the results. Arguments must have the parameters' types and lie as their
  /// annotations say; the error suggests the device_put that helps.
  std::vector<Array> call(const std::vector<Array> &arguments) const;
  template <typename... Arrays> std::vector<Array> operator()(const Arrays &...arguments) const {
    return call({arguments...});
  }

  /// What the compiler makes of it, without running it; JAX's `jit(f).lower(...)`. The source says the types of all
  /// parameters, so no argument is needed; those that are given are checked as in a call. The program's mistakes are
  /// thrown here, with source line and caret. No communication.
  Lowered lower() const;
  Lowered lower(const std::vector<Array> &arguments) const;
  template <std::same_as<Array>... Arrays>
    requires(sizeof...(Arrays) > 0)
  Lowered lower(const Arrays &...arguments) const {
    return lower(std::vector<Array>{arguments...});
  }

  /// Of a program that is compiled.
  std::vector<ValueDescription> parameters() const;
  std::vector<ValueDescription> results() const;

  /// Of what call() has returned, the arrays of one result: by the plain name that it was returned as, or its index
  /// among the results, named or not (`p`, `0`; of a struct all its arrays, and `p.w` or `0.w` one of them), as
  /// `--output` of `spmdc run` names it. An error that lists the results where there is none of that name.
  std::vector<Array> result(const std::vector<Array> &results, const std::string &name) const;
  /// The same as of lower(), as a compiled program of JAX has them. A text is compiled no further than its stage, so
  /// that stages before a mistake can be looked at.
  std::string as_text(const std::string &stage) const;
  CostAnalysis cost_analysis() const { return lower().cost_analysis(); }
  CompiledMemoryStats memory_analysis() const { return lower().memory_analysis(); }

  const std::shared_ptr<FunctionImpl> &get_impl() const { return impl; }

private:
  std::shared_ptr<FunctionImpl> impl;
};

/// A program that `spmdc compile` wrote. Without a mesh: all devices.
Function load(const std::string &path, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());
Function load(std::shared_ptr<const Artifact> artifact, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());

struct JitOptions {
  std::string function = "main"; ///< The entry. Not for a callable.
  /// Default: the source's, over all devices; of a callable the mesh that its arguments are on.
  std::optional<Mesh> mesh = {};
  std::vector<std::pair<std::string, std::string>> constants = {}; ///< Values of the source's consts.
  std::string file_name = "<jit>";                                 ///< In messages.
  /// `cpu` (this host), `cpu:<LLVM's name of a CPU>`, `cuda` (this machine's GPU), or `cuda:<architecture>` as
  /// cuda:sm_90. A call needs devices of that kind (InitializeOptions::platform); lower() shows code for any.
  std::string target = "cpu";
  /// As JAX's `jax_debug_nans`: a call whose results (or printed values) hold a NaN throws a NanError that names the
  /// step that made it, on all processes of the mesh alike; the next call works. Such a call waits for its results.
  bool check_nans = false;
  /// Numbers of arguments that a call takes for itself, as JAX's: of a callable those of its arguments (all arrays of a
  /// tree), of a source those of parameters(). Such an array is deleted by the call, and using it is an error. Where a
  /// result has its type and lies alike, and nothing else shares its memory, the result takes that memory; otherwise
  /// it is given back when the call has read it. In a source the result has to have the parameter's name.
  std::vector<int> donate_argnums = {};
};

/// A program in the language of LANGUAGE.md; compiled at the first call and kept, also for later processes of the user
/// (docs/cache.md). Needs the library with the compiler.
Function jit(std::string source, JitOptions options = {}, std::source_location where = std::source_location::current());

} // namespace spmd
