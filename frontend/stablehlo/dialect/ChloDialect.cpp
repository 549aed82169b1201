//===- ChloDialect.cpp - CHLO ---------------------------------------------===//

#include "frontend/stablehlo/dialect/Dialects.h"

#include "frontend/stablehlo/dialect/ChloOpsDialect.cpp.inc"

#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/ChloOps.cpp.inc"

namespace spmdc::chlo {

void ChloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "frontend/stablehlo/dialect/ChloOps.cpp.inc"
      >();
}

} // namespace spmdc::chlo
