//===- LoopSteps.cpp - the steps of loops that one function runs ----------===//

#include "passes/plan/LoopSteps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

llvm::StringRef whyNotInFunction(Operation *step) {
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(step)
      .Case<plan::MatmulOp>([](auto) { return "is a matrix product"; })
      .Case<plan::StartOp, plan::DoneOp>([](auto) { return "is a collective"; })
      .Case<plan::PrintOp>([](auto) { return "prints"; })
      .Case([](plan::LibraryOp call) {
        return call.getFunction() == "update_slice" ? "" : "is a function of the runtime's library";
      })
      .Default([](Operation *) { return ""; });
}

} // namespace spmdc
