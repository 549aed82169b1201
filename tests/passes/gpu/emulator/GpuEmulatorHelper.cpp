//===- GpuEmulatorHelper.cpp - runs kernels for a GPU on the CPU ----------===//

#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include "passes/gpu/Passes.h"
#include "tests/passes/gpu/emulator/GpuAssemblyHelper.h"
#include "tests/passes/gpu/emulator/GpuBf16Helper.h"
#include "tests/passes/gpu/emulator/GpuClusterHelper.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace spmdc {
namespace {

constexpr const char *kPrefix = "llvm.nvvm.";
constexpr unsigned kSharedSpace = 3;
/// The size of a launch's shared memory here: more than any GPU gives a block.
constexpr uint64_t kLaunchBytes = 256 * 1024;
/// The array of size 0 that represents it.
constexpr const char *kLaunchShared = "launch_shared";
using ShuffleKind = GpuBlock::ShuffleKind;
using MatrixKind = GpuBlock::MatrixKind;

/// A body for shfl.sync: its result is a value and whether the lane was inside.
void defineShuffle(llvm::Function &intrinsic, llvm::Function *replacement, ShuffleKind kind) {
  llvm::Module &module = *intrinsic.getParent();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", replacement));
  llvm::Type *i32 = b.getInt32Ty();
  llvm::FunctionCallee callee = module.getOrInsertFunction("emulated.shuffle", i32, i32, i32, i32, i32);
  llvm::Value *value = replacement->getArg(1);
  bool isFloat = value->getType()->isFloatTy();
  if (isFloat)
    value = b.CreateBitCast(value, i32);
  llvm::Value *result = b.CreateCall(
      callee, {b.getInt32(static_cast<int32_t>(kind)), value, replacement->getArg(2), replacement->getArg(3)});
  if (isFloat)
    result = b.CreateBitCast(result, b.getFloatTy());
  if (auto *pair = llvm::dyn_cast<llvm::StructType>(replacement->getReturnType())) {
    llvm::Value *both = b.CreateInsertValue(llvm::PoisonValue::get(pair), result, 0);
    result = b.CreateInsertValue(both, b.getTrue(), 1);
  }
  b.CreateRet(result);
}

/// A body for an instruction of a warp on matrices: its registers go through an array of words.
void defineMatrices(llvm::Function *replacement, MatrixKind kind) {
  llvm::Module &module = *replacement->getParent();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", replacement));
  llvm::Type *i32 = b.getInt32Ty();
  bool isLoad = kind == MatrixKind::Load || kind == MatrixKind::LoadTransposed;
  unsigned operands = isLoad ? kMatrixAddressWords : kMatrixOperandWords;
  llvm::Value *words = b.CreateAlloca(i32, b.getInt32(operands + kMatrixResultWords));
  unsigned position = 0;
  for (llvm::Argument &argument : replacement->args()) {
    llvm::Value *value = &argument;
    if (value->getType()->isPointerTy())
      value = b.CreatePtrToInt(value, b.getInt64Ty());
    b.CreateStore(value, b.CreateConstGEP1_32(i32, words, position++))->setAlignment(llvm::Align(4));
  }
  llvm::FunctionCallee callee =
      module.getOrInsertFunction("emulated.matrices", b.getVoidTy(), i32, llvm::PointerType::get(b.getContext(), 0));
  b.CreateCall(callee, {b.getInt32(static_cast<int32_t>(kind)), words});
  auto *type = llvm::cast<llvm::StructType>(replacement->getReturnType());
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < kMatrixResultWords; ++i)
    result = b.CreateInsertValue(
        result, b.CreateLoad(type->getElementType(i), b.CreateConstGEP1_32(i32, words, operands + i)), i);
  b.CreateRet(result);
}

MatrixKind findMatrices(llvm::StringRef name) {
  return llvm::StringSwitch<MatrixKind>(name)
      .Case("ldmatrix.sync.aligned.m8n8.x4.b16.p3", MatrixKind::Load)
      .Case("ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", MatrixKind::LoadTransposed)
      .Case("mma.m16n8k16.row.col.bf16", MatrixKind::MultiplyBf16)
      .Case("mma.m16n8k16.row.col.f32.f32", MatrixKind::MultiplyF16)
      .Default(MatrixKind::None);
}

} // namespace

struct GpuEmulator::State {
  /// Returns an error about the text, or an empty string.
  std::string load(const std::string &llvmText);

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<SharedArray> shared;
  std::map<std::string, int64_t> argumentCounts; ///< By kernel.
  std::map<std::string, int32_t> clusterBlocks;  ///< By kernel.
  bool hasLaunchShared = false;
  /// Descriptors hold addresses of 18 bits: at such a multiple these are offsets.
  std::unique_ptr<char, decltype(&std::free)> launchShared{
      static_cast<char *>(std::aligned_alloc(kLaunchBytes, kLaunchBytes)), &std::free};
  std::map<std::pair<int32_t, int32_t>, std::unique_ptr<GpuCluster>> clusters; ///< By blocks and threads of a block.
};

static std::vector<GpuIntrinsic> knownIntrinsics() {
  std::vector<GpuIntrinsic> all = getArithmeticIntrinsics();
  for (GpuIntrinsic &intrinsic : getThreadIntrinsics())
    all.push_back(std::move(intrinsic));
  return all;
}

/// Names each instruction without a function that implements it; empty if there is none.
static std::string findUnknown(const llvm::Module &module) {
  std::set<std::string> known;
  for (const GpuIntrinsic &intrinsic : knownIntrinsics())
    known.insert(kEmulatedPrefix + intrinsic.name);
  std::string unknown;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kEmulatedPrefix) &&
        !known.contains(function.getName().str()))
      unknown += " " + function.getName().drop_front(strlen(kEmulatedPrefix)).str();
  return unknown;
}

static std::string prepare(llvm::Module &module, std::vector<std::pair<std::string, uint64_t>> &shared) {
  llvm::LLVMContext &context = module.getContext();
  std::vector<llvm::Function *> intrinsics, kernels;
  for (llvm::Function &function : module) {
    function.setCallingConv(llvm::CallingConv::C);
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (function.getName().starts_with(kPrefix))
      intrinsics.push_back(&function);
    else if (!function.isDeclaration() && !function.hasLocalLinkage())
      kernels.push_back(&function);
  }
  std::vector<llvm::CallInst *> calls;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          calls.push_back(call);
  for (llvm::CallInst *call : calls) {
    call->setCallingConv(llvm::CallingConv::C);
    if (std::string unknown = replaceAssembly(*call); !unknown.empty())
      return "inline assembly that the emulator does not know: " + unknown;
  }
  for (llvm::Function *intrinsic : intrinsics) {
    std::string name = intrinsic->getName().drop_front(strlen(kPrefix)).str();
    auto *replacement = llvm::Function::Create(intrinsic->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                               kEmulatedPrefix + name, module);
    intrinsic->replaceAllUsesWith(replacement);
    llvm::StringRef rest(name);
    if (rest.consume_front("shfl.sync.")) {
      ShuffleKind kind = rest.starts_with("bfly")  ? ShuffleKind::Butterfly
                         : rest.starts_with("idx") ? ShuffleKind::Index
                         : rest.starts_with("up")  ? ShuffleKind::Up
                                                   : ShuffleKind::Down;
      defineShuffle(*intrinsic, replacement, kind);
    } else if (MatrixKind matrices = findMatrices(name); matrices != MatrixKind::None) {
      defineMatrices(replacement, matrices);
    }
    intrinsic->eraseFromParent();
  }
  if (std::string unknown = findUnknown(module); !unknown.empty())
    return "instructions that the emulator does not know:" + unknown;
  if (llvm::GlobalVariable *ofLaunch = module.getGlobalVariable(kLaunchShared)) {
    auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kLaunchBytes);
    // A declaration: the memory is that of State.
    auto *memory = new llvm::GlobalVariable(module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
                                            nullptr, "", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->takeName(ofLaunch);
    ofLaunch->replaceAllUsesWith(memory);
    ofLaunch->eraseFromParent();
  }
  for (llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == kSharedSpace && global.getName() != kLaunchShared) {
      global.setLinkage(llvm::GlobalValue::ExternalLinkage);
      shared.emplace_back(global.getName().str(), module.getDataLayout().getTypeAllocSize(global.getValueType()));
      global.setInitializer(llvm::Constant::getNullValue(global.getValueType()));
    }
  // void run.KERNEL(ptr arguments)
  llvm::IRBuilder<> b(context);
  for (llvm::Function *kernel : kernels) {
    auto *run = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
                                       llvm::GlobalValue::ExternalLinkage, "run." + kernel->getName(), module);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", run));
    std::vector<llvm::Value *> arguments;
    for (llvm::Argument &argument : kernel->args())
      arguments.push_back(
          b.CreateLoad(argument.getType(), b.CreateConstGEP1_64(b.getPtrTy(), run->getArg(0), argument.getArgNo())));
    b.CreateCall(kernel, arguments);
    b.CreateRetVoid();
  }
  return "";
}

std::string GpuEmulator::State::load(const std::string &llvmText) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  std::string problem, text = replaceBf16(llvmText, problem);
  if (!problem.empty())
    return problem;
  std::unique_ptr<llvm::Module> module = llvm::parseIR(llvm::MemoryBufferRef(text, "kernels"), diagnostic, *context);
  auto fail = [](llvm::Error problem) { return llvm::toString(std::move(problem)); };
  if (!module)
    return diagnostic.getMessage().str();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return fail(created.takeError());
  jit = std::move(*created);
  module->setTargetTriple(jit->getTargetTriple().str());
  module->setDataLayout(jit->getDataLayout());
  for (const llvm::Function &function : *module)
    if (!function.isDeclaration() && !function.hasLocalLinkage()) {
      argumentCounts[function.getName().str()] = static_cast<int64_t>(function.arg_size());
      int32_t blocks = 1;
      function.getFnAttribute(kClusterDimAttrName).getValueAsString().getAsInteger(10, blocks);
      clusterBlocks[function.getName().str()] = blocks;
    }
  hasLaunchShared = module->getGlobalVariable(kLaunchShared) != nullptr;
  if (hasLaunchShared)
    shared.push_back({launchShared.get(), kLaunchBytes});
  std::vector<std::pair<std::string, uint64_t>> names;
  if (std::string problem = prepare(*module, names); !problem.empty())
    return problem;
  llvm::orc::SymbolMap symbols;
  auto add = [&](const std::string &name, void *function) {
    symbols[jit->mangleAndIntern(kEmulatedPrefix + name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                             llvm::JITSymbolFlags::Exported};
  };
  for (const GpuIntrinsic &intrinsic : knownIntrinsics())
    add(intrinsic.name, intrinsic.function);
  symbols[jit->mangleAndIntern(kLaunchShared)] = {llvm::orc::ExecutorAddr::fromPtr(launchShared.get()),
                                                  llvm::JITSymbolFlags::Exported};
  llvm::orc::JITDylib &library = jit->getMainJITDylib();
  if (llvm::Error problem = library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return fail(std::move(problem));
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(process.takeError());
  library.addGenerator(std::move(*process));
  if (llvm::Error problem = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return fail(std::move(problem));
  for (const auto &[name, bytes] : names) {
    auto address = jit->lookup(name);
    if (!address)
      return fail(address.takeError());
    shared.push_back({address->toPtr<char *>(), bytes});
  }
  return "";
}

GpuEmulator::GpuEmulator(const std::string &llvmText, std::string &error) : state(std::make_unique<State>()) {
  error = state->load(llvmText);
}

GpuEmulator::~GpuEmulator() = default;

int64_t GpuEmulator::countArguments(const std::string &symbol) const {
  auto known = state->argumentCounts.find(symbol);
  return known == state->argumentCounts.end() ? -1 : known->second;
}

std::string GpuEmulator::launch(const std::string &symbol, int64_t gridBlocks, int32_t blockThreads,
                                const std::vector<void *> &arguments, ThreadOrder order, int64_t sharedBytes) {
  auto address = state->jit->lookup("run." + symbol);
  if (!address)
    return llvm::toString(address.takeError());
  auto *entry = address->toPtr<void (*)(void **)>();
  int32_t blocks = state->clusterBlocks[symbol];
  if (gridBlocks % blocks)
    return symbol + ": a grid of " + std::to_string(gridBlocks) + " blocks in clusters of " + std::to_string(blocks);
  std::unique_ptr<GpuCluster> &cluster = state->clusters[{blocks, blockThreads}];
  if (!cluster)
    cluster = std::make_unique<GpuCluster>(blocks, blockThreads);
  cluster->setLaunchShared(state->launchShared.get());
  std::vector<void *> pointers = arguments;
  auto check = [&]() -> std::string {
    char *memory = state->launchShared.get();
    if (state->hasLaunchShared &&
        std::any_of(memory + sharedBytes, memory + kLaunchBytes, [](char byte) { return byte != kSharedPattern; }))
      return "shared memory is written behind the " + std::to_string(sharedBytes) + " bytes of the launch";
    return "";
  };
  for (int64_t number : order.permute(gridBlocks / blocks))
    if (std::string problem = cluster->run(entry, pointers.data(), number * blocks, order, state->shared, check);
        !problem.empty())
      return symbol + ": " + problem;
  return "";
}

} // namespace spmdc
