//===- Budget.cpp - limits on the cost of a program -----------------------===//

#include "passes/report/Budget.h"

#include "ir/spmd/BudgetAttr.h"
#include "runtime/support/ByteText.h"
#include "runtime/support/CountText.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace spmdc {
namespace {

constexpr size_t kShownContributors = 5;

struct Contributor {
  double amount;
  std::string place, text;
};

/// Sorts by amount, the largest first; equal amounts keep the order of the program.
void sortBySize(std::vector<Contributor> &contributors) {
  std::multimap<double, Contributor, std::greater<>> sorted;
  for (Contributor &contributor : contributors)
    sorted.emplace(contributor.amount, std::move(contributor));
  contributors.clear();
  for (auto &[amount, contributor] : sorted)
    contributors.push_back(std::move(contributor));
}

std::string titleOf(const CollectiveReport &collective) {
  std::string text = collective.op + " over ";
  for (size_t i = 0; i < collective.axes.size(); ++i)
    text += (i ? ", " : "") + collective.axes[i];
  if (collective.tripCount > 1)
    text += ", " + std::to_string(collective.tripCount) + " times";
  return text;
}

std::vector<Contributor> listCollectives(const ProgramReport &report) {
  std::vector<Contributor> contributors;
  for (const FunctionReport &function : report.functions)
    for (const CollectiveReport &collective : function.collectives)
      if (collective.isCounted)
        contributors.push_back({collective.totalWireBytes(), collective.location,
                                spmd::bytesText(collective.totalWireBytes()) + " by " + titleOf(collective)});
  sortBySize(contributors);
  return contributors;
}

class BufferWriters {
public:
  explicit BufferWriters(const spmd::Plan &plan) : plan(plan) { walk(plan.steps); }

  /// The largest arena buffer that the steps of each place write.
  std::map<std::string, int64_t> largest;

private:
  void walk(const std::vector<spmd::Step> &steps) {
    for (const spmd::Step &step : steps) {
      place = step.location.line ? step.location.str() : "";
      std::visit([&](const auto &op) { visit(op); }, step.op);
    }
  }
  void note(spmd::BufferId id) {
    if (const spmd::BufferInfo &buffer = plan.buffers[id]; buffer.space == spmd::BufferInfo::Space::Arena)
      largest[place] = std::max(largest[place], buffer.bytes());
  }
  void visit(const spmd::LaunchStep &op) {
    std::for_each(op.operands.begin(), op.operands.end(), [&](auto id) { note(id); });
  }
  void visit(const spmd::MatmulStep &op) { note(op.result); }
  void visit(const spmd::LibraryStep &op) { note(op.result); }
  void visit(const spmd::CopyStep &op) { note(op.target); }
  void visit(const spmd::CollectiveStartStep &op) { note(op.result); }
  void visit(const spmd::IfStep &op) {
    walk(op.thenSteps);
    walk(op.elseSteps);
  }
  void visit(const spmd::WhileStep &op) {
    walk(op.condition);
    walk(op.body);
  }
  void visit(const spmd::ForStep &op) { walk(op.body); }
  void visit(const spmd::CollectiveDoneStep &) {}
  void visit(const spmd::PrintStep &) {}

  const spmd::Plan &plan;
  std::string place;
};

std::vector<Contributor> listMemory(const ProgramReport &report, const spmd::Plan &plan) {
  std::vector<Contributor> contributors;
  auto add = [&](double bytes, const std::string &place, const std::string &what) {
    contributors.push_back({bytes, place, spmd::bytesText(bytes) + " for " + what});
  };
  const FunctionReport &function = report.functions.front();
  for (size_t i = 0; i < plan.params.size(); ++i)
    add(static_cast<double>(plan.params[i].localBytes()), i < function.params.size() ? function.params[i].location : "",
        "the argument '" + plan.params[i].name + "'");
  for (size_t i = 0; i < plan.results.size(); ++i)
    add(static_cast<double>(plan.results[i].localBytes()),
        i < function.results.size() ? function.results[i].location : "", "the result '" + plan.results[i].name + "'");
  for (const auto &[place, bytes] : BufferWriters(plan).largest)
    add(static_cast<double>(bytes), place, "the largest intermediate here");
  sortBySize(contributors);
  return contributors;
}

BudgetExcess describe(const BudgetLimit &limit, std::string message, const std::vector<Contributor> &contributors) {
  BudgetExcess excess;
  for (const Contributor &contributor : contributors) {
    if (contributor.amount <= 0 || excess.lines.size() == kShownContributors)
      break;
    if (excess.lines.empty())
      excess.lines.push_back({contributor.place, message + ": " + contributor.text});
    else
      excess.lines.push_back({contributor.place, contributor.text});
  }
  if (excess.lines.empty())
    excess.lines.push_back({contributors.empty() ? "" : contributors.front().place, message});
  if (!limit.place.empty())
    excess.lines.push_back({limit.place, "the budget is set here"});
  return excess;
}

std::vector<WhileReport> listSendingLoops(const ProgramReport &report) {
  std::vector<WhileReport> loops;
  for (const FunctionReport &function : report.functions)
    for (const WhileReport &loop : function.whileLoops)
      if (loop.wireBytesPerDevice > 0)
        loops.push_back(loop);
  return loops;
}

/// A warning for a limit that the program keeps if the `while` has few iterations.
BudgetExcess warnOf(const WhileReport &loop, const BudgetLimit &limit, double wireBytes) {
  auto allowed = static_cast<double>(limit.limit);
  double most = 1 + std::floor((allowed - wireBytes) / loop.wireBytesPerDevice); // It may be no 64-bit integer.
  BudgetExcess excess;
  excess.isWarning = true;
  excess.lines.push_back(
      {loop.location,
       "each device sends " + spmd::bytesText(loop.wireBytesPerDevice) +
           " in each iteration of this 'while', and the number of iterations is unknown: the budget of " +
           spmd::bytesText(allowed) + " counts one, and more than " + llvm::formatv("{0:F0}", most).str() +
           " exceed it"});
  if (!limit.place.empty())
    excess.lines.push_back({limit.place, "the budget is set here"});
  return excess;
}

} // namespace

std::optional<std::vector<BudgetLimit>> parseBudget(std::string_view text, std::string &error) {
  std::vector<BudgetLimit> limits;
  while (true) {
    size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    size_t equals = item.find('=');
    BudgetLimit limit{std::string(item.substr(0, equals)), 0, ""};
    if (equals == std::string_view::npos) {
      error =
          "'" + std::string(item) + "' is not a limit; limits are, for example, wire=64MiB,collectives=3,memory=2GiB";
      return std::nullopt;
    }
    error = parseBudgetLimit(limit.what, item.substr(equals + 1), limit.limit);
    for (const BudgetLimit &known : limits)
      if (known.what == limit.what)
        error = "'" + limit.what + "' is given twice";
    if (!error.empty())
      return std::nullopt;
    limits.push_back(std::move(limit));
    if (comma == std::string_view::npos)
      return limits;
    text = text.substr(comma + 1);
  }
}

std::vector<BudgetLimit> getBudget(mlir::ModuleOp module, const std::vector<BudgetLimit> &overrides) {
  std::vector<BudgetLimit> limits = overrides;
  auto own = module->getAttrOfType<mlir::ArrayAttr>(kBudgetAttrName);
  if (!own)
    return limits;
  for (mlir::Attribute attr : own) {
    auto entry = llvm::dyn_cast<mlir::DictionaryAttr>(attr);
    auto what = entry ? entry.getAs<mlir::StringAttr>("what") : mlir::StringAttr();
    auto limit = entry ? entry.getAs<mlir::IntegerAttr>("limit") : mlir::IntegerAttr();
    auto place = entry ? entry.getAs<mlir::StringAttr>("place") : mlir::StringAttr();
    if (!what || !limit)
      continue;
    bool isOverridden = std::any_of(overrides.begin(), overrides.end(),
                                    [&](const BudgetLimit &other) { return other.what == what.getValue(); });
    if (!isOverridden)
      limits.push_back({what.str(), limit.getInt(), place ? place.str() : ""});
  }
  return limits;
}

std::vector<BudgetExcess> checkBudget(const std::vector<BudgetLimit> &limits, const ProgramReport &report,
                                      const spmd::Plan &plan, int64_t bytesPerDevice) {
  std::vector<BudgetExcess> excesses;
  std::vector<Contributor> collectives = listCollectives(report);
  double wireBytes = 0;
  for (const FunctionReport &function : report.functions)
    wireBytes += function.wireBytesPerDevice;
  for (const BudgetLimit &limit : limits) {
    auto allowed = static_cast<double>(limit.limit);
    auto add = [&](const std::string &message, const std::vector<Contributor> &contributors) {
      excesses.push_back(describe(limit, message, contributors));
    };
    auto exceeds = [&](double bytes, const std::string &behind) {
      auto [needed, most] = spmd::comparedBytesTexts(bytes, allowed);
      return needed + behind + ", and the budget is " + most;
    };
    if (limit.what == "wire" && wireBytes > allowed) {
      add("each device sends " + exceeds(wireBytes, ""), collectives);
      for (const WhileReport &loop : listSendingLoops(report))
        excesses.back().lines.push_back({loop.location, "this 'while' counts as one iteration, as their number is "
                                                        "unknown; each further one sends " +
                                                            spmd::bytesText(loop.wireBytesPerDevice)});
    } else if (limit.what == "wire") {
      for (const WhileReport &loop : listSendingLoops(report))
        excesses.push_back(warnOf(loop, limit, wireBytes));
    } else if (limit.what == "collectives" && collectives.size() > static_cast<size_t>(limit.limit))
      add("the program has " + spmd::countText(static_cast<int64_t>(collectives.size()), "collective") +
              ", and the budget is " + std::to_string(limit.limit),
          collectives);
    else if (limit.what == "memory" && bytesPerDevice > limit.limit)
      add("each device needs " + exceeds(static_cast<double>(bytesPerDevice), " of memory"), listMemory(report, plan));
  }
  return excesses;
}

} // namespace spmdc
