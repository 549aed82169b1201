//===- CompileFlags.h - the options of every command that compiles -*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// `--mesh --set --fn --target -O --dump-ir --time --cost-model --minimize --reduce-precision --budget --remarks
/// --cache-dir --no-cache`,/// filled by the command line.
struct CompileFlags {
  std::string file;
  std::vector<std::string> sets;
  std::vector<BudgetLimit> budget;
  /// What errors in `mesh` name as its place.
  std::string meshOption = "--mesh";
  std::string mesh, function = "main", target = "cpu", dumpDirectory, costModelFile, minimize, reducePrecision;
  unsigned optimizationLevel = 3;
  bool showTimes = false, showRemarks = false, noCache = false;
  std::optional<std::string> cacheDirectory;

  /// Adds the options; `fileHelp` describes the positional FILE, whose option is returned.
  CLI::Option *addTo(CLI::App &command, const std::string &fileHelp);
  /// Whether FILE is a program's source where `--mesh`, `--set` or `--fn` is given, which change how it is read, and a
  /// program where `-O` or `--target` is. Prints why not.
  bool checkSource(std::ostream &messages = std::cerr) const;
  /// Opens FILE and makes its compiler; prints why not and returns nothing when it, or the cost model, cannot be read.
  /// `source`: takes the text of FILE.
  std::optional<Compiler> makeCompiler(std::ostream &messages = std::cerr, std::string *source = nullptr) const;
  /// The text of FILE. Prints why not and returns nothing when it cannot be read, or is no text.
  std::optional<std::string> readProgram(std::ostream &messages = std::cerr) const;
  /// With the model of `--cost-model`, and what `--minimize` says in its place. Prints what is wrong with that file, or
  /// what FILE does not take, and returns nothing on a mistake.
  std::optional<CompileOptions> toOptions(std::ostream &messages = std::cerr) const;
  /// Where compiled programs are kept; null: nowhere, as where the passes have to run to show what was asked for.
  std::shared_ptr<CompileCache> openCache() const;
  /// Warnings, also of the cache, and what a person asked to see beside the result: remarks and times, on stderr.
  void printExtras(const Compiler &compiler, std::ostream &messages = std::cerr) const;
  /// Prints the errors. The exit status of a command that did, or did not do, what it was to do with the program.
  static int finish(const Compiler &compiler, bool isDone);

private:
  std::optional<CostModel> readCostModel(std::ostream &messages) const;
};

/// The bytes of a file, `-` being standard input. Prints why not and returns nothing on failure.
std::optional<std::string> readFile(const std::string &path, size_t maxBytes, std::ostream &messages = std::cerr);

/// Whether a file begins like an artifact, or has the name of one. A pipe is not looked into: it is a program's text.
bool isArtifactFile(const std::string &path);

} // namespace spmdc
