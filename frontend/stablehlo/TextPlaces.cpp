//===- TextPlaces.cpp - where an exported text has its operations ---------===//

#include "frontend/stablehlo/TextPlaces.h"

#include "frontend/Frontend.h"
#include "frontend/stablehlo/TextForm.h"
#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/narrow/NarrowText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// The place of an operation and those of the calls around it; empty without a place.
static std::string stackOf(Location loc) {
  std::string text;
  auto stacks = getSourceCallStacks(toArrayLoc(loc));
  if (!stacks.empty())
    for (const SourcePosition &position : stacks.front())
      text += position.str() + " ";
  return text;
}

TextPlaces::TextPlaces(StringRef text, StringRef fileName) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadFrontendDialects(context);
  context.loadDialect<StablehloDialect, chlo::ChloDialect, sdy::SdyDialect>();
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(toReadableText(withReadableNarrowTypes(text)), fileName), llvm::SMLoc());
  Block operations;
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, &operations, ParserConfig(&context), &state)))
    return;
  for (const AsmParserState::OperationDefinition &definition : state.getOpDefs()) {
    auto [line, column] = sources.getLineAndColumn(definition.loc.Start);
    places[stackOf(definition.op->getLoc())].push_back(
        {definition.op->getName().getStringRef().str(), {fileName.str(), line, column}});
  }
  places.erase("");
}

std::optional<SourcePosition> TextPlaces::find(Location loc, StringRef message) const {
  auto found = places.find(stackOf(loc));
  if (found == places.end())
    return std::nullopt;
  for (const Place &place : found->second)
    if (message.contains("'" + place.operation + "'"))
      return place.position;
  return found->second.front().position;
}

} // namespace spmdc::stablehlo
