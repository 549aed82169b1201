//===- Libdevice.cpp - the library of CUDA's mathematical functions -------===//

#include "passes/gpu/Libdevice.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace spmdc {

static constexpr llvm::StringLiteral kFile = "libdevice.10.bc";

/// Folders relative to a toolkit; NVIDIA's packages of libdevice alone have shorter paths.
static constexpr llvm::StringLiteral kFolders[] = {"nvvm/libdevice", "libdevice", ""};
static constexpr llvm::StringLiteral kUsualPlaces[] = {"/usr/local/cuda", "/usr/lib/cuda",
                                                       "/usr/lib/nvidia-cuda-toolkit", "/opt/cuda"};
/// The folder with one toolkit for each version.
static constexpr llvm::StringLiteral kVersions = "/usr/local", kVersionPrefix = "cuda-";

static std::optional<std::string> findInToolkit(StringRef root) {
  for (StringRef folder : kFolders) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, folder, kFile);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return std::nullopt;
}

std::optional<std::string> findLibdevice(StringRef toolkit) {
  if (!toolkit.empty())
    return findInToolkit(toolkit);
  for (StringRef root : kUsualPlaces)
    if (auto path = findInToolkit(root))
      return path;
  // The last folder by name, for a reproducible choice.
  std::string best;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(kVersions, error), end; it != end && !error; it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with(kVersionPrefix))
      if (auto path = findInToolkit(it->path()); path && *path > best)
        best = *path;
  return best.empty() ? std::nullopt : std::optional(best);
}

/// The places that findLibdevice searches, as text.
static std::string placesOf(StringRef toolkit) {
  if (!toolkit.empty())
    return (toolkit + "/" + kFolders[0]).str();
  std::string places;
  for (StringRef root : kUsualPlaces)
    places += (root + "/" + kFolders[0] + ", ").str();
  return places + (kVersions + "/" + kVersionPrefix + "*/" + kFolders[0]).str();
}

/// The library's functions on numbers terminate, throw nothing and depend on their arguments alone; so does its inline
/// assembly, and so do the instructions that it calls. The file lacks these attributes, without which LLVM neither
/// moves nor merges loads across a call.
static void describeFunctions(llvm::Module &module, llvm::ArrayRef<std::string> names) {
  llvm::AttrBuilder attributes(module.getContext()), pure(module.getContext());
  attributes.addAttribute(llvm::Attribute::WillReturn).addAttribute(llvm::Attribute::NoUnwind);
  pure.merge(attributes).addMemoryAttr(llvm::MemoryEffects::none());
  for (const std::string &name : names) {
    llvm::Function *function = module.getFunction(name);
    if (!function || function->isDeclaration())
      continue;
    // Helpers of some functions return results through pointers.
    bool isPure =
        !function->getReturnType()->isVoidTy() &&
        llvm::none_of(function->args(), [](llvm::Argument &argument) { return argument.getType()->isPointerTy(); });
    function->addFnAttrs(isPure ? pure : attributes);
    for (llvm::BasicBlock &block : *function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
              assembly && !assembly->hasSideEffects())
            call->setAttributes(call->getAttributes().addFnAttributes(module.getContext(), pure));
  }
  for (llvm::Function &function : module)
    if (function.isIntrinsic() && function.doesNotAccessMemory() && !function.isConvergent())
      function.addFnAttrs(attributes);
}

LogicalResult linkLibdevice(llvm::Module &module, StringRef toolkit, Location loc) {
  std::string wanted;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kLibdevicePrefix))
      wanted = wanted.empty() ? function.getName().str() : wanted + ", " + function.getName().str();
  if (wanted.empty())
    return success();
  auto fail = [&](const llvm::Twine &why) {
    InFlightDiagnostic error = mlir::emitError(loc)
                               << "the program needs " << wanted << " of CUDA's libdevice, " << why;
    error.attachNote() << "searched " << placesOf(toolkit) << " for " << kFile;
    error.attachNote() << "install the CUDA toolkit (its package nvcc is enough; no GPU is needed), or name its folder "
                          "in CUDA_HOME";
    return failure();
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
    return fail("whose bitcode this compiler cannot link");
  for (const std::string &name : names)
    if (llvm::Function *function = module.getFunction(name); function && !function->isDeclaration())
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
  describeFunctions(module, names);
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kLibdevicePrefix))
      return mlir::emitError(loc) << "libdevice (" << *path << ") has no function " << function.getName();
  return success();
}

} // namespace spmdc
