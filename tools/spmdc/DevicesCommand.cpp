//===- DevicesCommand.cpp - spmdc devices ---------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/device/cuda/ExplainGpus.h"
#include "runtime/support/CountText.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "tools/common/RunCommandLine.h"
#include "tools/spmdc/Command.h"
#include "tools/spmdc/MeasureCostModel.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

namespace spmdc {
namespace {

struct DevicesCommand {
  spmd::InitializeOptions job;
  bool explain = false;
  std::string measureFile, measureMesh;

  int run() {
    try {
      if (explain)
        return printEnvironment();
      spmd::MeshShape mesh = parseMesh();
      job.notice = [&](const std::string &text, bool isWarning) {
        std::string line = std::string("spmdc: ") + (isWarning ? "warning: " : "") + text + "\n";
        std::fputs(line.c_str(), stderr);
      };
      spmd::initialize(job);
      if (!measureFile.empty()) {
        measure(mesh);
        spmd::shutdown();
        return kOk;
      }
      std::vector<spmd::DeviceInfo> local = spmd::local_devices();
      std::cout << "process " << spmd::process_index() << " of " << spmd::process_count() << "\n";
      for (const spmd::DeviceInfo &device : spmd::devices()) {
        bool isLocal = std::find(local.begin(), local.end(), device) != local.end();
        std::cout << device.str() << " process " << device.process_index << (isLocal ? " (local)" : "") << "\n";
      }
      spmd::shutdown();
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return error.getKind() == spmd::Error::Kind::Usage ? kUsage : kFailed;
    }
    return kOk;
  }

  /// Parses `--mesh a=4,b=2`; without the option, the mesh has no axes.
  spmd::MeshShape parseMesh() const {
    spmd::MeshShape mesh;
    std::stringstream parts(measureMesh);
    for (std::string part; std::getline(parts, part, ',');) {
      size_t equals = part.find('=');
      spmd::MeshAxis axis{part.substr(0, equals), 0};
      bool isName =
          !axis.name.empty() && !std::isdigit(static_cast<unsigned char>(axis.name[0])) &&
          std::all_of(axis.name.begin(), axis.name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      const char *end = part.data() + part.size();
      auto [rest, error] = equals == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                                       : std::from_chars(part.data() + equals + 1, end, axis.size);
      if (!isName || error != std::errc() || rest != end || axis.size < 1 || axis.size > (1 << 20) ||
          mesh.indexOf(axis.name) >= 0)
        throw spmd::Error("--mesh: '" + part + "' is not an axis of a mesh such as a=4,b=2", spmd::Error::Kind::Usage);
      mesh.axes.push_back(axis);
    }
    return mesh;
  }

  /// Opens the file before it measures, so that a file that cannot be written is reported at once.
  void measure(const spmd::MeshShape &mesh) const {
    if (!mesh.axes.empty() && mesh.deviceCount() != spmd::device_count())
      throw spmd::Error("--mesh " + measureMesh + " has " + spmd::countText(mesh.deviceCount(), "device") +
                            " and the job has " + std::to_string(spmd::device_count()),
                        spmd::Error::Kind::Usage);
    std::optional<spmd::AtomicFile> file;
    if (spmd::process_index() == 0)
      file.emplace(measureFile);
    CostModel model = measureCostModel(mesh);
    if (!file)
      return;
    bool hasLinks = spmd::device_count() > 1;
    std::string text = hasLinks ? model.str() : model.deviceStr();
    file->write(text);
    file->commit();
    std::cout << text;
    if (!hasLinks)
      std::cerr << "spmdc: warning: one device has no links to measure: '" << measureFile
                << "' has no latency_us, bytes_per_second and overlap, so their defaults apply\n";
  }

  /// Throws CLI::ValidationError for an option that --explain would ignore.
  static void refuseIgnored(const CLI::App &command) {
    for (const CLI::Option *option : command.get_options())
      if (option->count() > 0 && option->get_name() != "--explain")
        throw CLI::ValidationError("--explain reports what was found in the environment and joins no job, so " +
                                   option->get_name() + " would be ignored; leave one of them out");
  }

  /// Prints what was found in the environment; joins no job.
  static int printEnvironment() {
    std::cout << spmd::Environment::explain();
    std::vector<std::string> ignored;
    std::string toolkit = spmd::Environment::read(/*isAlone=*/true, &ignored).cudaToolkit.value_or("");
    std::cout << spmd::cuda::explainGpus(toolkit);
    return kOk;
  }
};

} // namespace

void addDevicesCommand(CLI::App &app, int &status) {
  CLI::App *command =
      app.add_subcommand("devices", "List the global and local devices, after joining the job if one is named");
  auto state = std::make_shared<DevicesCommand>();
  addJobOptions(*command, state->job);
  command->add_flag("--explain", state->explain,
                    "Only report what was found in the environment, and which cluster that is");
  CLI::Option *measure = command
                             ->add_option("--measure", state->measureFile,
                                          "Measure links and devices, and write a cost model for --cost-model")
                             ->type_name("FILE");
  command->add_option("--mesh", state->measureMesh, "With --measure: measure each axis of this mesh by itself: a=4,b=2")
      ->type_name("AXES")
      ->needs(measure);
  command->callback([command, state, &status] {
    if (state->explain)
      DevicesCommand::refuseIgnored(*command);
    status = state->run();
  });
}

} // namespace spmdc
