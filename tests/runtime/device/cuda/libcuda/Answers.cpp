//===- Answers.cpp - libcuda without GPUs: what the cards are -------------===//
//
// SPMD_TEST_GPUS=80,90 lists the compute capabilities of the cards. They run nothing.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/DriverTypes.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace spmd::cuda;

namespace {

std::vector<int> capabilities() {
  const char *list = std::getenv("SPMD_TEST_GPUS");
  std::istringstream in(list ? list : "");
  std::vector<int> result;
  for (std::string word; std::getline(in, word, ',');)
    result.push_back(std::atoi(word.c_str()));
  return result;
}

} // namespace

extern "C" {

Result cuInit(unsigned) { return kSuccess; }

Result cuDriverGetVersion(int *version) {
  *version = 13000;
  return kSuccess;
}

Result cuDeviceGetCount(int *count) {
  *count = static_cast<int>(capabilities().size());
  return kSuccess;
}

Result cuDeviceGet(GpuHandle *gpu, int ordinal) {
  *gpu = ordinal;
  return kSuccess;
}

Result cuDeviceGetAttribute(int *value, int attribute, GpuHandle gpu) {
  int capability = capabilities().at(static_cast<size_t>(gpu));
  *value = attribute == kCapabilityMajor ? capability / 10 : attribute == kCapabilityMinor ? capability % 10 : 1;
  return kSuccess;
}
}
