//===- Completion.cpp - completion items at a cursor ----------------------===//

#include "tools/spmd-lsp-server/Completion.h"
#include "tools/spmd-lsp-server/HoverText.h"
#include "tools/spmd-lsp-server/OperationDocs.h"

#include "frontend/syntax/Lexer.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using mlir::lsp::CompletionItemKind;

namespace spmdc {
namespace {

class Completion {
public:
  Completion(const Snapshot &snapshot, uint32_t offset)
      : snapshot(snapshot), offset(offset), source(diagnostics.addSource("", snapshot.text->str())),
        tokens(lex(source, diagnostics)) {}

  std::vector<mlir::lsp::CompletionItem> run() {
    if (isInCommentOrString())
      return {};
    size_t before = tokensBefore();
    TokenKind last = before ? tokens[before - 1].kind : TokenKind::Semicolon;
    if (last == TokenKind::Dot)
      addFields(before - 1);
    else if (isInPartition(before))
      addAxes();
    else
      addNames(last == TokenKind::At);
    return std::move(items);
  }

private:
  /// The number of tokens before the word at the cursor.
  size_t tokensBefore() const {
    size_t count = 0;
    while (count < tokens.size() && tokens[count].kind != TokenKind::End && tokens[count].begin < offset)
      ++count;
    if (count == 0 || tokens[count - 1].end < offset)
      return count;
    TokenKind last = tokens[count - 1].kind;
    bool isWord = last == TokenKind::Identifier || (last >= TokenKind::Mesh && last <= TokenKind::False);
    return isWord ? count - 1 : count;
  }

  /// Whether the cursor is in a comment: no token covers it, and `//` precedes it on its line.
  bool isInCommentOrString() const {
    std::string_view text = source.getText();
    uint32_t from = 0; // The end of the last token that begins before the cursor.
    for (const Token &token : tokens) {
      if (token.begin >= offset)
        break;
      if (token.kind == TokenKind::String && offset < token.end)
        return true;
      from = token.end;
    }
    if (from >= offset)
      return false;
    std::string_view between = text.substr(from, offset - from);
    size_t lineBegin = between.rfind('\n');
    return between.find("//", lineBegin == between.npos ? 0 : lineBegin) != between.npos;
  }

  std::string_view textOf(const Token &token) const {
    return source.getText().substr(token.begin, token.end - token.begin);
  }

  /// Whether the cursor is in `P(`, or in the parentheses of `8@(a, b)`, where only names of axes can occur.
  bool isInPartition(size_t before) const {
    int depth = 0;
    for (size_t i = before; i-- > 0;) {
      switch (tokens[i].kind) {
      case TokenKind::RightParen:
        ++depth;
        break;
      case TokenKind::LeftParen:
        if (--depth < 0)
          return i > 0 && (textOf(tokens[i - 1]) == "P" || tokens[i - 1].kind == TokenKind::At);
        break;
      case TokenKind::Identifier:
      case TokenKind::Comma:
      case TokenKind::Question:
      case TokenKind::Integer:
      case TokenKind::Not:
        break;
      default:
        return false;
      }
    }
    return false;
  }

  /// Completes `p.layers.`: finds the variable `p`, whose leaves have paths such as `layers.0.w`.
  void addFields(size_t dot) {
    std::vector<std::string_view> path;
    size_t i = dot;
    while (i > 0 && tokens[i].kind == TokenKind::Dot && tokens[i - 1].kind == TokenKind::Identifier) {
      path.insert(path.begin(), textOf(tokens[i - 1]));
      if (i < 2 || tokens[i - 2].kind != TokenKind::Dot)
        break;
      i -= 2;
    }
    std::set<std::string> fields;
    if (!path.empty()) {
      std::string prefix;
      for (std::string_view part : llvm::ArrayRef(path).drop_front())
        prefix += std::string(part) + ".";
      for (const Symbol *symbol : snapshot.symbols->visibleAt(offset))
        if (const IndexedPlace *place = symbol->name == path.front() ? snapshot.index->find(symbol->place) : nullptr)
          for (const IndexedInstance &instance : place->instances)
            for (const IndexedLeaf &leaf : instance.leaves)
              if (llvm::StringRef rest = leaf.path; rest.consume_front(prefix) && !rest.empty())
                fields.insert(rest.split('.').first.str());
    }
    // Elements of tuples and lists have numbers, which the language writes in brackets.
    std::erase_if(fields, [](const std::string &field) { return std::isdigit(static_cast<unsigned char>(field[0])); });
    for (const std::string &field : fields)
      add(field, CompletionItemKind::Field, "");
    if (!fields.empty())
      return;
    for (std::string_view attribute : {"T", "shape", "ndim"})
      add(std::string(attribute), CompletionItemKind::Property, "");
    for (const Symbol &symbol : snapshot.symbols->getSymbols())
      if (symbol.kind == SymbolKind::Field)
        addSymbol(symbol);
  }

  void addAxes() {
    for (const Symbol &symbol : snapshot.symbols->getSymbols())
      if (symbol.kind == SymbolKind::Axis)
        addSymbol(symbol);
  }

  void addNames(bool isBehindAt) {
    if (isBehindAt)
      addAxes();
    for (const Symbol *symbol : snapshot.symbols->visibleAt(offset))
      addSymbol(*symbol);
    for (const std::string &name : operationNames())
      add(name, CompletionItemKind::Function, operationSignature(name));
    for (std::string_view name : dtypeNames())
      add(std::string(name), CompletionItemKind::TypeParameter, "");
    for (std::string_view word : keywordNames())
      add(std::string(word), CompletionItemKind::Keyword, "");
  }

  void addSymbol(const Symbol &symbol) {
    const IndexedPlace *place = snapshot.index->find(symbol.place);
    std::string declaration = snapshot.text->str().substr(symbol.declaration.begin, symbol.declaration.size());
    bool isValue = symbol.kind == SymbolKind::Parameter || symbol.kind == SymbolKind::Variable;
    add(symbol.name, kindOf(symbol.kind), isValue ? (place ? typeText(*place) : "") : declaration);
  }

  static CompletionItemKind kindOf(SymbolKind kind) {
    switch (kind) {
    case SymbolKind::Mesh:
    case SymbolKind::Axis:
      return CompletionItemKind::EnumMember;
    case SymbolKind::Const:
    case SymbolKind::GenericSize:
      return CompletionItemKind::Constant;
    case SymbolKind::Struct:
      return CompletionItemKind::Struct;
    case SymbolKind::Field:
      return CompletionItemKind::Field;
    case SymbolKind::Function:
      return CompletionItemKind::Function;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
      return CompletionItemKind::Variable;
    }
    llvm_unreachable("unknown symbol");
  }

  /// Adds an item, unless there is one with this label: the program's names come before operations of the same name.
  void add(const std::string &label, CompletionItemKind kind, const std::string &detail) {
    if (!labels.insert(label).second)
      return;
    std::string number = std::to_string(items.size());
    items.emplace_back(label, kind, std::string(6 - std::min<size_t>(6, number.size()), '0') + number);
    items.back().detail = detail;
  }

  const Snapshot &snapshot;
  uint32_t offset;
  Diagnostics diagnostics; ///< Errors of the lexer, which the analysis reports.
  const Source &source;
  std::vector<Token> tokens;
  std::vector<mlir::lsp::CompletionItem> items;
  std::set<std::string> labels;
};

} // namespace

mlir::lsp::CompletionList completionsAt(const Snapshot &snapshot, mlir::lsp::Position position) {
  mlir::lsp::CompletionList list;
  if (snapshot.text->str().size() <= Source::maxBytes)
    list.items = Completion(snapshot, snapshot.text->offsetAt(position)).run();
  return list;
}

} // namespace spmdc
