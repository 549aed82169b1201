//===- Portable.cpp - portable artifacts of StableHLO as text -------------===//

#include "frontend/stablehlo/portable/Portable.h"

#include "frontend/Frontend.h"
#include "frontend/stablehlo/Platforms.h"
#include "frontend/stablehlo/dialect/Dialects.h"
#include "frontend/stablehlo/portable/Flatbuffer.h"
#include "frontend/stablehlo/portable/Operations.h"
#include "frontend/syntax/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A text is at most this much longer than `Source::maxBytes` before it is refused: it is estimated, not printed.
constexpr uint64_t kEstimateFactor = 8;

/// Names arguments and results that the module leaves without a name, as those of older exports, and the platforms.
void addNames(ModuleOp module, const portable::SerializedExport &exported) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  MLIRContext *context = module.getContext();
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : main.getArguments()) {
    if (!isPlatformIndex(main, argument.getArgNumber()))
      arguments.push_back(argument);
    else
      main.setArgAttr(argument.getArgNumber(), kPlatforms,
                      Builder(context).getStrArrayAttr(llvm::to_vector_of<StringRef>(exported.platforms)));
  }
  if (exported.arguments.size() == arguments.size())
    for (auto [argument, path] : llvm::zip_equal(arguments, exported.arguments))
      if (llvm::isa<UnknownLoc>(argument.getLoc()))
        argument.setLoc(NameLoc::get(StringAttr::get(context, path)));
  if (exported.results.size() == main.getNumResults())
    for (auto [index, path] : llvm::enumerate(exported.results))
      if (auto number = static_cast<unsigned>(index); !main.getResultAttr(number, "jax.result_info"))
        main.setResultAttr(number, "jax.result_info", StringAttr::get(context, path));
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false));
  os << "\n";
  return text;
}

} // namespace

bool isPortable(llvm::StringRef begin) {
  return begin.starts_with(portable::kBytecodeMagic) || portable::findArtifact(begin);
}

FailureOr<std::string> textOfPortable(llvm::StringRef bytes, std::string &cause) {
  portable::ReadFailure failure;
  portable::SerializedExport exported{bytes, {}, {}, {}};
  if (!bytes.starts_with(portable::kBytecodeMagic)) {
    if (std::optional<portable::SerializedExport> found = portable::readSerializedExport(bytes))
      exported = std::move(*found);
    else
      failure.setDamaged("flatbuffer");
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadFrontendDialects(context);
  context.loadDialect<StablehloDialect, chlo::ChloDialect, sdy::SdyDialect>();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    failure.set("it is not valid: " + diagnostic.str());
    return success();
  });
  portable::Sections sections = portable::readSections(exported.artifact, failure);
  portable::Pool pool(sections, &context, failure);
  OwningOpRef<ModuleOp> module = portable::readModule(sections, pool, kEstimateFactor * Source::maxBytes);
  std::string text;
  if (module && succeeded(verify(*module)) && !failure.has()) {
    addNames(*module, exported);
    text = print(*module);
    if (text.size() > Source::maxBytes)
      failure.setTooLong();
  }
  if (!failure.has())
    return text;
  cause = "is a portable artifact of StableHLO that cannot be read: " + failure.cause();
  return mlir::failure();
}

} // namespace spmdc::stablehlo
