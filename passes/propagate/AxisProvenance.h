//===- AxisProvenance.h - where shardings came from --------------------*- C++ -*-===//
//
// What propagation did, as plain data that outlives the module: what is written about which array, and every step that
// lengthened the axes of a dimension, with the array it took them from. From it follows for any dimension the chain
// from the mark that a person wrote to the place where it has its effect.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/Propagator.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// Axes are named as the mesh names them: parts of an axis count as the axis.
struct PropagationLog {
  struct WrittenDim {
    std::vector<std::string> axes;
    bool isClosed = false;
  };
  /// A slot: the values that share one sharding.
  struct Array {
    std::string name; ///< Of a parameter or a `let`; may be empty.
    std::string mark; ///< `mlp.spmd:3:12`, where the type or the P(...) begins; empty where nothing is written.
    std::vector<WrittenDim> written;
  };
  struct Extension {
    unsigned array = 0, dim = 0;
    std::vector<std::string> axes; ///< Of the factor that was lengthened.
    unsigned op = 0;
    unsigned sourceArray = 0, sourceDim = 0;
  };
  struct Operand {
    unsigned array = 0;
    std::string role; ///< `operand 1`, `the result`.
    std::string type; ///< With its sharding in the end.
  };
  struct Op {
    std::string place; ///< `mlp.spmd:5:7`.
    /// The same, and the calls that led there, innermost first.
    std::vector<std::string> way;
    std::string name; ///< `dot_general`.
    std::vector<Operand> arrays;
    /// For each of the arrays and each of its dimensions the factors of the operation's rule.
    std::vector<std::vector<std::vector<int64_t>>> factors;
    std::vector<std::string> groupAxes; ///< Of a collective that a person wrote, or that came with a derivative.
  };
  std::vector<Array> arrays;
  std::vector<Extension> extensions; ///< In the order in which they happened.
  std::vector<Op> ops;

  /// The steps that brought `axis` to a dimension, latest first; they end at the array about which it is written.
  /// Nothing where the dimension does not have the axis.
  struct Origin {
    unsigned array = 0, dim = 0; ///< Where it is written.
    std::vector<unsigned> steps; ///< Extensions, from there to the dimension asked for.
  };
  std::optional<Origin> trace(unsigned array, unsigned dim, const std::string &axis) const;
};

class ProvenanceRecorder : public PropagationObserver {
public:
  /// `log` may be null if nothing is ever observed; `next`, if given, is told of everything too.
  ProvenanceRecorder(const PropagationState &state, PropagationLog *log, PropagationObserver *next)
      : state(state), log(log), next(next) {}

  void extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim, const ShardingProjection &before,
                const ShardingProjection &after, PropagationStrategy strategy) override;

  /// After propagation, before anything changes the function: writes down the arrays and the operations.
  void finish();

private:
  std::vector<std::string> namesOf(llvm::ArrayRef<AxisPart> axes) const;

  const PropagationState &state;
  PropagationLog *log;
  PropagationObserver *next;
};

} // namespace spmdc
