//===- PtxReaderHelper.cpp - reads PTX text -------------------------------===//

#include "tests/passes/gpu/emulator/PtxReaderHelper.h"

#include "tests/passes/gpu/emulator/PtxTokensHelper.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace spmdc {
namespace {

using llvm::StringRef;
using Kind = PtxToken::Kind;

/// Recursive descent; after the first error nothing is read any more.
class Reader {
public:
  explicit Reader(StringRef text) : tokens(splitPtx(text)) {}

  PtxModule read() {
    PtxModule module;
    while (error.empty() && peek().kind != Kind::End)
      readTopLevel(module);
    return module;
  }

  std::string error;

private:
  const PtxToken &peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  PtxToken next() {
    PtxToken token = peek();
    at = std::min(at + 1, tokens.size() - 1);
    return token;
  }
  bool fail(const std::string &what) {
    if (error.empty())
      error = "line " + std::to_string(peek().line) + ": " + what + " '" + peek().text.str() + "'";
    at = tokens.size() - 1;
    return false;
  }
  bool consume(StringRef text) {
    if (!peek().is(text))
      return false;
    next();
    return true;
  }
  bool expect(StringRef text) { return consume(text) || fail("'" + text.str() + "' expected before"); }
  std::string readName() {
    if (peek().kind != Kind::Word || peek().text.starts_with(".")) {
      fail("a name expected before");
      return "";
    }
    return next().text.str();
  }
  int64_t readInteger() {
    bool isNegative = consume("-");
    StringRef text = peek().text;
    uint64_t number = 0;
    text.consume_back("U");
    if (peek().kind != Kind::Number || text.getAsInteger(0, number)) {
      fail("a number expected before");
      return 0;
    }
    next();
    return static_cast<int64_t>(isNegative ? -number : number);
  }

  void readTopLevel(PtxModule &module) {
    if (consume(".version") || consume(".target")) {
      do
        next();
      while (consume(","));
    } else if (consume(".address_size")) {
      if (readInteger() != 64)
        fail("addresses of 64 bits expected before");
    } else if (peek().is(".file") || peek().is(".loc")) {
      skipLine();
    } else {
      bool isExternal = false;
      while (peek().is(".visible") || peek().is(".extern") || peek().is(".weak"))
        isExternal |= next().is(".extern");
      if (peek().is(".entry") || peek().is(".func"))
        readFunction(module);
      else if (std::optional<PtxVariable> variable = readVariable(isExternal))
        module.variables.push_back(std::move(*variable));
      else
        fail("a function or variable expected before");
    }
  }

  void skipLine() {
    for (int line = peek().line; peek().kind != Kind::End && peek().line == line;)
      next();
  }

  /// `.shared .align 4 .b8 name[32] = {...};`, or nullopt without an error if no variable begins here.
  std::optional<PtxVariable> readVariable(bool isExternal = false) {
    PtxVariable variable;
    variable.space = llvm::StringSwitch<std::string>(peek().text)
                         .Case(".param", "param")
                         .Case(".shared", "shared")
                         .Case(".local", "local")
                         .Case(".global", "global")
                         .Case(".const", "const")
                         .Default("");
    if (variable.space.empty())
      return std::nullopt;
    next();
    readDeclarator(variable);
    variable.isExternal = isExternal;
    expect(";");
    return variable;
  }

  void readDeclarator(PtxVariable &variable) {
    uint64_t alignment = consume(".align") ? static_cast<uint64_t>(readInteger()) : 0;
    PtxType type = PtxType::parse(peek().text.drop_front(peek().text.starts_with(".")));
    if (type.kind == PtxType::Kind::None) {
      fail("a type expected before");
      return;
    }
    next();
    // Hints about what a pointer points to.
    while (peek().is(".ptr") || peek().is(".global") || peek().is(".shared"))
      next();
    if (consume(".align"))
      readInteger();
    uint64_t size = type.totalBits() / 8;
    variable.alignment = alignment ? alignment : size;
    variable.name = readName();
    variable.bytes = size;
    if (consume("[")) {
      variable.bytes = peek().is("]") ? 0 : size * static_cast<uint64_t>(readInteger());
      expect("]");
    }
    if (consume("="))
      readContent(variable, size);
  }

  void readContent(PtxVariable &variable, uint64_t size) {
    bool isList = consume("{");
    do {
      auto number = static_cast<uint64_t>(readInteger());
      for (uint64_t i = 0; i < size; ++i)
        variable.content.push_back(static_cast<uint8_t>(number >> (8 * i)));
    } while (isList && consume(","));
    if (isList)
      expect("}");
  }

  std::vector<PtxVariable> readParameters() {
    std::vector<PtxVariable> parameters;
    expect("(");
    while (error.empty() && !peek().is(")")) {
      expect(".param");
      readDeclarator(parameters.emplace_back());
      parameters.back().space = "param";
      if (!consume(","))
        break;
    }
    expect(")");
    return parameters;
  }

  void readFunction(PtxModule &module) {
    PtxFunction function;
    function.line = peek().line;
    function.isEntry = next().is(".entry");
    if (!function.isEntry && peek().is("("))
      function.results = readParameters();
    function.name = readName();
    if (peek().is("("))
      function.parameters = readParameters();
    while (error.empty() && peek().text.starts_with(".")) {
      PtxToken directive = next();
      if (directive.is(".maxntid") || directive.is(".reqntid") || directive.is(".minnctapersm") ||
          directive.is(".maxnreg") || directive.is(".reqnctapercluster")) {
        int32_t product = 1;
        do
          product *= static_cast<int32_t>(readInteger());
        while (consume(","));
        if (directive.is(".reqnctapercluster"))
          function.clusterBlocks = product;
        if (directive.is(".maxntid"))
          function.mostThreads = product;
      } else if (!directive.is(".explicitcluster") && !directive.is(".noreturn")) {
        fail("unknown directive " + directive.text.str() + " before");
      }
    }
    if (consume(";")) // Only declared.
      return;
    expect("{");
    function.scopes.emplace_back();
    readBody(function, 0);
    module.functions.push_back(std::move(function));
  }

  void readBody(PtxFunction &function, int scope) {
    while (error.empty() && !consume("}")) {
      if (consume("{")) {
        function.scopes.emplace_back().parent = scope;
        readBody(function, static_cast<int>(function.scopes.size()) - 1);
      } else if (consume(".reg")) {
        readRegisters(function.scopes[scope]);
      } else if (consume(".pragma")) {
        next();
        expect(";");
      } else if (peek().is(".loc")) {
        skipLine();
      } else if (std::optional<PtxVariable> variable = readVariable()) {
        std::string name = variable->name;
        function.scopes[scope].variables[name] = std::move(*variable);
      } else {
        function.statements.push_back(readStatement(scope));
      }
    }
  }

  void readRegisters(PtxScope &scope) {
    PtxType type = PtxType::parse(next().text.drop_front());
    if (type.kind == PtxType::Kind::None)
      fail("a type of registers expected before");
    do {
      std::string name = readName();
      if (consume("<")) {
        int64_t count = readInteger();
        for (int64_t i = 0; i < count; ++i)
          scope.registers[name + std::to_string(i)] = type;
        expect(">");
      } else {
        scope.registers[name] = type;
      }
    } while (consume(","));
    expect(";");
  }

  PtxStatement readStatement(int scope) {
    PtxStatement statement;
    statement.line = peek().line;
    statement.scope = scope;
    if (peek().kind == Kind::Word && peek(1).is(":")) {
      statement.label = next().text.str();
      next();
      return statement;
    }
    const char *begin = peek().text.data();
    if (consume("@")) {
      statement.isGuardNegated = consume("!");
      statement.guard = readName();
    }
    std::string opcode = readName();
    for (StringRef part : llvm::split(opcode, '.'))
      statement.parts.push_back(part.str());
    if (!peek().is(";"))
      do
        statement.operands.push_back(readOperand());
      while (error.empty() && consume(","));
    const char *end = peek().text.data();
    if (expect(";"))
      for (StringRef word : llvm::split(StringRef(begin, end - begin), '\n'))
        statement.text += (statement.text.empty() ? "" : " ") + word.trim().str();
    std::replace(statement.text.begin(), statement.text.end(), '\t', ' ');
    return statement;
  }

  std::vector<PtxOperand> readList(StringRef end) {
    std::vector<PtxOperand> elements;
    next();
    while (error.empty() && !peek().is(end)) {
      elements.push_back(readOperand());
      if (!consume(","))
        break;
    }
    expect(end);
    return elements;
  }

  PtxOperand readOperand() {
    PtxOperand operand;
    if (peek().is("{") || peek().is("(")) {
      bool isVector = peek().is("{");
      operand.kind = isVector ? PtxOperand::Kind::Vector : PtxOperand::Kind::List;
      operand.elements = readList(isVector ? "}" : ")");
    } else if (consume("[")) {
      operand.kind = PtxOperand::Kind::Address;
      operand.elements.push_back(readOperand());
      operand.integer = operand.elements[0].kind == PtxOperand::Kind::Name ? operand.elements[0].integer : 0;
      expect("]");
    } else if (peek().kind == Kind::Number || peek().is("-")) {
      readNumber(operand);
    } else {
      operand.isNegated = consume("!");
      operand.name = readName();
      if (consume("+"))
        operand.integer = readInteger();
      if (consume("|")) {
        PtxOperand pair;
        pair.kind = PtxOperand::Kind::Pair;
        pair.elements = {operand, readOperand()};
        return pair;
      }
    }
    return operand;
  }

  /// Integers, and floats by their bits: `0f3F800000`, `0d3FF0000000000000`.
  void readNumber(PtxOperand &operand) {
    StringRef text = peek().text;
    uint64_t bits = 0;
    bool isFloat = text.size() == 10 && text.starts_with_insensitive("0f"),
         isDouble = text.size() == 18 && text.starts_with_insensitive("0d");
    if (isFloat || isDouble) {
      operand.kind = PtxOperand::Kind::Float;
      operand.floatBits = isFloat ? 32 : 64;
      if (text.drop_front(2).getAsInteger(16, bits))
        fail("a float expected before");
      operand.integer = static_cast<int64_t>(bits);
      next();
      return;
    }
    operand.kind = PtxOperand::Kind::Integer;
    operand.integer = readInteger();
  }

  std::vector<PtxToken> tokens;
  size_t at = 0;
};

} // namespace

PtxType PtxType::parse(StringRef name) {
  PtxType type;
  if (name == "pred")
    return {Kind::Predicate, 1, 1};
  if (name.consume_back("x2"))
    type.lanes = 2;
  type.kind = name.consume_front("bf")  ? Kind::Bfloat
              : name.consume_front("b") ? Kind::Bits
              : name.consume_front("s") ? Kind::Signed
              : name.consume_front("u") ? Kind::Unsigned
              : name.consume_front("f") ? Kind::Float
                                        : Kind::None;
  bool isKnown = !name.getAsInteger(10, type.bits) &&
                 (type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64 || type.bits == 128);
  return isKnown && type.kind != Kind::None ? type : PtxType();
}

PtxModule readPtx(StringRef text, std::string &error) {
  Reader reader(text);
  PtxModule module = reader.read();
  error = reader.error;
  return module;
}

} // namespace spmdc
