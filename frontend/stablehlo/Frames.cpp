//===- Frames.cpp - Python's call stacks of an export ---------------------===//

#include "frontend/stablehlo/Frames.h"

#include "ir/spmd/Location.h"

#include <optional>

using namespace mlir;

namespace spmdc::stablehlo {

/// Whether a file is one of torch or torchax in a folder of installed packages. Only installed ones: a file of the user
/// may be in a folder of such a name.
static bool isOfFramework(StringRef file) {
  for (StringRef folder : {"site-packages/", "dist-packages/"})
    if (size_t at = file.rfind(folder); at != StringRef::npos) {
      StringRef package = file.substr(at + folder.size());
      return package.starts_with("torch/") || package.starts_with("torchax/");
    }
  return false;
}

/// The frames that are not a framework's; nothing if there are none.
static std::optional<Location> framesOfUser(Location loc) {
  if (auto site = llvm::dyn_cast<CallSiteLoc>(loc)) {
    std::optional<Location> callee = framesOfUser(site.getCallee()), caller = framesOfUser(site.getCaller());
    if (callee && caller)
      return CallSiteLoc::get(*callee, *caller);
    return callee ? callee : caller;
  }
  std::optional<SourcePosition> position = getSourcePosition(loc);
  return position && isOfFramework(position->file) ? std::nullopt : std::optional(loc);
}

Location withoutFrameworkFrames(CallSiteLoc loc) { return framesOfUser(loc).value_or(loc); }

} // namespace spmdc::stablehlo
