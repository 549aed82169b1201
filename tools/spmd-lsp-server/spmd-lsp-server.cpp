//===- spmd-lsp-server.cpp - editors: diagnostics, hover, names -----------===//

#include "passes/pipeline/Registration.h"
#include "tools/common/CommandLine.h"
#include "tools/spmd-lsp-server/MessageLoop.h"
#include "tools/spmd-lsp-server/Server.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/lsp-server-support/Logging.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdlib>

namespace spmdc {
namespace {

/// Whether the command line asks for MLIR's server: by its name (a link), or by its first option.
bool isForIr(int argc, char **argv) {
  return llvm::sys::path::filename(argv[0]).ends_with("mlir-lsp-server") ||
         (argc > 1 && llvm::StringRef(argv[1]) == "--mlir");
}

/// Runs MLIR's own server, with the dialects of all stages. It parses the rest of the command line.
int serveIr(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registry.insert<mlir::arith::ArithDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect>();
  std::vector<char *> arguments(argv, argv + argc);
  if (argc > 1 && llvm::StringRef(argv[1]) == "--mlir")
    arguments.erase(arguments.begin() + 1);
  arguments.push_back(nullptr);
  return succeeded(mlir::MlirLspServerMain(static_cast<int>(arguments.size() - 1), arguments.data(), registry)) ? 0 : 1;
}

struct Flags {
  FrontendOptions frontend;
  std::vector<std::string> sets;
  std::string log = "error";
  bool isDelimited = false, waits = false;

  void addTo(CLI::App &app) {
    app.add_flag("--mlir")->description("Serve .mlir with MLIR's own server; must be the first option; the options "
                                        "after it are those of mlir-lsp-server");
    app.add_option("--mesh", frontend.meshOverride, "Replace the sizes of the mesh, or declare one: a=4,b=2");
    app.add_option("--set", sets, "Replace a const: NAME=VALUE");
    app.add_option("--fn", frontend.function, "The entry function");
    app.add_option("--log", log, "The log level on stderr")->check(CLI::IsMember({"error", "info", "verbose"}));
    app.add_flag("--lit-test", isDelimited,
                 "For tests: read messages that end with a line '// -----', print readable ones");
    app.add_flag("--wait", waits, "For tests: finish the analysis of a document before the next message is read");
  }

  /// Returns false if one of `sets` is not NAME=VALUE.
  bool finish() {
    for (const std::string &set : sets) {
      size_t equal = set.find('=');
      if (equal == std::string::npos || equal == 0)
        return false;
      frontend.sets.emplace_back(set.substr(0, equal), set.substr(equal + 1));
    }
    return true;
  }

  mlir::lsp::Logger::Level logLevel() const {
    using Level = mlir::lsp::Logger::Level;
    return log == "error" ? Level::Error : log == "info" ? Level::Info : Level::Debug;
  }
};

int serve(const Flags &flags) {
  mlir::lsp::Logger::setLogLevel(flags.logLevel());
  // If the client ends, the input ends, too; a failed write to it must not kill the server before that.
  std::signal(SIGPIPE, SIG_IGN);
  auto forgetErrors = llvm::make_scope_exit([] { llvm::outs().clear_error(); });
  mlir::lsp::JSONTransport transport(stdin, llvm::outs(), mlir::lsp::JSONStreamStyle::Standard, flags.isDelimited);
  mlir::lsp::MessageHandler handler(transport);
  Server server(handler, flags.frontend, flags.waits);
  MessageStyle style = flags.isDelimited ? MessageStyle::Delimited : MessageStyle::Standard;
  bool isShutDown = MessageLoop(stdin, handler, style).run();
  // As the protocol demands, the status is 1 after `exit` without `shutdown`.
  int status = isShutDown ? 0 : 1;
  if (server.isBusy())
    std::_Exit(status); // Do not wait for the analysis: no request needs it, and all messages are flushed.
  return status;
}

} // namespace
} // namespace spmdc

int main(int argc, char **argv) {
  if (spmdc::isForIr(argc, argv))
    return spmdc::serveIr(argc, argv);
  CLI::App app("Language server for .spmd over standard input and output; docs/editors.md says how editors start it");
  app.set_version_flag("--version", SPMDC_VERSION);
  spmdc::Flags flags;
  flags.addTo(app);
  try {
    spmdc::parseCommandLine(app, argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!flags.finish()) {
    llvm::errs() << "spmd-lsp-server: error: --set takes NAME=VALUE\n";
    return 2;
  }
  try {
    return spmdc::serve(flags);
  } catch (const std::exception &error) { // For example, the system cannot create threads.
    llvm::errs() << "spmd-lsp-server: error: " << error.what() << "\n";
    return 1;
  }
}
