//===- AxisProvenance.h - the provenance of shardings -----------*- C++ -*-===//
//
// A log of propagation as plain data that outlives the module: the annotations of all arrays, and every step that
// extended the axes of a dimension, with the array that it took them from. The log gives, for each axis of a dimension,
// the chain of operations back to the annotation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/Propagator.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The log of one function's propagation. Axes have the names of the mesh; a part of an axis has the axis's name.
struct PropagationLog {
  struct WrittenDim {
    std::vector<std::string> axes;
    bool isClosed = false;
  };
  /// The values that share one slot of PropagationState, and so one sharding.
  struct Array {
    std::string name; ///< Of a parameter or a `let`; may be empty.
    std::string
        annotationPlace; ///< `mlp.spmd:3:12`, where the annotation (a type or a P(...)) begins; empty without one.
    std::vector<WrittenDim> written;
    std::vector<unsigned> ops;        ///< Indices of the operations that have it as an operand or a result.
    std::vector<unsigned> extensions; ///< Indices of the steps that extended it.
  };
  /// One step of propagation: dimension `dim` of `array` took `axes` from dimension `sourceDim` of `sourceArray`.
  struct Extension {
    unsigned array = 0, dim = 0;
    std::vector<std::string> axes; ///< All axes of the extended factor.
    unsigned op = 0;               ///< The operation that connects the two dimensions.
    unsigned sourceArray = 0, sourceDim = 0;
  };
  struct Operand {
    unsigned array = 0;
    std::string role;  ///< `operand 1`, `the result`.
    std::string type;  ///< With the sharding after propagation.
    std::string place; ///< The source position of the value's definition: of a parameter, that of its name.
  };
  struct Op {
    std::string place; ///< `mlp.spmd:5:7`.
    /// The source position `place`, and the calls that lead to it, innermost first.
    std::vector<std::string> callPath;
    std::string name; ///< `dot_general`.
    std::vector<Operand> arrays;
    /// The factors of the operation's sharding rule, for each array and each of its dimensions.
    std::vector<std::vector<std::vector<int64_t>>> factors;
    std::vector<std::string> groupAxes; ///< The axes of a collective that the program contains before partitioning.
  };
  std::vector<Array> arrays;
  std::vector<Extension> extensions; ///< In chronological order.
  std::vector<Op> ops;

  /// The annotation from which a dimension got an axis.
  struct Origin {
    unsigned array = 0, dim = 0; ///< The annotated dimension.
    std::vector<unsigned> steps; ///< Indices of extensions, from the annotation to the dimension.
  };
  /// Finds the annotation from which the dimension got `axis`; nullopt if the dimension does not have the axis.
  std::optional<Origin> trace(unsigned array, unsigned dim, const std::string &axis) const;
};

/// Writes a PropagationLog while the Propagator runs.
class ProvenanceRecorder : public PropagationObserver {
public:
  /// `log` may be null if nothing is ever observed. `next`, if not null, gets every notification too.
  ProvenanceRecorder(const PropagationState &state, PropagationLog *log, PropagationObserver *next)
      : state(state), log(log), next(next) {}

  void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim, const ShardingProjection &before,
                const ShardingProjection &after, PropagationStrategy strategy) override;

  /// Logs the arrays and operations. Must be called after propagation, before the function changes.
  void finish();

private:
  std::vector<std::string> namesOf(llvm::ArrayRef<AxisPart> axes) const;

  const PropagationState &state;
  PropagationLog *log;
  PropagationObserver *next;
};

} // namespace spmdc
