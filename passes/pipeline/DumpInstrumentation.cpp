//===- DumpInstrumentation.cpp - dumps the module after every pass --------===//

#include "passes/pipeline/DumpInstrumentation.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace spmdc {

DumpInstrumentation::DumpInstrumentation(std::string directory, std::vector<PassDump> *dumps, Report &report)
    : directory(std::move(directory)), dumps(dumps), report(report) {
  if (this->directory.empty())
    return;
  if (std::error_code error = llvm::sys::fs::create_directories(this->directory))
    report.error = "cannot create the folder '" + this->directory + "': " + error.message();
}

DumpInstrumentation::~DumpInstrumentation() {
  if (directory.empty() || !report.error.empty())
    return;
  std::string page = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>IR after each pass</title>\n<ol>\n";
  for (const std::string &file : files)
    page += "<li><a href=\"" + file + "\">" + file + "</a></li>\n";
  write("index.html", page + "</ol>\n");
}

void DumpInstrumentation::runBeforePass(Pass *, Operation *) { start = std::chrono::steady_clock::now(); }

void DumpInstrumentation::runAfterPass(Pass *pass, Operation *op) {
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  std::string name = pass->getArgument().str();
  if (name.empty()) // adaptors that run nested passes on functions
    return;
  report.times.push_back({name, elapsed.count()});
  if (dumps)
    dumps->push_back(dump(name, op));
  if (directory.empty())
    return;
  std::string text, file;
  llvm::raw_string_ostream os(text), fileOs(file);
  op->print(os, OpPrintingFlags().enableDebugInfo());
  os << "\n";
  fileOs << llvm::format("%02zu-", files.size()) << name << ".mlir";
  files.push_back(file);
  write(file, text);
}

PassDump DumpInstrumentation::dump(StringRef pass, Operation *op) {
  constexpr int64_t shownElements = 16;
  PassDump result{pass.str(), "", {}};
  llvm::raw_string_ostream os(result.text);
  AsmState::LocationMap lines;
  AsmState state(op, OpPrintingFlags().elideLargeElementsAttrs(shownElements), &lines);
  op->print(os, state);
  os << "\n";
  // Sorted by source position, not by pointer, for the same result on every run. The first operation on a line
  // represents it.
  std::map<std::pair<unsigned, unsigned>, Location> ordered;
  for (auto &[printed, place] : lines)
    ordered.emplace(place, printed->getLoc());
  for (auto &[place, loc] : ordered)
    if (std::optional<SourcePosition> position = getSourcePosition(loc))
      result.places.emplace(place.first - 1, *position);
  return result;
}

void DumpInstrumentation::write(StringRef name, StringRef text) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error && report.error.empty())
    report.error = ("cannot write '" + path.str() + "': " + error.message()).str();
}

} // namespace spmdc
