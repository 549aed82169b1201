//===- CpuFeatures.cpp - can this CPU run the code? -----------------------===//

#include "runtime/exec/cpu/CpuFeatures.h"
#include "runtime/support/Error.h"
#include "runtime/support/MatrixUnit.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

namespace spmd {
namespace {

/// LLVM's name without punctuation -> the kernel's, if they differ by more than that.
constexpr std::pair<const char *, const char *> aliases[] = {
    {"sse3", "pni"},     {"bmi", "bmi1"},    {"lzcnt", "abm"}, {"pclmul", "pclmulqdq"}, {"sha", "shani"},
    {"rdrnd", "rdrand"}, {"crc32", "sse42"}, {"fma4", "fma4"}, {"xop", "xop"},          {"prfchw", "3dnowprefetch"},
    {"cx8", "cx8"},      {"sahf", "lahflm"},
};

/// Features whose instructions a compiler may emit for ordinary code. Any other name that starts with avx or amx counts
/// as well: it is newer than this list.
constexpr const char *emitted[] = {"sse",  "sse2", "sse3",   "ssse3", "sse41",      "sse42", "sse4a", "popcnt", "fma",
                                   "fma4", "f16c", "bmi",    "bmi2",  "lzcnt",      "movbe", "adx",   "tbm",    "xop",
                                   "aes",  "vaes", "pclmul", "gfni",  "vpclmulqdq", "sha",   "cx16",  "crc32",  "sahf"};

std::string normalize(const std::string &name) {
  std::string text;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The flags that the kernel reports for the first processor; they exclude features that the kernel did not enable.
std::set<std::string> machineFlags() {
  std::ifstream file("/proc/cpuinfo");
  if (!file)
    throw Error("the features of this CPU are unknown: /proc/cpuinfo: " + systemErrorText(errno));
  std::string line;
  std::set<std::string> flags;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      flags.insert(normalize(word));
    break;
  }
  return flags;
}

} // namespace

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features) {
  std::set<std::string> flags = machineFlags();
  std::vector<std::string> missing;
  for (const std::string &feature : features) {
    if (!feature.empty() && feature[0] == '-')
      continue;
    std::string name = normalize(feature);
    bool isNewer = name.rfind("avx", 0) == 0 || name.rfind("amx", 0) == 0;
    if (!isNewer && std::find(std::begin(emitted), std::end(emitted), name) == std::end(emitted))
      continue;
    for (auto [llvm, kernel] : aliases)
      if (name == llvm) {
        name = kernel;
        break;
      }
    bool isOfMatrixUnit = name.rfind("amx", 0) == 0;
    if (!flags.count(name) || (isOfMatrixUnit && !canUseMatrixUnit()))
      missing.push_back(feature[0] == '+' ? feature.substr(1) : feature);
  }
  return missing;
}

void checkTarget(const TargetInfo &target) {
  if (target.backend != "cpu")
    throw Error("the artifact is compiled for " + target.backend + (target.cpu.empty() ? "" : ":" + target.cpu) +
                ", and this build runs CPU programs only; compile it with --target=cpu");
  std::vector<std::string> missing = missingCpuFeatures(target.features);
  if (missing.empty())
    return;
  std::string list;
  for (const std::string &feature : missing)
    list += (list.empty() ? "" : ", ") + feature;
  throw Error("the artifact is compiled for " + (target.cpu.empty() ? std::string("another CPU") : target.cpu) +
              ", but this CPU lacks " + list + "; compile it on this machine, or with --target=cpu:<its name>");
}

} // namespace spmd
