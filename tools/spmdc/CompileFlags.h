//===- CompileFlags.h - the options of every command that compiles -*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The options `--mesh --set --fn --target -O --dump-ir --time --cost-model --minimize --reduce-precision --allow-tf32
/// --budget --remarks --debug-only --cache-dir --no-cache`. Parsing the command line fills the members.
struct CompileFlags {
  std::string file;
  std::vector<std::string> sets;
  std::vector<BudgetLimit> budget;
  /// The option that errors in `mesh` name.
  std::string meshOption = "--mesh";
  std::string mesh, function = "main", target = "cpu", dumpDirectory, costModelFile, minimize, reducePrecision;
  unsigned optimizationLevel = 3;
  bool showTimes = false, showRemarks = false, noCache = false, allowTf32 = false;
  std::optional<std::string> cacheDirectory;

  enum class Targets { One, Several };
  /// Adds the options, and the positional FILE with the description `fileHelp`. Returns the option of FILE.
  CLI::Option *addTo(CLI::App &command, const std::string &fileHelp, Targets targets = Targets::One);
  /// Checks that FILE accepts the given options: `--mesh`, `--set` and `--fn` need a program's source, `-O`,
  /// `--target` and `--allow-tf32` a program or IR. Prints an error and returns false otherwise.
  bool checkSource(std::ostream &messages = std::cerr) const;
  /// Reads FILE and creates its compiler. If FILE or the cost model cannot be read, prints an error and returns
  /// nullopt. `source`, if not null, receives the text of FILE.
  std::optional<Compiler> makeCompiler(std::ostream &messages = std::cerr, std::string *source = nullptr) const;
  /// Creates the compiler of a text of FILE that was read before. Prints an error and returns nullopt on failure.
  std::optional<Compiler> makeCompilerOf(std::string text, std::ostream &messages) const;
  /// The text of FILE. If it cannot be read, or is not text, prints an error and returns nullopt.
  std::optional<std::string> readProgram(std::ostream &messages = std::cerr) const;
  /// The options of the compiler, with the model of `--cost-model` and the goal of `--minimize`. On a mistake in that
  /// file, or an option that FILE does not accept, prints an error and returns nullopt. There must be one target.
  std::optional<CompileOptions> toOptions(std::ostream &messages = std::cerr) const;
  /// The same for one of `getTargets`. All targets have the same cost model, that of GPUs if one of them is a GPU, so
  /// that they are partitioned alike.
  std::optional<CompileOptions> toOptionsFor(const std::string &one, std::ostream &messages = std::cerr) const;
  /// The targets of `--target`, in their order; `cuda` is replaced by the architecture of this machine's GPU. Prints an
  /// error and returns nullopt if there is no GPU.
  std::optional<std::vector<std::string>> getTargets(std::ostream &messages = std::cerr) const;
  bool hasSeveralTargets() const { return target.find(',') != std::string::npos; }
  /// Whether an option shows the passes: `--dump-ir --time --remarks --debug-only`.
  bool showsPasses() const;
  /// The compile cache. Null without one, and if an option shows output of the passes, which then must run.
  std::shared_ptr<CompileCache> openCache() const;
  /// Prints warnings, those of the cache included, and the output of `--remarks` and `--time`.
  void printExtras(const Compiler &compiler, std::ostream &messages = std::cerr) const;
  /// Prints the errors. Returns the exit status of the command; `isDone`: it did its work on the program.
  static int finish(const Compiler &compiler, bool isDone);

private:
  std::optional<CostModel> readCostModel(std::ostream &messages) const;
};

/// The bytes of a file, or of standard input for `-`. On failure prints an error and returns nullopt.
std::optional<std::string> readFile(const std::string &path, size_t maxBytes, std::ostream &messages = std::cerr);

/// Whether a file begins like an artifact, or has the name of one. False for a pipe, which is not read.
bool isArtifactFile(const std::string &path);

} // namespace spmdc
