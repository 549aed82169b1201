//===- FakeCodeHelper.cpp - PTX that runs in the emulator -----------------===//

#include "tests/runtime/exec/cuda/FakeCodeHelper.h"

#include "runtime/device/cuda/LibraryKernels.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <sstream>

namespace spmd::cuda {
namespace {

/// Returns the LLVM IR of the runtime's own kernels; empty for other PTX.
std::string findLibraryText(const std::string &ptx) {
  std::istringstream names(SPMDC_GPU_MODULES);
  for (std::string name; std::getline(names, name, ',');)
    if (findLibraryPtx(name) == ptx) {
      llvm::LLVMContext context;
      llvm::SMDiagnostic diagnostic;
      auto module = llvm::parseIRFile(SPMDC_GPU_LLVM_FOLDER "/" + name + ".bc", diagnostic, context);
      if (!module)
        return "";
      std::string text;
      llvm::raw_string_ostream(text) << *module;
      return text;
    }
  return "";
}

} // namespace

std::shared_ptr<spmdc::GpuEmulator> FakeCode::load(const std::string &ptx) const {
  static std::map<std::string, std::shared_ptr<spmdc::GpuEmulator>> library;
  if (auto known = library.find(ptx); known != library.end())
    return known->second;
  auto registered = texts.find(ptx);
  std::string text = registered != texts.end() ? registered->second : findLibraryText(ptx);
  if (text.empty())
    return nullptr;
  std::string error;
  auto made = std::make_shared<spmdc::GpuEmulator>(text, error);
  if (!error.empty()) {
    ADD_FAILURE() << error;
    return nullptr;
  }
  if (registered == texts.end())
    library[ptx] = made;
  return made;
}

} // namespace spmd::cuda
