//===- LibdeviceCalls.cpp - mathematical functions of CUDA ----------------===//

#include "passes/gpu/LibdeviceCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr llvm::StringLiteral kPrefix = "__nv_";
constexpr llvm::StringLiteral kFile = "libdevice.10.bc";

/// The function (of double) without its prefix; empty for what needs none.
StringRef libdeviceName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::ExpOp) { return "exp"; })
      .Case([](math::Exp2Op) { return "exp2"; })
      .Case([](math::ExpM1Op) { return "expm1"; })
      .Case([](math::LogOp) { return "log"; })
      .Case([](math::Log1pOp) { return "log1p"; })
      .Case([](math::Log2Op) { return "log2"; })
      .Case([](math::RsqrtOp) { return "rsqrt"; })
      .Case([](math::CbrtOp) { return "cbrt"; })
      .Case([](math::SinOp) { return "sin"; })
      .Case([](math::CosOp) { return "cos"; })
      .Case([](math::TanOp) { return "tan"; })
      .Case([](math::TanhOp) { return "tanh"; })
      .Case([](math::SinhOp) { return "sinh"; })
      .Case([](math::CoshOp) { return "cosh"; })
      .Case([](math::AsinOp) { return "asin"; })
      .Case([](math::AcosOp) { return "acos"; })
      .Case([](math::AtanOp) { return "atan"; })
      .Case([](math::Atan2Op) { return "atan2"; })
      .Case([](math::ErfOp) { return "erf"; })
      .Case([](math::PowFOp) { return "pow"; })
      .Case([](arith::RemFOp) { return "fmod"; })
      .Default([](Operation *) { return ""; });
}

void callFunction(Operation *op, StringRef function, Operation *module) {
  OpBuilder b(op);
  Type type = op->getResult(0).getType();
  std::string name = (kPrefix + function + (type.isF32() ? "f" : "")).str();
  auto callee = cast_or_null<LLVM::LLVMFuncOp>(SymbolTable::lookupSymbolIn(module, name));
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&module->getRegion(0).front());
    SmallVector<Type> arguments(op->getNumOperands(), type);
    callee = b.create<LLVM::LLVMFuncOp>(op->getLoc(), name, LLVM::LLVMFunctionType::get(type, arguments));
  }
  auto call = b.create<LLVM::CallOp>(op->getLoc(), callee, op->getOperands());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
}

} // namespace

void callLibdevice(Operation *module) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (StringRef name = libdeviceName(op); !name.empty())
      callFunction(op, name, module);
}

std::optional<std::string> findLibdevice(StringRef toolkit) {
  auto inToolkit = [](StringRef root) -> std::optional<std::string> {
    for (StringRef folder : {"nvvm/libdevice", "libdevice", ""}) {
      llvm::SmallString<128> path(root);
      llvm::sys::path::append(path, folder, kFile);
      if (llvm::sys::fs::exists(path))
        return path.str().str();
    }
    return std::nullopt;
  };
  if (!toolkit.empty())
    if (auto path = inToolkit(toolkit))
      return path;
  for (StringRef root : {"/usr/local/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit", "/opt/cuda"})
    if (auto path = inToolkit(root))
      return path;
  // Versions side by side: the last by name, the same each time.
  std::string best;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it("/usr/local", error), end; it != end && !error; it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with("cuda-"))
      if (auto path = inToolkit(it->path()); path && *path > best)
        best = *path;
  return best.empty() ? std::nullopt : std::optional(best);
}

LogicalResult linkLibdevice(llvm::Module &module, StringRef toolkit, Location loc) {
  std::string wanted;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kPrefix))
      wanted = wanted.empty() ? function.getName().str() : wanted + ", " + function.getName().str();
  if (wanted.empty())
    return success();
  auto fail = [&](const llvm::Twine &why) {
    return mlir::emitError(loc) << "the program needs " << wanted << " of CUDA's libdevice, " << why
                                << "; install the CUDA toolkit (nvvm/libdevice/" << kFile
                                << "), or name its folder in CUDA_HOME";
  };
  std::optional<std::string> path = findLibdevice(toolkit);
  if (!path)
    return fail("which was not found");
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library = llvm::parseIRFile(*path, diagnostic, module.getContext());
  if (!library)
    return fail("whose file " + *path + " cannot be read: " + diagnostic.getMessage());
  llvm::SmallVector<std::string> names;
  for (llvm::Function &function : *library)
    if (!function.isDeclaration())
      names.push_back(function.getName().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    return fail("which does not fit this compiler");
  for (const std::string &name : names)
    if (llvm::Function *function = module.getFunction(name); function && !function->isDeclaration())
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kPrefix))
      return mlir::emitError(loc) << "libdevice (" << *path << ") has no function " << function.getName();
  return success();
}

} // namespace spmdc
