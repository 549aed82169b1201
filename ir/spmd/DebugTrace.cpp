//===- DebugTrace.cpp - why a pattern does not apply (--debug-only) -------===//

#include "ir/spmd/DebugTrace.h"

#include "ir/spmd/Location.h"
#include "runtime/support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <mutex>

namespace spmdc {
namespace {

/// The head of the list of traces. It is filled before `main` runs, and not changed afterwards.
constinit DebugTrace *first = nullptr;

constinit std::atomic<bool> anyOn = false;

std::string_view withoutPrefix(std::string_view name) {
  constexpr std::string_view prefix = "spmdc-";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// Writes one line. Lines of several threads do not mix.
void printLine(const std::string &line) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  llvm::errs() << line;
}

} // namespace

constinit thread_local int DebugTrace::pauses = 0;
constinit thread_local const DebugTrace *DebugTrace::exempt = nullptr;

DebugTrace::DebugTrace(const char *name, const char *refusal) noexcept : name(name), refusal(refusal), next(first) {
  first = this;
}

std::vector<std::string_view> DebugTrace::listNames() {
  std::vector<std::string_view> names;
  for (const DebugTrace *trace = first; trace; trace = trace->next)
    names.emplace_back(trace->name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string DebugTrace::helpText() {
  std::string text = "The passes and modules that --debug-only traces:\n";
  for (std::string_view name : listNames())
    text.append("  ").append(name).append("\n");
  return text;
}

std::string DebugTrace::turnOn(std::string_view names) {
  const std::vector<std::string_view> known = listNames();
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(names).split(parts, ',');
  for (llvm::StringRef part : parts) {
    std::string_view wanted = withoutPrefix(part.trim());
    if (llvm::is_contained(known, wanted))
      continue;
    std::string_view near = spmd::nearestSpelling(wanted, known);
    return "'" + std::string(part.trim()) + "' is not a traced pass or module" +
           (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?") + " (known: " + llvm::join(known, ", ") +
           ")";
  }
  for (llvm::StringRef part : parts)
    for (DebugTrace *trace = first; trace; trace = trace->next)
      if (withoutPrefix(part.trim()) == trace->name)
        trace->on = true;
  anyOn = true;
  return "";
}

bool DebugTrace::isAnyOn() { return anyOn; }

void DebugTrace::write(llvm::raw_ostream &out, mlir::Operation *op) {
  out << (op ? op->getName().stripDialect() : "none");
}

void DebugTrace::write(llvm::raw_ostream &out, ArrayType type) { out << type.str(); }

void DebugTrace::print(mlir::Operation *op, llvm::StringRef prefix, const std::string &text) const {
  print(op->getLoc(), format(op, ": ", prefix, prefix.empty() ? "" : ": ", text));
}

void DebugTrace::print(mlir::Location loc, const std::string &text) const {
  std::string place;
  if (std::optional<SourcePosition> position = getSourcePosition(loc))
    place = position->str() + ": ";
  printLine("[" + std::string(name) + "] " + place + text + "\n");
}

} // namespace spmdc
