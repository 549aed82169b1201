//===- MessageLoop.h - what a client sends, message by message --*- C++ -*-===//
//
// Reads JSON-RPC messages from a stream and gives them to MLIR's MessageHandler. MLIR's own loop ends at the first
// message that is no request; this one answers with an error and goes on, so that nothing a client sends ends the
// server but `exit` and the end of its input.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Tools/lsp-server-support/Transport.h"

#include <cstdio>
#include <string>

namespace spmdc {

enum class MessageStyle {
  Standard,  ///< A header with `Content-Length`, as the protocol has it.
  Delimited, ///< For tests: messages end with a line `// -----`; other lines that begin with `//` are comments.
};

class MessageLoop {
public:
  static constexpr size_t maxMessageBytes = size_t(256) << 20;
  /// Values in a message may nest this deep.
  static constexpr size_t maxDepth = 256;

  MessageLoop(std::FILE *in, mlir::lsp::MessageHandler &handler, MessageStyle style);

  /// Until `exit` or the end of the input. Whether the client shut the server down before.
  bool run();

private:
  bool read(std::string &message);
  bool readStandard(std::string &message);
  bool readDelimited(std::string &message);
  bool readLine(std::string &line);
  /// False at `exit`.
  bool handle(const std::string &message);
  bool handleCall(llvm::StringRef method, llvm::json::Value params, llvm::json::Value id);
  void refuse(llvm::json::Value id, mlir::lsp::ErrorCode code, const std::string &message);

  std::FILE *in;
  mlir::lsp::MessageHandler &handler;
  MessageStyle style;
  bool isInitialized = false, isShutDown = false;
};

} // namespace spmdc
