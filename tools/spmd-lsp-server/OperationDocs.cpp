//===- OperationDocs.cpp - documentation of the language's operations -----===//

#include "tools/spmd-lsp-server/OperationDocs.h"

#include "frontend/Prelude.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace spmdc {
namespace {

/// The parsed prelude, with the texts that it points into.
struct PreludeTree {
  Diagnostics diagnostics;
  std::unique_ptr<Ast> ast = parse(diagnostics.addSource("prelude.spmd", std::string(preludeText())), diagnostics);
};

const Ast &preludeTree() {
  static const PreludeTree tree;
  return *tree.ast;
}

/// Transforms of functions, with their parameters. They are not in the table of builtins.
constexpr std::pair<std::string_view, std::string_view> transforms[] = {
    {"grad", "f wrt=0"}, {"value_and_grad", "f wrt=0"}, {"checkpoint", "f"}, {"shard_map", "f in out axis_names=None"}};

std::string signatureOf(std::string_view name, std::string_view parameters) {
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(parameters).split(list, ' ', -1, /*KeepEmpty=*/false);
  std::string text = "fn " + std::string(name) + "(";
  for (auto [i, parameter] : llvm::enumerate(list)) {
    bool isAxes = parameter.consume_front("@");
    text += (i ? ", " : "") + parameter.str() + (isAxes ? ": axes" : "");
  }
  return text + ")";
}

/// The entry of a function in a table row of functions: its code span, and the remark at the end of the cell if it
/// applies. A remark `, each with ...` applies to all functions of the row, `: ...` only to the last one.
std::string rowEntry(llvm::StringRef cell, llvm::StringRef opening) {
  size_t begin = cell.find(opening);
  size_t end = cell.find('`', begin + 1);
  std::string entry = cell.slice(begin, end + 1).str();
  size_t last = end; // The end of the last code span with a function.
  for (size_t at = 0; (at = cell.find('`', at)) != llvm::StringRef::npos;) {
    size_t close = cell.find('`', at + 1);
    if (close == llvm::StringRef::npos)
      break;
    if (cell.slice(at, close).contains('('))
      last = close;
    at = close + 1;
  }
  llvm::StringRef remark = cell.drop_front(last + 1).trim();
  if (remark.starts_with(",") || (remark.starts_with(":") && last == end))
    entry += remark.str();
  return entry;
}

} // namespace

std::string pageEntry(std::string_view page, std::string_view function) {
  std::string opening = "`" + std::string(function) + "(";
  llvm::SmallVector<llvm::StringRef> blocks;
  llvm::StringRef(page).split(blocks, "\n\n");
  std::string paragraph;
  for (llvm::StringRef block : blocks) {
    if (!block.contains(opening))
      continue;
    if (!block.starts_with("|")) {
      if (paragraph.empty())
        paragraph = block.str();
      continue;
    }
    llvm::SmallVector<llvm::StringRef> rows;
    block.split(rows, '\n');
    for (llvm::StringRef row : rows)
      if (row.contains(opening))
        // `| reductions | ... |`; `||` is an operator.
        return rowEntry(row.trim("| ").split(" | ").second, opening);
  }
  return paragraph;
}

std::string operationSignature(std::string_view function) {
  if (const FnDecl *fn = findFunction(preludeTree(), function))
    return std::string(fn->range.text());
  for (auto [name, parameters] : transforms)
    if (name == function)
      return signatureOf(name, parameters);
  const Builtin *builtin = findBuiltin(function);
  return builtin ? signatureOf(function, builtin->parameters) : "";
}

std::string operationDoc(std::string_view function) {
  std::string signature = operationSignature(function);
  if (signature.empty())
    return "";
  std::string text = "```spmd\n" + signature + "\n```\n";
  if (std::string entry = pageEntry(languagePage(), function); !entry.empty())
    text += "\n" + entry + "\n";
  if (const FnDecl *fn = findFunction(preludeTree(), function))
    if (std::string comment = commentAbove(preludeText(), fn->range.begin); !comment.empty())
      text += "\n" + comment + "\n";
  return text;
}

std::vector<std::string> operationNames() {
  std::vector<std::string> names;
  for (const FnDecl &fn : preludeTree().functions)
    names.emplace_back(fn.name.text);
  for (auto [name, parameters] : transforms)
    names.emplace_back(name);
  for (std::string_view name : builtinNames())
    if (!llvm::is_contained(names, name))
      names.emplace_back(name);
  return names;
}

std::string commentAbove(std::string_view text, size_t offset) {
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef above = llvm::StringRef(text).take_front(offset);
  size_t line = above.rfind('\n') + 1;
  if (!above.drop_front(line).trim().empty())
    return ""; // Other code precedes it on its line; a comment above belongs to that.
  above = above.take_front(line);
  while (!above.empty()) {
    above = above.drop_back(); // The newline.
    size_t begin = above.rfind('\n') + 1;
    llvm::StringRef line = above.drop_front(begin).trim();
    if (!line.consume_front("//"))
      break;
    lines.push_back(line.trim());
    above = above.take_front(begin);
  }
  return llvm::join(llvm::reverse(lines), "\n");
}

} // namespace spmdc
