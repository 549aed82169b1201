//===- UnlinkedTargets.cpp - empty stubs for unused parts of lld ----------===//
//
// lld's driver initialises every target that Debian's LLVM was built with, for link-time optimisation, and its LTO
// names the Polly plugin. We link x86 and NVPTX alone, and never pass bitcode to lld: the other initialisers are empty
// stubs.
//
//===----------------------------------------------------------------------===//

#include "llvm/Passes/PassPlugin.h"

#define SPMDC_UNLINKED_TARGET(NAME)                                                                                    \
  void LLVMInitialize##NAME##TargetInfo() {}                                                                           \
  void LLVMInitialize##NAME##Target() {}                                                                               \
  void LLVMInitialize##NAME##TargetMC() {}                                                                             \
  void LLVMInitialize##NAME##AsmPrinter() {}                                                                           \
  void LLVMInitialize##NAME##AsmParser() {}

extern "C" {
SPMDC_UNLINKED_TARGET(AArch64)
SPMDC_UNLINKED_TARGET(AMDGPU)
SPMDC_UNLINKED_TARGET(ARM)
SPMDC_UNLINKED_TARGET(AVR)
SPMDC_UNLINKED_TARGET(BPF)
SPMDC_UNLINKED_TARGET(Hexagon)
SPMDC_UNLINKED_TARGET(Lanai)
SPMDC_UNLINKED_TARGET(LoongArch)
SPMDC_UNLINKED_TARGET(M68k)
SPMDC_UNLINKED_TARGET(MSP430)
SPMDC_UNLINKED_TARGET(Mips)
SPMDC_UNLINKED_TARGET(PowerPC)
SPMDC_UNLINKED_TARGET(RISCV)
SPMDC_UNLINKED_TARGET(Sparc)
SPMDC_UNLINKED_TARGET(SystemZ)
SPMDC_UNLINKED_TARGET(VE)
SPMDC_UNLINKED_TARGET(WebAssembly)
SPMDC_UNLINKED_TARGET(XCore)
SPMDC_UNLINKED_TARGET(Xtensa)
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "none", [](llvm::PassBuilder &) {}};
}
