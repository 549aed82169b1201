//===- GpuEmulatorHelper.cpp - runs kernels for a GPU on the CPU ----------===//

#include "tests/passes/gpu/GpuEmulatorHelper.h"

#include "tests/passes/gpu/GpuIntrinsicsHelper.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <map>
#include <ucontext.h>

namespace spmdc {
namespace {

constexpr int kWarp = 32;
constexpr size_t kStackBytes = 128 * 1024;
constexpr const char *kPrefix = "llvm.nvvm.";

enum class ShuffleKind : int32_t { Butterfly, Index, Up, Down };

struct Fiber {
  enum Wait { Ready, AtBarrier, AtWarpSync, AtShuffle, Finished } wait = Ready;
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  int32_t thread = 0;
  ShuffleKind kind = ShuffleKind::Butterfly;
  uint32_t value = 0, offset = 0, clamp = 0;
};

/// The threads of one block.
class BlockRunner {
public:
  BlockRunner(int32_t threads) : fibers(threads) {
    for (int32_t t = 0; t < threads; ++t) {
      fibers[t].thread = t;
      fibers[t].stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    }
  }

  std::string run(void (*entry)(void **), void **arguments, int64_t blockNumber, bool isBackward);

  /// The fiber that runs stops here until the others have come.
  void wait(Fiber::Wait wait) {
    current->wait = wait;
    swapcontext(&current->context, &scheduler);
  }

  std::vector<Fiber> fibers;
  Fiber *current = nullptr;
  int64_t block = 0;

private:
  static void enter() {
    active->entry(active->arguments);
    active->current->wait = Fiber::Finished;
  }

  /// Lets a warp run as far as it comes alone; true if it moved.
  bool runWarp(int32_t first, bool isBackward);
  void resolveShuffle(int32_t first, int32_t last);

  void (*entry)(void **) = nullptr;
  void **arguments = nullptr;
  ucontext_t scheduler;
  std::string problem;

public:
  static thread_local BlockRunner *active;
};

thread_local BlockRunner *BlockRunner::active = nullptr;

void BlockRunner::resolveShuffle(int32_t first, int32_t last) {
  std::vector<uint32_t> values;
  for (int32_t t = first; t < last; ++t)
    values.push_back(fibers[t].value);
  for (int32_t t = first; t < last; ++t) {
    Fiber &fiber = fibers[t];
    int32_t lane = t - first, source = lane, offset = static_cast<int32_t>(fiber.offset);
    int32_t clamp = static_cast<int32_t>(fiber.clamp & 31);
    if (fiber.clamp >> 8 != 0 && problem.empty())
      problem = "a shuffle over parts of a warp, which this emulator does not know";
    switch (fiber.kind) {
    case ShuffleKind::Butterfly:
      source = lane ^ offset;
      break;
    case ShuffleKind::Index:
      source = offset;
      break;
    case ShuffleKind::Up:
      source = lane - offset;
      break;
    case ShuffleKind::Down:
      source = lane + offset;
      break;
    }
    bool isInside = fiber.kind == ShuffleKind::Up ? source >= clamp : source <= clamp;
    if (isInside && (source < 0 || source >= static_cast<int32_t>(values.size())) && problem.empty())
      problem = "a shuffle from a lane that does not exist";
    else if (isInside)
      fiber.value = values[source];
    fiber.wait = Fiber::Ready;
  }
}

bool BlockRunner::runWarp(int32_t first, bool isBackward) {
  int32_t last = std::min<int32_t>(first + kWarp, static_cast<int32_t>(fibers.size()));
  bool hasMoved = false;
  while (problem.empty()) {
    bool isRunning = false;
    for (int32_t i = 0; i < last - first; ++i) {
      Fiber &fiber = fibers[isBackward ? last - 1 - i : first + i];
      if (fiber.wait != Fiber::Ready)
        continue;
      current = &fiber;
      swapcontext(&scheduler, &fiber.context);
      isRunning = true;
    }
    hasMoved |= isRunning;
    int32_t shuffles = 0, syncs = 0;
    for (int32_t t = first; t < last; ++t) {
      shuffles += fibers[t].wait == Fiber::AtShuffle;
      syncs += fibers[t].wait == Fiber::AtWarpSync;
    }
    if (shuffles == last - first) {
      resolveShuffle(first, last);
      hasMoved = true;
    } else if (syncs == last - first) {
      for (int32_t t = first; t < last; ++t)
        fibers[t].wait = Fiber::Ready;
      hasMoved = true;
    } else if (shuffles || syncs) {
      problem = "block " + std::to_string(block) + ": only " + std::to_string(shuffles + syncs) + " of the " +
                std::to_string(last - first) + " threads from " + std::to_string(first) + " on reach a warp operation";
    } else {
      break;
    }
  }
  return hasMoved;
}

std::string BlockRunner::run(void (*kernel)(void **), void **kernelArguments, int64_t blockNumber, bool isBackward) {
  BlockRunner *outer = active;
  active = this;
  entry = kernel;
  arguments = kernelArguments;
  block = blockNumber;
  problem.clear();
  for (Fiber &fiber : fibers) {
    fiber.wait = Fiber::Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, &BlockRunner::enter, 0);
  }
  int32_t warps = (static_cast<int32_t>(fibers.size()) + kWarp - 1) / kWarp;
  while (problem.empty()) {
    for (int32_t w = 0; w < warps; ++w)
      runWarp((isBackward ? warps - 1 - w : w) * kWarp, isBackward);
    size_t finished = 0, atBarrier = 0;
    for (Fiber &fiber : fibers) {
      finished += fiber.wait == Fiber::Finished;
      atBarrier += fiber.wait == Fiber::AtBarrier;
    }
    if (!problem.empty() || finished == fibers.size())
      break;
    if (atBarrier != fibers.size()) {
      problem = "block " + std::to_string(block) + ": " + std::to_string(atBarrier) + " threads wait at a barrier, " +
                std::to_string(finished) + " of " + std::to_string(fibers.size()) + " have ended";
      break;
    }
    for (Fiber &fiber : fibers)
      fiber.wait = Fiber::Ready;
  }
  active = outer;
  return problem;
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

int32_t readThread() { return BlockRunner::active->current->thread; }
int32_t readBlock() { return static_cast<int32_t>(BlockRunner::active->block); }
void waitAtBarrier() { BlockRunner::active->wait(Fiber::AtBarrier); }
void waitForWarp(int32_t) { BlockRunner::active->wait(Fiber::AtWarpSync); }

uint32_t shuffle(int32_t kind, uint32_t value, uint32_t offset, uint32_t clamp) {
  Fiber &fiber = *BlockRunner::active->current;
  fiber.kind = static_cast<ShuffleKind>(kind);
  fiber.value = value;
  fiber.offset = offset;
  fiber.clamp = clamp;
  BlockRunner::active->wait(Fiber::AtShuffle);
  return fiber.value;
}

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

} // namespace

struct GpuEmulator::State {
  /// Returns what is wrong with the text, or nothing.
  std::string load(const std::string &llvmText);

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<std::pair<void *, uint64_t>> shared;
  std::map<int32_t, std::unique_ptr<BlockRunner>> runners;
};

/// libdevice writes some instructions as inline assembly: the same in LLVM IR. False for ones that are not known.
static bool replaceAssembly(llvm::CallInst &call) {
  auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  if (!assembly)
    return true;
  llvm::StringRef text = assembly->getAsmString();
  llvm::IRBuilder<> b(&call);
  llvm::Value *result = nullptr;
  auto operand = [&](unsigned number) { return call.getArgOperand(number); };
  // Two halves of a number twice as wide.
  auto join = [&](llvm::Value *low, llvm::Value *high) {
    unsigned width = low->getType()->getIntegerBitWidth();
    llvm::Type *wide = b.getIntNTy(2 * width);
    return b.CreateOr(b.CreateShl(b.CreateZExt(high, wide), width), b.CreateZExt(low, wide));
  };
  auto split = [&](llvm::Value *wide) {
    unsigned width = wide->getType()->getIntegerBitWidth() / 2;
    llvm::Value *low = b.CreateTrunc(wide, b.getIntNTy(width));
    llvm::Value *high = b.CreateTrunc(b.CreateLShr(wide, width), b.getIntNTy(width));
    return b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(call.getType()), low, 0), high, 1);
  };
  if (text.starts_with("rcp.approx.ftz.f")) {
    result = b.CreateFDiv(llvm::ConstantFP::get(call.getType(), 1.0), operand(0));
  } else if (text.starts_with("rsqrt.approx.ftz.f64")) {
    llvm::Value *root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0));
    result = b.CreateFDiv(llvm::ConstantFP::get(call.getType(), 1.0), root);
  } else if (text.starts_with("sub.rn.")) {
    result = b.CreateFSub(operand(0), operand(1));
  } else if (text.contains("mad.lo.cc.u32   $0, $2, $3, $4")) {
    llvm::Type *wide = b.getInt64Ty();
    result = split(b.CreateAdd(b.CreateMul(b.CreateZExt(operand(0), wide), b.CreateZExt(operand(1), wide)),
                               b.CreateZExt(operand(2), wide)));
  } else if (text.contains("mul.lo.u32      r0, alo, blo") && call.arg_size() == 2) {
    llvm::Type *wide = b.getIntNTy(128);
    result = split(b.CreateMul(b.CreateZExt(operand(0), wide), b.CreateZExt(operand(1), wide)));
  } else if (text.contains("mad.lo.cc.u32   r0, alo, blo, clo") && call.arg_size() == 3) {
    llvm::Type *wide = b.getIntNTy(128);
    result = split(b.CreateAdd(b.CreateMul(b.CreateZExt(operand(0), wide), b.CreateZExt(operand(1), wide)),
                               b.CreateZExt(operand(2), wide)));
  } else if (text.contains("add.cc.u32      r0, a0, b0") && call.arg_size() == 4) {
    result = split(b.CreateAdd(join(operand(0), operand(1)), join(operand(2), operand(3))));
  } else {
    return false;
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return true;
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
    if (!replaceAssembly(*call))
      return "inline assembly that the emulator does not know: " +
             llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
  }
  for (llvm::Function *intrinsic : intrinsics) {
    std::string name = intrinsic->getName().drop_front(strlen(kPrefix)).str();
    auto *replacement = llvm::Function::Create(intrinsic->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                               "emulated." + name, module);
    intrinsic->replaceAllUsesWith(replacement);
    llvm::StringRef rest(name);
    if (rest.consume_front("shfl.sync.")) {
      ShuffleKind kind = rest.starts_with("bfly")  ? ShuffleKind::Butterfly
                         : rest.starts_with("idx") ? ShuffleKind::Index
                         : rest.starts_with("up")  ? ShuffleKind::Up
                                                   : ShuffleKind::Down;
      defineShuffle(*intrinsic, replacement, kind);
    }
    intrinsic->eraseFromParent();
  }
  for (llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == 3) {
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
  std::unique_ptr<llvm::Module> module =
      llvm::parseIR(llvm::MemoryBufferRef(llvmText, "kernels"), diagnostic, *context);
  auto fail = [](llvm::Error problem) { return llvm::toString(std::move(problem)); };
  if (!module)
    return diagnostic.getMessage().str();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return fail(created.takeError());
  jit = std::move(*created);
  module->setTargetTriple(jit->getTargetTriple().str());
  module->setDataLayout(jit->getDataLayout());
  std::vector<std::pair<std::string, uint64_t>> names;
  if (std::string problem = prepare(*module, names); !problem.empty())
    return problem;
  llvm::orc::SymbolMap symbols;
  auto add = [&](const std::string &name, void *function) {
    symbols[jit->mangleAndIntern("emulated." + name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                         llvm::JITSymbolFlags::Exported};
  };
  add("read.ptx.sreg.tid.x", reinterpret_cast<void *>(&readThread));
  add("read.ptx.sreg.ctaid.x", reinterpret_cast<void *>(&readBlock));
  add("barrier0", reinterpret_cast<void *>(&waitAtBarrier));
  add("bar.warp.sync", reinterpret_cast<void *>(&waitForWarp));
  add("shuffle", reinterpret_cast<void *>(&shuffle));
  for (const GpuIntrinsic &intrinsic : getArithmeticIntrinsics())
    add(intrinsic.name, intrinsic.function);
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
    shared.emplace_back(address->toPtr<void *>(), bytes);
  }
  return "";
}

GpuEmulator::GpuEmulator(const std::string &llvmText, std::string &error) : state(std::make_unique<State>()) {
  error = state->load(llvmText);
}

GpuEmulator::~GpuEmulator() = default;

std::string GpuEmulator::launch(const std::string &symbol, int64_t gridBlocks, int32_t blockThreads,
                                const std::vector<void *> &arguments, WarpOrder order) {
  auto address = state->jit->lookup("run." + symbol);
  if (!address)
    return llvm::toString(address.takeError());
  auto *entry = address->toPtr<void (*)(void **)>();
  std::unique_ptr<BlockRunner> &runner = state->runners[blockThreads];
  if (!runner)
    runner = std::make_unique<BlockRunner>(blockThreads);
  std::vector<void *> pointers = arguments;
  bool isBackward = order == WarpOrder::Backward;
  for (int64_t i = 0; i < gridBlocks; ++i) {
    for (auto &[memory, bytes] : state->shared)
      std::memset(memory, 0xa5, bytes);
    std::string problem = runner->run(entry, pointers.data(), isBackward ? gridBlocks - 1 - i : i, isBackward);
    if (!problem.empty())
      return symbol + ": " + problem;
  }
  return "";
}

} // namespace spmdc
