//===- MessageLoop.h - reads and dispatches messages of a client -*- C++ -*-===//
//
// Reads JSON-RPC messages from a stream and passes them to MLIR's MessageHandler. MLIR's own loop ends at the first
// invalid message; this one answers with an error and continues. Only `exit` and the end of the input end it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Tools/lsp-server-support/Transport.h"

#include <cstdio>
#include <string>

namespace spmdc {

enum class MessageStyle {
  Standard,  ///< A header with `Content-Length`, as in the protocol.
  Delimited, ///< For tests: messages end with a line `// -----`; other lines that begin with `//` are comments.
};

class MessageLoop {
public:
  static constexpr size_t maxMessageBytes = size_t(256) << 20;
  /// The maximal nesting depth of the values in a message.
  static constexpr size_t maxDepth = 256;

  MessageLoop(std::FILE *in, mlir::lsp::MessageHandler &handler, MessageStyle style);

  /// Runs until `exit` or the end of the input. Returns whether the client sent `shutdown` before.
  bool run();

private:
  bool read(std::string &message);
  bool readStandard(std::string &message);
  bool readDelimited(std::string &message);
  bool readLine(std::string &line);
  /// Handles one message. Returns false at `exit`.
  bool handle(const std::string &message);
  bool handleCall(llvm::StringRef method, llvm::json::Value params, llvm::json::Value id);
  void refuse(llvm::json::Value id, mlir::lsp::ErrorCode code, const std::string &message);

  std::FILE *in;
  mlir::lsp::MessageHandler &handler;
  MessageStyle style;
  bool isInitialized = false, isShutDown = false;
};

} // namespace spmdc
