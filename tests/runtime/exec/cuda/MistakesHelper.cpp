//===- MistakesHelper.cpp - mistakes fail the running test ----------------===//

#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <gtest/gtest.h>

void spmd::cuda::reportMistake(const std::string &text) { ADD_FAILURE() << text; }
