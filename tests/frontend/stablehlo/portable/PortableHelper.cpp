//===- PortableHelper.cpp - exports in bytes ------------------------------===//

#include "tests/frontend/stablehlo/portable/PortableHelper.h"

#include "frontend/stablehlo/Import.h"
#include "frontend/stablehlo/portable/Portable.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace spmdc {

std::string portableFolder() {
  const char *other = std::getenv("SPMD_PORTABLE");
  return other ? std::string(other) + "/" : SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/portable/data/";
}

std::vector<std::string> listExports() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(portableFolder()))
    if (entry.path().extension() == ".bin")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string textOrCause(const std::string &bytes) {
  std::string cause;
  mlir::FailureOr<std::string> text = stablehlo::textOfPortable(bytes, cause);
  return mlir::succeeded(text) ? *text : "error: " + cause;
}

std::string importedIr(const std::string &text, bool withLocations) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string result;
  llvm::raw_string_ostream os(result);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    os << "error: " << diagnostic.str() << "\n";
    return mlir::success();
  });
  Diagnostics diagnostics;
  if (auto module = importStablehlo(text, "f.mlir", {}, context, diagnostics))
    module->print(os, mlir::OpPrintingFlags().enableDebugInfo(withLocations, /*prettyForm=*/false));
  return result;
}

} // namespace spmdc
