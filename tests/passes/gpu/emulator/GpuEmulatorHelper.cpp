//===- GpuEmulatorHelper.cpp - runs kernels for a GPU on the CPU ----------===//

#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include "tests/passes/gpu/emulator/GpuClusterHelper.h"
#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <map>

namespace spmdc {

using Kernel = void (*)(void **);

struct GpuEmulator::State {
  /// Returns an error about the text, or an empty string.
  std::string load(const std::string &ptx);
  std::string translate(const PtxModule &source, llvm::Module &module);
  std::string compile(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context);

  struct KernelInfo {
    int64_t arguments = 0;
    int32_t clusterBlocks = 1, mostThreads = 0;
    uint64_t sharedBytes = 0;
    bool hasLaunchShared = false;
    Kernel entry = nullptr; ///< Once it was launched.
  };
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, KernelInfo> kernels;
  GpuMemory memory;
  std::map<std::pair<int32_t, int32_t>, std::unique_ptr<GpuCluster>> clusters; ///< By blocks and threads of a block.
};

std::string GpuEmulator::State::translate(const PtxModule &source, llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  PtxModuleCode code{module, memory, {}, {}, {}};
  for (const PtxVariable &variable : source.variables) {
    code.variables[variable.name] = variable;
    if (variable.space != "shared")
      code.addresses[variable.name] = memory.addVariable(variable.bytes, variable.alignment, variable.content);
  }
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *none = llvm::Type::getVoidTy(context);
  for (const PtxFunction &function : source.functions) {
    // A kernel takes the array of its arguments, a function one pointer for each result and argument.
    size_t count = function.isEntry ? 1 : function.results.size() + function.parameters.size();
    auto *type = llvm::FunctionType::get(none, std::vector<llvm::Type *>(count, pointer), false);
    auto linkage = function.isEntry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage;
    code.functions[function.name] = llvm::Function::Create(type, linkage, "ptx." + function.name, module);
  }
  for (const PtxFunction &function : source.functions) {
    PtxCode body(code, function, code.functions[function.name]);
    if (std::string problem = body.translate(); !problem.empty())
      return problem;
    if (body.sharedBytes > GpuMemory::kMostDeclared)
      return function.name + " declares " + std::to_string(body.sharedBytes) + " bytes of shared memory";
    if (function.isEntry)
      kernels[function.name] = {static_cast<int64_t>(function.parameters.size()), function.clusterBlocks,
                                function.mostThreads, body.sharedBytes, body.hasLaunchShared};
  }
  return "";
}

/// Makes values of registers. A kernel runs few times, so translating it is most of the time: instcombine or an
/// optimising code generator (6 times the time of this one) take longer than they save, also in the longest tests.
static void simplify(llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

std::string GpuEmulator::State::compile(std::unique_ptr<llvm::Module> module,
                                        std::unique_ptr<llvm::LLVMContext> context) {
  auto fail = [](llvm::Error problem) { return llvm::toString(std::move(problem)); };
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return fail(machine.takeError());
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto created = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!created)
    return fail(created.takeError());
  jit = std::move(*created);
  module->setTargetTriple(jit->getTargetTriple().str());
  module->setDataLayout(jit->getDataLayout());
  simplify(*module);
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(process.takeError());
  jit->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error problem = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return fail(std::move(problem));
  return "";
}

std::string GpuEmulator::State::load(const std::string &ptx) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string problem;
  PtxModule source = readPtx(ptx, problem);
  if (!problem.empty())
    return problem;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("kernels", *context);
  if (problem = translate(source, *module); !problem.empty())
    return problem;
  if (llvm::raw_string_ostream text(problem); llvm::verifyModule(*module, &text))
    return "the translation to LLVM IR: " + problem;
  return compile(std::move(module), std::move(context));
}

GpuEmulator::GpuEmulator(const std::string &ptx, std::string &error) : state(std::make_unique<State>()) {
  error = state->load(ptx);
}

GpuEmulator::~GpuEmulator() = default;

int64_t GpuEmulator::countSharedBytes(const std::string &symbol) const {
  auto known = state->kernels.find(symbol);
  return known == state->kernels.end() ? 0 : static_cast<int64_t>(known->second.sharedBytes);
}

int64_t GpuEmulator::countArguments(const std::string &symbol) const {
  auto known = state->kernels.find(symbol);
  return known == state->kernels.end() ? -1 : known->second.arguments;
}

std::string GpuEmulator::launch(const std::string &symbol, const GpuLaunch &launch) {
  auto known = state->kernels.find(symbol);
  if (known == state->kernels.end())
    return symbol + ": no such kernel";
  State::KernelInfo &kernel = known->second;
  if (static_cast<int64_t>(launch.arguments.size()) != kernel.arguments)
    return symbol + ": " + std::to_string(launch.arguments.size()) + " arguments for " +
           std::to_string(kernel.arguments) + " parameters";
  if (!kernel.entry) {
    auto address = state->jit->lookup("ptx." + symbol);
    if (!address)
      return llvm::toString(address.takeError());
    kernel.entry = address->toPtr<Kernel>();
  }
  if (launch.blockThreads > kernel.mostThreads)
    return symbol + ": blocks of " + std::to_string(launch.blockThreads) + " threads, of at most " +
           std::to_string(kernel.mostThreads);
  int32_t blocks = kernel.clusterBlocks;
  if (launch.gridBlocks % blocks)
    return symbol + ": a grid of " + std::to_string(launch.gridBlocks) + " blocks in clusters of " +
           std::to_string(blocks);
  if (blocks == 1)
    blocks = launch.residentBlocks;
  uint64_t windowBytes = kernel.sharedBytes + (kernel.hasLaunchShared ? launch.sharedBytes : 0);
  if (windowBytes > GpuMemory::kMostOfBlock)
    return symbol + ": " + std::to_string(windowBytes) + " bytes of shared memory";
  std::unique_ptr<GpuCluster> &cluster = state->clusters[{blocks, launch.blockThreads}];
  if (!cluster)
    cluster = std::make_unique<GpuCluster>(blocks, launch.blockThreads, state->memory);
  // Launches follow each other, so each one has races of its own.
  state->memory.races.reset();
  if (launch.findsRaces && GpuRaces::canCount(launch.gridBlocks, launch.blockThreads))
    state->memory.races = std::make_unique<GpuRaces>(state->memory, launch.blockThreads, blocks);
  cluster->start(launch.gridBlocks, windowBytes);
  std::vector<GpuBuffer> buffers = launch.buffers;
  if (!buffers.empty())
    for (const GpuBuffer &shared : cluster->getBuffers())
      buffers.push_back(shared);
  state->memory.setBuffers(buffers);
  state->memory.conditionSetter = launch.setCondition;
  std::vector<void *> arguments = launch.arguments;
  ThreadOrder order = launch.order;
  for (int64_t number : order.permute((launch.gridBlocks + blocks - 1) / blocks))
    if (std::string problem = cluster->run(kernel.entry, arguments.data(), number * blocks, order); !problem.empty())
      return symbol + ": " + problem;
  return "";
}

} // namespace spmdc
