//===- CollectiveProvenance.cpp - annotations that force collectives ------===//

#include "passes/report/CollectiveProvenance.h"

#include <algorithm>
#include <map>
#include <set>

namespace spmdc {
namespace {

/// Whether `text` contains `name` as a complete word.
bool mentions(const std::string &text, const std::string &name) {
  auto isLetter = [&](size_t at) {
    return at < text.size() && (std::isalnum((unsigned char)text[at]) || text[at] == '_');
  };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if ((at == 0 || !isLetter(at - 1)) && !isLetter(at + name.size()))
      return true;
  return false;
}

/// Keeps the operations for which `holds` is true, or all if it is true for none.
template <typename Predicate> void narrow(std::vector<const PropagationLog::Op *> &ops, Predicate holds) {
  if (std::any_of(ops.begin(), ops.end(), holds))
    std::erase_if(ops, [&](const PropagationLog::Op *op) { return !holds(op); });
}

/// The operations that need the collective: those of its source expression, narrowed to those that its `why` names. No
/// operation has the place of a parameter, of which a collective may reshard the value: then those that use it.
std::vector<const PropagationLog::Op *> findSites(const PropagationLog &log, const CollectiveReport &collective) {
  std::vector<const PropagationLog::Op *> sites;
  auto isAtPlace = [&](const std::string &place) {
    return std::find(collective.places.begin(), collective.places.end(), place) != collective.places.end();
  };
  for (const PropagationLog::Op &op : log.ops)
    if (isAtPlace(op.place))
      sites.push_back(&op);
  if (sites.empty())
    for (const PropagationLog::Op &op : log.ops)
      if (std::any_of(op.arrays.begin(), op.arrays.end(),
                      [&](const PropagationLog::Operand &operand) { return isAtPlace(operand.place); }))
        sites.push_back(&op);
  narrow(sites, [&](const PropagationLog::Op *op) {
    return std::find(collective.callPaths.begin(), collective.callPaths.end(), op->callPath) !=
           collective.callPaths.end();
  });
  narrow(sites, [&](const PropagationLog::Op *op) { return mentions(collective.why, op->name); });
  narrow(sites, [&](const PropagationLog::Op *op) {
    return std::any_of(op->arrays.begin(), op->arrays.end(), [&](const PropagationLog::Operand &operand) {
      return collective.why.find(operand.type) != std::string::npos;
    });
  });
  return sites;
}

class CauseFinder {
public:
  CauseFinder(const PropagationLog &log, std::set<std::string> axes) : log(log), axes(std::move(axes)) {}

  void visit(const PropagationLog::Op &op) {
    std::map<std::string, std::set<int64_t>> shardedFactors; // For each axis.
    for (size_t tensor = 0; tensor < op.arrays.size(); ++tensor)
      for (size_t dim = 0; dim < op.factors[tensor].size(); ++dim)
        for (const std::string &axis : axes)
          if (std::optional<PropagationLog::Origin> origin = log.trace(op.arrays[tensor].array, dim, axis)) {
            shardedFactors[axis].insert(op.factors[tensor][dim].begin(), op.factors[tensor][dim].end());
            add({&op}, axis, *origin);
          }
    // Closed dimensions that the user keeps replicated over an axis, while another array shards the same factor over
    // it.
    for (size_t tensor = 0; tensor < op.arrays.size(); ++tensor) {
      const PropagationLog::Array &array = log.arrays[op.arrays[tensor].array];
      for (size_t dim = 0; dim < std::min(array.written.size(), op.factors[tensor].size()); ++dim) {
        const PropagationLog::WrittenDim &written = array.written[dim];
        auto meetsSharded = [&](const std::string &axis) {
          return std::any_of(op.factors[tensor][dim].begin(), op.factors[tensor][dim].end(),
                             [&](int64_t factor) { return shardedFactors[axis].count(factor) > 0; });
        };
        for (const std::string &axis : axes)
          if (written.isClosed && meetsSharded(axis) &&
              std::find(written.axes.begin(), written.axes.end(), axis) == written.axes.end())
            keep({array.annotationPlace,
                  static_cast<unsigned>(dim),
                  axis,
                  /*isReplicated=*/true,
                  array.name,
                  {{op.place, op.name}}});
      }
    }
  }

  /// Handles the axes for which `visit` found no annotation: the sharding search (spmdc-choose-shardings) gave an array
  /// an axis that propagation had not. Takes the annotations of the nearest operations whose arrays have the axis.
  void visitNeighbors(const std::vector<const PropagationLog::Op *> &sites) {
    for (const std::string &axis : axes)
      if (std::none_of(causes.begin(), causes.end(),
                       [&](const ForcingAnnotation &cause) { return cause.axis == axis; }))
        visitNeighbors(sites, axis);
  }

  std::vector<ForcingAnnotation> takeCauses() {
    std::multimap<size_t, ForcingAnnotation> byDistance;
    for (ForcingAnnotation &cause : causes)
      byDistance.emplace(cause.path.size(), std::move(cause));
    causes.clear();
    for (auto &[distance, cause] : byDistance)
      causes.push_back(std::move(cause));
    return std::move(causes);
  }

private:
  using Path = std::vector<const PropagationLog::Op *>; ///< To the operation that needs the collective.

  void visitNeighbors(const std::vector<const PropagationLog::Op *> &sites, const std::string &axis) {
    std::vector<Path> paths;
    for (const PropagationLog::Op *site : sites)
      paths.push_back({site});
    std::set<const PropagationLog::Op *> seen(sites.begin(), sites.end());
    bool isFound = false;
    while (!isFound && !paths.empty()) {
      std::vector<Path> longer;
      for (const Path &path : paths)
        for (unsigned index : listTouching(*path.front())) {
          const PropagationLog::Op &op = log.ops[index];
          if (!seen.insert(&op).second)
            continue;
          longer.push_back({&op});
          longer.back().insert(longer.back().end(), path.begin(), path.end());
          for (const PropagationLog::Operand &operand : op.arrays)
            for (size_t dim = 0; dim < op.factors[&operand - op.arrays.data()].size(); ++dim)
              if (std::optional<PropagationLog::Origin> origin = log.trace(operand.array, dim, axis)) {
                add(longer.back(), axis, *origin);
                isFound = true;
              }
        }
      paths = std::move(longer);
    }
  }

  /// The operations that share an array with this one, in the order of the program.
  std::set<unsigned> listTouching(const PropagationLog::Op &op) const {
    std::set<unsigned> touching;
    for (const PropagationLog::Operand &operand : op.arrays)
      touching.insert(log.arrays[operand.array].ops.begin(), log.arrays[operand.array].ops.end());
    return touching;
  }

  void add(const Path &path, const std::string &axis, const PropagationLog::Origin &origin) {
    const PropagationLog::Array &array = log.arrays[origin.array];
    ForcingAnnotation cause{array.annotationPlace, origin.dim, axis, /*isReplicated=*/false, array.name, {}};
    for (unsigned step : origin.steps) {
      const PropagationLog::Op &through = log.ops[log.extensions[step].op];
      ProvenanceStep point{through.place, through.name};
      if (cause.path.empty() || cause.path.back() != point)
        cause.path.push_back(std::move(point));
    }
    for (const PropagationLog::Op *op : path)
      if (ProvenanceStep point{op->place, op->name}; cause.path.empty() || cause.path.back() != point)
        cause.path.push_back(std::move(point));
    keep(std::move(cause));
  }

  /// Adds a cause; a duplicate of a known one replaces it if its path is shorter.
  void keep(ForcingAnnotation cause) {
    for (ForcingAnnotation &known : causes)
      if (known.annotationPlace == cause.annotationPlace && known.dim == cause.dim && known.axis == cause.axis &&
          known.isReplicated == cause.isReplicated) {
        if (cause.path.size() < known.path.size())
          known = std::move(cause);
        return;
      }
    causes.push_back(std::move(cause));
  }

  const PropagationLog &log;
  std::set<std::string> axes;
  std::vector<ForcingAnnotation> causes;
};

} // namespace

std::set<std::string> findForcedAxes(const PropagationLog &log, const CollectiveReport &collective) {
  std::set<std::string> axes;
  for (const std::string &axis : collective.axes)
    axes.insert(axis.substr(0, axis.find(':')));
  for (const PropagationLog::Op &op : log.ops)
    if (op.name == collective.op &&
        std::find(collective.places.begin(), collective.places.end(), op.place) != collective.places.end())
      for (const std::string &axis : op.groupAxes)
        axes.erase(axis);
  return axes;
}

std::vector<ForcingAnnotation> findProvenance(const PropagationLog &log, const CollectiveReport &collective) {
  std::set<std::string> axes = findForcedAxes(log, collective);
  if (axes.empty())
    return {};
  CauseFinder finder(log, std::move(axes));
  std::vector<const PropagationLog::Op *> sites = findSites(log, collective);
  for (const PropagationLog::Op *op : sites)
    finder.visit(*op);
  finder.visitNeighbors(sites);
  return finder.takeCauses();
}

} // namespace spmdc
