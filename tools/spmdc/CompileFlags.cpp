//===- CompileFlags.cpp - the options of every command that compiles ------===//

#include "tools/spmdc/CompileFlags.h"

#include "compiler/Importer.h"
#include "compiler/Target.h"
#include "compiler/cache/CompileCache.h"
#include "ir/spmd/DebugTrace.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/jit/LocalGpu.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "tools/spmdc/Command.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/stat.h>
#include <vector>

namespace spmdc {

CLI::Option *CompileFlags::addTo(CLI::App &command, const std::string &fileHelp, Targets targets) {
  CLI::Option *fileOption = command.add_option("FILE", file, fileHelp)->required()->type_name("");
  command.add_option("--mesh", mesh, "Replace the sizes of the program's axes, or give it a mesh: a=4,b=2")
      ->type_name("AXES");
  command.add_option("--set", sets, "Replace a const")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string &text) {
            size_t equals = text.find('=');
            return equals == 0 || equals == std::string::npos ? "'" + text + "' is not NAME=VALUE" : std::string();
          },
          ""));
  command.add_option("--fn", function, "The entry function")->type_name("NAME")->capture_default_str();
  command
      .add_option(
          "--target", target,
          "cpu (this host), cpu:<llvm-cpu>, cuda (this machine's GPU), cuda:sm_90" +
              std::string(targets == Targets::Several
                              ? "; several for one artifact that runs on all of them: cpu,cuda:sm_80,cuda:sm_90a"
                              : ""))
      ->type_name("TARGET")
      ->capture_default_str()
      ->check(CLI::Validator(
          [targets](std::string &text) {
            std::vector<std::string> names = Target::split(text);
            for (auto name = names.begin(); name != names.end(); ++name) {
              if (!Target::parse(*name))
                return "'" + *name + "' is not a target; " + kTargets;
              if (std::find(names.begin(), name, *name) != name)
                return "'" + text + "' names " + *name + " twice";
            }
            if (targets == Targets::One && names.size() > 1)
              return "'" + text + "' are several targets, which `spmdc compile` takes for one artifact; name one here";
            return std::string();
          },
          ""));
  command.add_option("-O", optimizationLevel, "Optimisation level of the kernels")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  command.add_option("--dump-ir", dumpDirectory, "Write the module after every pass into this folder")
      ->type_name("DIR");
  command
      .add_option(
          "--cost-model", costModelFile,
          "Rates of links and devices, for strategies and predictions (JSON; `spmdc devices --measure` writes it)")
      ->type_name("FILE");
  command
      .add_option("--minimize", minimize,
                  "The quantity that partitioning minimizes: the predicted time (default), or the bytes on the wire")
      ->type_name("time|bytes")
      ->check(CLI::IsMember({"time", "bytes"}));
  command
      .add_option(
          "--reduce-precision", reducePrecision,
          "The type in which devices send partial sums of 16-bit floats: f32 (default), or the 16-bit type itself, "
          "which halves the bytes and rounds each partial sum")
      ->type_name("f32|bf16|f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command.add_flag("--allow-tf32", allowTf32,
                   "Let GPUs round the factors of f32 matrix products to TF32 (10 bits of mantissa), which multiplies "
                   "faster; no effect on CPUs");
  command
      .add_option_function<std::vector<std::string>>(
          "--budget",
          [this](const std::vector<std::string> &texts) {
            std::string error, text = llvm::join(texts, ",");
            std::optional<std::vector<BudgetLimit>> limits = parseBudget(text, error);
            if (!limits)
              throw CLI::ValidationError("--budget", error);
            budget = std::move(*limits);
          },
          "Fail if the program exceeds a limit: wire=64MiB,collectives=3,memory=2GiB (wire and memory per device)")
      ->type_name("LIMITS")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--cache-dir", cacheDirectory,
                  "The folder of the compile cache (default: SPMD_CACHE_DIR, else your cache folder)")
      ->type_name("DIR");
  command.add_flag("--no-cache", noCache, "Do not use the compile cache");
  command.add_flag("--time", showTimes, "Print the time of each pass on stderr");
  command.add_flag("--remarks", showRemarks, "Print the decisions of propagation and their reasons on stderr");
  command
      .add_option_function<std::string>(
          "--debug-only",
          [](const std::string &names) {
            if (names == "help") {
              std::cout << DebugTrace::helpText();
              throw CLI::Success();
            }
            if (std::string error = DebugTrace::turnOn(names); !error.empty())
              throw CLI::ValidationError("--debug-only", error);
          },
          "Print on stderr why these passes leave operations as they are; help lists their names")
      ->type_name("NAMES");
  return fileOption;
}

/// The language of a file's begin. Bytes read from a pipe would be lost to readProgram, so a pipe's name decides.
static Language languageOfFile(const std::string &path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown))
    return languageOf(path, "");
  std::ifstream in(path, std::ios::binary);
  std::string begin(size_t(1) << 20, '\0'); // Every export has an operation or attribute of its dialects by then.
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return languageOf(path, begin);
}

bool CompileFlags::checkSource(std::ostream &messages) const {
  const CompileFlags defaults;
  Language language = languageOfFile(file);
  bool isIr = language == Language::Ir, isExported = language == Language::Jax;
  bool isArtifact = language == Language::Array && isArtifactFile(file);
  const char *ofSource = !mesh.empty() && !isExported                   ? meshOption.c_str()
                         : !sets.empty()                                ? "--set"
                         : function != defaults.function && !isExported ? "--fn"
                                                                        : nullptr;
  const char *ofCompiling = optimizationLevel != defaults.optimizationLevel ? "-O"
                            : target != defaults.target                     ? "--target"
                            : allowTf32                                     ? "--allow-tf32"
                                                                            : nullptr;
  if ((isIr || isExported || isArtifact) && ofSource)
    messages << "spmdc: error: " << ofSource << " is for the source of a program (.spmd); '" << file << "' is "
             << (isExported ? "exported from JAX"
                 : isIr     ? "IR"
                            : "an artifact, compiled already")
             << "\n";
  else if (isArtifact && ofCompiling)
    messages << "spmdc: error: " << ofCompiling << " is for a program; '" << file
             << "' is an artifact, compiled already\n";
  else
    return true;
  return false;
}

bool CompileFlags::showsPasses() const {
  return showTimes || showRemarks || !dumpDirectory.empty() || DebugTrace::isAnyOn();
}

std::optional<std::vector<std::string>> CompileFlags::getTargets(std::ostream &messages) const {
  std::vector<std::string> targets;
  for (const std::string &name : Target::split(target)) {
    std::string known;
    try {
      known = nameLocalGpu(name);
    } catch (const spmd::Error &error) {
      messages << "spmdc: error: --target: " << error.what() << "\n";
      return std::nullopt;
    }
    targets.push_back(std::move(known));
  }
  return targets;
}

std::optional<CompileOptions> CompileFlags::toOptions(std::ostream &messages) const {
  std::optional<std::vector<std::string>> targets = checkSource(messages) ? getTargets(messages) : std::nullopt;
  return targets ? toOptionsFor(targets->front(), messages) : std::nullopt;
}

std::optional<CompileOptions> CompileFlags::toOptionsFor(const std::string &one, std::ostream &messages) const {
  CompileOptions options;
  std::optional<CostModel> model = checkSource(messages) ? readCostModel(messages) : std::nullopt;
  if (!model)
    return std::nullopt;
  options.costModel = std::move(*model);
  if (std::optional<Goal> goal = CostModel::parseGoal(minimize))
    options.costModel.goal = *goal;
  options.reducePrecision = spmd::parseDType(reducePrecision);
  options.allowTf32 = allowTf32;
  for (const std::string &text : sets) {
    size_t equals = text.find('=');
    options.frontend.sets.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  options.budget = budget;
  options.frontend.meshOverride = mesh;
  options.frontend.meshOption = meshOption;
  options.frontend.function = function;
  options.pipeline.dumpDirectory = dumpDirectory;
  options.pipeline.remarks = showRemarks;
  options.target = one;
  if (one.starts_with("cuda"))
    options.cudaToolkit = spmd::Environment::read().cudaToolkit.value_or("");
  options.optimizationLevel = optimizationLevel;
  return options;
}

/// Copies at most maxBytes + 1 bytes: a pipe may be endless, and the extra byte shows that the limit is exceeded.
static void copyText(std::istream &in, size_t maxBytes, std::ostream &text) {
  std::vector<char> buffer(size_t(1) << 16);
  for (size_t left = maxBytes + 1; left > 0 && in;) {
    in.read(buffer.data(), static_cast<std::streamsize>(std::min(left, buffer.size())));
    text.write(buffer.data(), in.gcount());
    left -= static_cast<size_t>(in.gcount());
  }
}

std::optional<std::string> readFile(const std::string &path, size_t maxBytes, std::ostream &messages) {
  std::ostringstream text;
  if (path == "-") {
    copyText(std::cin, maxBytes, text);
  } else {
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      messages << "spmdc: error: '" << path << "' is a folder, not a program\n";
      return std::nullopt;
    }
    try {
      text << spmd::readWhole(path, maxBytes);
    } catch (const spmd::Error &error) {
      messages << "spmdc: error: " << error.what() << "\n";
      return std::nullopt;
    }
  }
  if (static_cast<size_t>(text.tellp()) > maxBytes) {
    messages << "spmdc: error: '" << path << "' has more than " << maxBytes
             << " bytes, the limit of a program's size\n";
    return std::nullopt;
  }
  return std::move(text).str();
}

bool isArtifactFile(const std::string &path) {
  if (path.ends_with(".spmdx")) // Even an empty file.
    return true;
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) // Bytes read from a pipe here would be lost to readProgram.
    return false;
  std::ifstream in(path, std::ios::binary);
  char bytes[8] = {};
  in.read(bytes, sizeof bytes);
  return spmd::looksLikeArtifact({bytes, static_cast<size_t>(in.gcount())});
}

std::optional<Compiler> CompileFlags::makeCompiler(std::ostream &messages, std::string *source) const {
  std::optional<std::string> text = checkSource(messages) ? readProgram(messages) : std::nullopt;
  if (!text)
    return std::nullopt;
  if (source)
    *source = *text;
  return makeCompilerOf(std::move(*text), messages);
}

std::optional<Compiler> CompileFlags::makeCompilerOf(std::string text, std::ostream &messages) const {
  std::optional<CompileOptions> options = toOptions(messages);
  if (!options)
    return std::nullopt;
  options->cache = openCache();
  return Compiler(file, std::move(text), std::move(*options));
}

std::shared_ptr<CompileCache> CompileFlags::openCache() const {
  if (noCache || showsPasses())
    return nullptr;
  return CompileCache::open(cacheDirectory, spmd::Environment::read(/*isAlone=*/true));
}

std::optional<std::string> CompileFlags::readProgram(std::ostream &messages) const {
  std::optional<std::string> text = readFile(file, Source::maxBytes, messages);
  std::string isNone = "spmdc: error: '" + file + "' is not a program (.spmd, .mlir) but ";
  if (text && spmd::looksLikeArtifact(*text)) {
    messages << isNone
             << "an artifact, compiled already: `spmdc run` runs it, `spmdc inspect` shows it; this command takes the "
                "program\n";
    return std::nullopt;
  }
  if (std::string cause; text && !convertToText(*text, cause)) {
    messages << "spmdc: error: '" << file << "' " << cause << "\n";
    return std::nullopt;
  }
  // A null byte near the beginning marks binary data, as for git and grep.
  constexpr size_t kLookedAt = 8000;
  if (text && std::string_view(*text).substr(0, kLookedAt).find('\0') != std::string_view::npos) {
    messages << isNone << "binary data; arrays are given by `spmdc run PROGRAM --input NAME=FILE`\n";
    return std::nullopt;
  }
  return text;
}

std::optional<CostModel> CompileFlags::readCostModel(std::ostream &messages) const {
  bool isForGpus = llvm::any_of(Target::split(target), [](const std::string &one) { return one.starts_with("cuda"); });
  CostModel standard = isForGpus ? CostModel::ofGpu() : CostModel();
  if (costModelFile.empty())
    return standard;
  try {
    std::string mistake;
    std::optional<CostModel> model =
        CostModel::parse(spmd::readWhole(costModelFile, CostModel::kMaxBytes), costModelFile, mistake, standard);
    if (!model)
      messages << mistake << "\n";
    return model;
  } catch (const spmd::Error &error) {
    messages << "spmdc: error: --cost-model: " << error.what() << "\n";
    return std::nullopt;
  }
}

int CompileFlags::finish(const Compiler &compiler, bool isDone) {
  std::cerr << compiler.errors();
  if (compiler.hasOptionErrors())
    return kUsage;
  return isDone && compiler.errors().empty() ? kOk : kFailed;
}

void CompileFlags::printExtras(const Compiler &compiler, std::ostream &messages) const {
  messages << compiler.warnings();
  if (const CompileCache *cache = compiler.cache(); cache && !cache->problem().empty())
    messages << "spmdc: warning: " << cache->problem() << "\n";
  if (showRemarks)
    messages << compiler.remarks();
  if (!showTimes)
    return;
  auto printTime = [&](double milliseconds, const std::string &what) {
    char number[32];
    std::snprintf(number, sizeof number, "%10.3f", milliseconds);
    messages << number << " ms  " << what << "\n";
  };
  double total = 0;
  for (const PassTime &time : compiler.times()) {
    printTime(time.milliseconds, time.pass);
    total += time.milliseconds;
  }
  printTime(total, "total");
}

} // namespace spmdc
