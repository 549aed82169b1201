//===- SaveCase.cpp - a case as files and a command -----------------------===//

#include "tests/programs/support/SaveCase.h"

#include "ir/spmd/SpmdTypes.h"
#include "runtime/io/Npy.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "tests/programs/support/TensorBytes.h"

#include "llvm/Support/FileSystem.h"

namespace spmdc {

std::string saveCase(const Case &test, const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    throw spmd::Error("cannot create the folder '" + folder + "': " + error.message());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::string error;
  auto subject = makeSubject(context, test, error);
  std::string fileName = mlir::failed(subject) ? "program.spmd" : subject->fileName;
  spmd::writeFileAtomically(folder + "/" + fileName, mlir::failed(subject) ? test.program.str() : subject->text);
  std::string command = "spmdc run " + folder + "/" + fileName;
  for (size_t i = 0; i < test.program.parameters.size(); ++i) {
    const ProgramParameter &parameter = test.program.parameters[i];
    const Variable &variable = test.program.variables[parameter.variable];
    Tensor tensor(variable.shape, getElementType(&context, variable.dtype));
    tensor.elements = parameter.elements;
    std::string file = folder + "/x" + std::to_string(i) + ".npy";
    spmd::writeNpy(file, variable.dtype, {variable.shape.begin(), variable.shape.end()}, toBytes(tensor).data());
    command += " --input x" + std::to_string(i) + "=" + file;
  }
  return command + " --print";
}

} // namespace spmdc
