//===- spmdc.cpp - the command --------------------------------------------===//

#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"
#include "tools/common/CommandLine.h"
#include "tools/common/RunCommandLine.h"
#include "tools/common/StandardStreams.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/Version.h"

#include <exception>
#include <iostream>
#include <new>

int main(int argc, char **argv) {
  spmdc::prepareWriting();
  CLI::App app{"spmdc: compiles array programs for many processes and devices, runs them, and reports their costs",
               "spmdc"};
  app.require_subcommand(1);
  app.set_version_flag("--version", [] { return spmdc::versionText(); }, "Versions and backends");
  app.option_defaults()->always_capture_default(false);
  int status = spmdc::kOk;
  spmdc::addCompileCommand(app, status);
  spmdc::addRunCommand(app, status);
  spmdc::addInspectCommand(app, status);
  spmdc::addExplainCommand(app, status);
  spmdc::addDevicesCommand(app, status);
  spmdc::addLaunchCommand(app, status);
  spmdc::addStatusCommand(app, status);
  spmdc::addTokenCommand(app, status);
  try {
    spmdc::parseCommandLine(app, argc, argv);
  } catch (const CLI::Success &result) { // --help, --version
    return spmdc::finishWriting("spmdc", app.exit(result));
  } catch (const CLI::ParseError &error) {
    spmd::LogFormat format = spmdc::logFormatOf(argc, argv);
    spmd::RunLog(std::cerr, "spmdc", format).write(spmd::RunLog::Level::Error, error.what());
    if (format == spmd::LogFormat::Text)
      std::cerr << "spmdc --help lists the commands, spmdc COMMAND --help the options of one\n";
    return spmdc::kUsage;
  } catch (const spmd::Error &error) {
    std::cerr << "spmdc: error: " << error.what() << "\n";
    return error.getKind() == spmd::Error::Kind::Usage ? spmdc::kUsage : spmdc::kFailed;
  } catch (const std::bad_alloc &) {
    spmd::releaseMemoryReserve();
    std::cerr << "spmdc: error: " << spmd::noMemoryText() << "\n";
    return spmdc::kFailed;
  } catch (const std::exception &error) {
    std::cerr << "spmdc: error: " << error.what() << "\n";
    return spmdc::kFailed;
  }
  return spmdc::finishWriting("spmdc", status);
}
