//===- MessageLoop.cpp - reads and dispatches messages of a client --------===//

#include "tools/spmd-lsp-server/MessageLoop.h"

#include "llvm/Support/JSON.h"

#include <algorithm>

using mlir::lsp::ErrorCode;
using mlir::lsp::Logger;

namespace spmdc {
namespace {

/// The error for a message that is not a valid call. It is sent as the answer of a call `$/refuse`, because only the
/// handler's answers and notifications are serialized on the output.
struct Refusal {
  int64_t code = 0;
  std::string message;
};

bool fromJSON(const llvm::json::Value &value, Refusal &result, llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("code", result.code) && map.map("message", result.message);
}

struct Refuser {
  void refuse(const Refusal &refusal, mlir::lsp::Callback<std::nullptr_t> reply) {
    reply(llvm::make_error<mlir::lsp::LSPError>(refusal.message, static_cast<ErrorCode>(refusal.code)));
  }
};

Refuser refuser;
constexpr llvm::StringLiteral kRefuse = "$/refuse";

/// The nesting depth of JSON values, checked before parsing: LLVM's parser is recursive.
size_t depthOf(llvm::StringRef message) {
  size_t depth = 0, deepest = 0;
  bool isInString = false;
  for (size_t i = 0; i < message.size(); ++i) {
    char c = message[i];
    if (isInString) {
      i += c == '\\';
      isInString = c != '"';
    } else if (c == '"') {
      isInString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

} // namespace

MessageLoop::MessageLoop(std::FILE *in, mlir::lsp::MessageHandler &handler, MessageStyle style)
    : in(in), handler(handler), style(style) {
  handler.method(kRefuse, &refuser, &Refuser::refuse);
}

bool MessageLoop::run() {
  std::string message;
  while (read(message))
    if (!handle(message))
      break;
  return isShutDown;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool MessageLoop::read(std::string &message) {
  return style == MessageStyle::Standard ? readStandard(message) : readDelimited(message);
}

/// Reads a line without its end. A line that is too long for a header is truncated. Returns false at the end of the
/// input.
bool MessageLoop::readLine(std::string &line) {
  const size_t longest = style == MessageStyle::Standard ? 4096 : maxMessageBytes;
  line.clear();
  int c;
  while ((c = std::getc(in)) != EOF && c != '\n')
    if (line.size() < longest)
      line += static_cast<char>(c);
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  return c != EOF || !line.empty();
}

bool MessageLoop::readStandard(std::string &message) {
  std::string line;
  uint64_t length = 0;
  bool isKnown = false;
  while (readLine(line)) {
    llvm::StringRef header = line;
    if (header.consume_front_insensitive("content-length:")) {
      isKnown = !header.trim().getAsInteger(10, length);
      continue;
    }
    // Other headers, and any text between messages, are skipped.
    if (!line.empty() || !isKnown)
      continue;
    message.clear();
    bool isTooLong = length > maxMessageBytes;
    for (uint64_t left = length; left > 0;) {
      char bytes[1 << 14];
      size_t count = std::fread(bytes, 1, std::min<uint64_t>(left, sizeof bytes), in);
      if (count == 0)
        return false;
      left -= count;
      if (!isTooLong)
        message.append(bytes, count);
    }
    if (!isTooLong)
      return true;
    refuse(nullptr, ErrorCode::InvalidRequest, "the message is larger than 256 MiB");
    isKnown = false;
  }
  return false;
}

bool MessageLoop::readDelimited(std::string &message) {
  message.clear();
  std::string line;
  bool isAnything = false;
  while (readLine(line)) {
    isAnything = true;
    if (llvm::StringRef(line).trim() == "// -----")
      return true;
    if (!llvm::StringRef(line).ltrim().starts_with("//"))
      message += line + "\n";
  }
  return isAnything;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void MessageLoop::refuse(llvm::json::Value id, ErrorCode code, const std::string &message) {
  Logger::error("{0}", message);
  handler.onCall(kRefuse, llvm::json::Object{{"code", static_cast<int64_t>(code)}, {"message", message}},
                 std::move(id));
}

bool MessageLoop::handle(const std::string &message) {
  if (llvm::StringRef(message).trim().empty() && style == MessageStyle::Delimited)
    return true;
  if (depthOf(message) > maxDepth)
    return refuse(nullptr, ErrorCode::ParseError, "values in the message nest deeper than 256 levels"), true;
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse(llvm::json::isUTF8(message) ? message : llvm::json::fixUTF8(message));
  if (!value)
    return refuse(nullptr, ErrorCode::ParseError, "the message is not JSON: " + llvm::toString(value.takeError())),
           true;
  llvm::json::Object *object = value->getAsObject();
  if (!object)
    return refuse(nullptr, ErrorCode::InvalidRequest, "a message must be an object"), true;
  llvm::json::Value *id = object->get("id");
  std::optional<llvm::StringRef> method = object->getString("method");
  if (!method) {
    if (!object->get("result") && !object->get("error")) // Otherwise a response; the server sends no requests.
      refuse(id ? *id : nullptr, ErrorCode::InvalidRequest, "a message must have a method");
    return true;
  }
  llvm::json::Value *given = object->get("params");
  llvm::json::Value params = given ? *given : nullptr;
  if (id)
    return handleCall(*method, std::move(params), *id);
  if (*method == "exit")
    return false;
  return !isInitialized || handler.onNotify(*method, std::move(params));
}

bool MessageLoop::handleCall(llvm::StringRef method, llvm::json::Value params, llvm::json::Value id) {
  if (method == kRefuse)
    refuse(std::move(id), ErrorCode::MethodNotFound, "method not found: " + method.str());
  else if (isShutDown)
    refuse(std::move(id), ErrorCode::InvalidRequest, "the server is shut down");
  else if (!isInitialized && method != "initialize")
    refuse(std::move(id), ErrorCode::ServerNotInitialized, "the first request must be 'initialize'");
  else if (isInitialized && method == "initialize")
    refuse(std::move(id), ErrorCode::InvalidRequest, "the server is initialized already");
  else
    handler.onCall(method, std::move(params), std::move(id));
  isInitialized |= method == "initialize";
  isShutDown |= method == "shutdown" && isInitialized;
  return true;
}

} // namespace spmdc
