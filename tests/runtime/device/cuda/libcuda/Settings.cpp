//===- Settings.cpp - the GPUs of a process, for tests --------------------===//

#include "tests/runtime/device/cuda/libcuda/Settings.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace spmd::cuda {
namespace {

std::optional<std::string> readVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);)
    words.push_back(word);
  return words;
}

[[noreturn]] void refuse(const char *variable, const std::string &text, const char *what) {
  std::fprintf(stderr, "the libcuda of the tests: %s: '%s' is not %s\n", variable, text.c_str(), what);
  std::_Exit(1);
}

int64_t toNumber(const char *variable, const std::string &text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    refuse(variable, text, "a number");
  return number;
}

int64_t readNumber(const char *variable, int64_t standard) {
  std::optional<std::string> text = readVariable(variable);
  return text ? toNumber(variable, *text) : standard;
}

} // namespace

int readNcclVersion() { return static_cast<int>(readNumber("SPMD_TEST_NCCL", 22700)); }

FakeDriverOptions readGpuSettings() {
  constexpr const char *kGpus = "SPMD_TEST_GPUS", *kVisible = "CUDA_VISIBLE_DEVICES";
  std::vector<int> machine;
  for (const std::string &word : split(readVariable(kGpus).value_or(""), ','))
    machine.push_back(static_cast<int>(toNumber(kGpus, word)));
  FakeDriverOptions options;
  if (std::optional<std::string> visible = readVariable(kVisible)) {
    // A card that does not exist hides itself and all behind it.
    for (const std::string &word : split(*visible, ',')) {
      int64_t card = word == "-1" ? INT64_MAX : toNumber(kVisible, word);
      if (card >= static_cast<int64_t>(machine.size()))
        break;
      options.cards.push_back(static_cast<int>(card));
    }
  } else {
    for (size_t i = 0; i < machine.size(); ++i)
      options.cards.push_back(static_cast<int>(i));
  }
  options.gpus = static_cast<int>(options.cards.size());
  for (int card : options.cards)
    options.capabilities.push_back(machine[static_cast<size_t>(card)]);
  options.seed = static_cast<uint64_t>(readNumber("SPMD_TEST_GPU_SEED", 1));
  options.bytesPerGpu = readNumber("SPMD_TEST_GPU_MEMORY", options.bytesPerGpu);
  options.driverVersion = static_cast<int>(readNumber("SPMD_TEST_GPU_DRIVER", options.driverVersion));
  // Processes that are told to be on different machines have different cards.
  options.machine = readVariable("SPMD_HOST_ID").value_or("");
  return options;
}

void prepareFaults(FakeDriver &driver) {
  constexpr const char *kFaults = "SPMD_TEST_GPU_FAULTS";
  for (const std::string &fault : split(readVariable(kFaults).value_or(""), ',')) {
    std::vector<std::string> words = split(fault, ':');
    words.resize(3);
    int64_t first = toNumber(kFaults, words[1]), second = toNumber(kFaults, words[2]);
    if ((words[0] == "kernel" || words[0] == "hang") && first >= driver.countGpus())
      refuse(kFaults, fault, "for a GPU of this process");
    if (words[0] == "kernel")
      driver.failKernel(static_cast<int>(first), second);
    else if (words[0] == "hang")
      driver.hangKernel(static_cast<int>(first), second);
    else
      driver.failCall(words[0], first, static_cast<Result>(second));
  }
}

void prepareFaults(FakeCupti &cupti) {
  constexpr const char *kCupti = "SPMD_TEST_CUPTI";
  std::vector<std::string> words = split(readVariable(kCupti).value_or(""), ':');
  if (words.empty())
    return;
  words.resize(2);
  int64_t number = toNumber(kCupti, words[1]);
  if (words[0] == "drop")
    cupti.fail(FakeCupti::Fault::Dropped, number);
  else if (words[0] == "refuse")
    cupti.refuse(static_cast<int>(number));
  else
    refuse(kCupti, words[0], "a fault");
}

} // namespace spmd::cuda
