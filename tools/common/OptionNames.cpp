//===- OptionNames.cpp - suggestions for unknown options ------------------===//

#include "tools/common/OptionNames.h"

#include "runtime/support/Spelling.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

namespace spmdc {
namespace {

/// Pairs of an option's name in other programs, without dashes, and its name here. If a name has several pairs, each
/// command has at most one of the options.
struct ForeignName {
  std::string_view foreign, own;
};
constexpr ForeignName kForeignNames[] = {
    // mpirun, srun, torchrun, PyTorch and JAX.
    {"np", "--num-processes"},
    {"nproc", "--num-processes"},
    {"nprocs", "--num-processes"},
    {"num-procs", "--num-processes"},
    {"nproc-per-node", "--num-processes"},
    {"ntasks", "--num-processes"},
    {"processes", "--num-processes"},
    {"process-count", "--num-processes"},
    {"world-size", "--num-processes"},
    {"workers", "--num-processes"},
    {"rank", "--process-id"},
    {"node-rank", "--process-id"},
    {"process-index", "--process-id"},
    {"address", "--coordinator-address"},
    {"coordinator", "--coordinator-address"},
    {"master-addr", "--coordinator-address"},
    {"master-port", "--coordinator-address"},
    {"rdzv-endpoint", "--coordinator-address"},
    {"server", "--coordinator-address"},
    {"rdzv-id", "--job-id"},
    {"devices", "--devices-per-process"},
    {"device-count", "--devices-per-process"},
    {"num-devices", "--devices-per-process"},
    {"gpus-per-task", "--devices-per-process"},
    {"timeout", "--initialization-timeout"},
    {"max-restarts", "--restarts"},
    {"token", "--token-file"},
    // Training scripts.
    {"iterations", "--steps"},
    {"iters", "--steps"},
    {"max-steps", "--steps"},
    {"num-steps", "--steps"},
    {"ckpt-dir", "--checkpoint-dir"},
    {"checkpoint-path", "--checkpoint-dir"},
    {"save-dir", "--checkpoint-dir"},
    {"save-every", "--checkpoint-every"},
    {"save-interval", "--checkpoint-every"},
    {"save-total-limit", "--checkpoint-keep"},
    {"continue", "--resume"},
    {"restore", "--resume"},
    {"resume-from-checkpoint", "--resume"},
    {"debug-nans", "--check-nans"},
    {"nans", "--check-nans"},
    {"benchmark", "--repeat"},
    {"runs", "--repeat"},
    {"trace", "--profile"},
    {"log", "--log-format"},
    // Compilers.
    {"arg", "--input"},
    {"args", "--input"},
    {"in", "--input"},
    {"out", "--output"},
    {"out", "-o"},
    {"output", "-o"},
    {"define", "--set"},
    {"d", "--set"},
    {"const", "--set"},
    {"param", "--set"},
    {"entry", "--fn"},
    {"function", "--fn"},
    {"main", "--fn"},
    {"arch", "--target"},
    {"march", "--target"},
    {"mcpu", "--target"},
    {"opt-level", "-O"},
    {"mesh-shape", "--mesh"},
    {"print-ir-after-all", "--dump-ir"},
    {"mlir-print-ir-after-all", "--dump-ir"},
    {"xla-dump-to", "--dump-ir"},
    {"emit-llvm", "--emit"},
    {"timing", "--time"},
    {"v", "--verbose"},
    {"h", "--help"},
};

/// Normalizes an option: without leading dashes and trailing number, in lower case, with dashes between words.
/// `--Num_Processes` becomes `num-processes`, `-np4` becomes `np`.
std::string plainName(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string name(option.substr(0, option.find('=')));
  while (!name.empty() && name.back() >= '0' && name.back() <= '9')
    name.pop_back();
  for (char &c : name)
    c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

/// The names of the options that the help shows, with dashes.
std::vector<std::string> shownNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_group().empty())
      continue;
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

bool contains(const std::vector<std::string> &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The option of `app` that is closest to the unknown `option`; empty if none is close.
std::string meantOption(const CLI::App &app, std::string_view option) {
  std::vector<std::string> names = shownNames(app);
  std::string plain = plainName(option);
  if (contains(names, "--" + plain)) // `-mesh`, `--num_processes`.
    return "--" + plain;
  if (contains(names, "-" + plain)) // `--n`.
    return "-" + plain;
  for (const ForeignName &known : kForeignNames)
    if (known.foreign == plain && contains(names, known.own))
      return std::string(known.own);
  std::vector<std::string_view> candidates;
  for (const std::string &name : names)
    if (name.starts_with("--"))
      candidates.push_back(std::string_view(name).substr(2));
  std::string_view nearest = spmd::nearestSpelling(plain, candidates);
  return nearest.empty() ? "" : "--" + std::string(nearest);
}

} // namespace

bool isForeignOption(std::string_view option) {
  std::string plain = plainName(option);
  return std::any_of(std::begin(kForeignNames), std::end(kForeignNames),
                     [&](const ForeignName &known) { return known.foreign == plain; });
}

std::string optionHint(const CLI::App &app, std::string_view option) {
  const CLI::App *root = app.get_parent() ? app.get_parent() : &app;
  std::string others, exact(option.substr(0, option.find('=')));
  for (const CLI::App *command : root->get_subcommands(nullptr))
    if (command != &app && contains(shownNames(*command), exact))
      others += (others.empty() ? "`" : ", `") + root->get_name() + " " + command->get_name() + "`";
  if (!app.get_parent() && !others.empty())
    return "; it is an option of " + others + " and goes after the command";
  if (std::string meant = meantOption(app, option); !meant.empty())
    return "; did you mean " + meant + "?";
  return others.empty() ? "" : "; it is an option of " + others;
}

std::string commandHint(const CLI::App &app, std::string_view command) {
  std::vector<std::string_view> names;
  for (const CLI::App *known : app.get_subcommands(nullptr))
    names.push_back(known->get_name());
  std::string_view nearest = spmd::nearestSpelling(command, names);
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

} // namespace spmdc
