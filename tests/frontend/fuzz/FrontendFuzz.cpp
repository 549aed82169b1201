//===- FrontendFuzz.cpp - libFuzzer's entry of the front end --------------===//
//
// Built with the preset `fuzz` (docs/testing.md): build/fuzz/bin/frontend-fuzz tests/frontend/corpus
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/fuzz/AnyText.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Types and attributes stay in their context: a new one now and then bounds memory.
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % 2000 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  std::string problem = spmdc::testing::checkAnyText({reinterpret_cast<const char *>(data), size}, *context);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}
