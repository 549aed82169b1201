//===- Parameters.h - matches arguments and parameters ----------*- C++ -*-===//
#pragma once

#include "frontend/emit/Emitter.h"

namespace spmdc {

struct Parameter {
  std::string_view name;
  bool isOptional = false;
  bool isRest = false;        ///< Takes all further positional arguments.
  bool isAxes = false;        ///< Takes names of mesh axes: `a` or `(a, b)`.
  bool mayBeFunction = false; ///< Takes a function, too: a parameter without a type.
};

/// Parses the parameters of an operation from its table entry (Builtin::parameters).
std::vector<Parameter> parseParameters(std::string_view text);

/// The arguments of each parameter, empty for one that is left out. Reports arguments that match no parameter.
std::vector<std::vector<const Argument *>>
matchArguments(Emitter &e, std::string_view function, const std::vector<Parameter> &parameters, const CallExpr &call);

} // namespace spmdc
