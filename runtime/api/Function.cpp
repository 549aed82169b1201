//===- Function.cpp - compiled programs, and calling them -----------------===//

#include "runtime/api/FunctionImpl.h"

#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/WireBytes.h"

#include <algorithm>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

FunctionImpl &get(const std::shared_ptr<FunctionImpl> &impl) {
  if (!impl)
    throw usage("a Function without a program is used; make it with load() or jit()");
  return *impl;
}

} // namespace

std::vector<ValueDescription> describeValues(const std::vector<ValueInfo> &values, const Mesh &mesh) {
  std::vector<ValueDescription> result;
  for (const ValueInfo &value : values)
    result.push_back({value.name, value.dtype, value.shape, NamedSharding(mesh, specOf(value.sharding))});
  return result;
}

Mesh meshForProgram(const MeshShape &shape, const std::optional<Mesh> &given, std::source_location where) {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  std::string axes;
  for (const MeshAxis &axis : shape.axes) {
    sizes.push_back(axis.size);
    names.push_back(axis.name);
    axes += (axes.empty() ? "'" : ", '") + axis.name + "': " + std::to_string(axis.size);
  }
  if (given) {
    if (meshShapeOf(*given) != shape)
      throw usage("the program is for Mesh(" + axes + ") and is given " + given->str());
    return *given;
  }
  return make_mesh(std::move(sizes), std::move(names), where);
}

Program::Program(std::shared_ptr<Job> ownJob, std::shared_ptr<const Artifact> ownArtifact, const Mesh &onMesh,
                 ProgramOptions options)
    : job(std::move(ownJob)), artifact(std::move(ownArtifact)), mesh(onMesh) {
  parameters = describeValues(artifact->plan.params, mesh);
  results = describeValues(artifact->plan.results, mesh);
  for (const ValueDescription &result : results)
    prototypes.push_back(planArray(job, result.dtype, result.shape, result.sharding, result.name));
  isDonated.resize(parameters.size());
  donatedTo = std::move(options.donatedTo);
  for (int number : options.donated) {
    if (number < 0 || static_cast<size_t>(number) >= parameters.size())
      throw usage("donate_argnums has " + std::to_string(number) + ", and '" + artifact->plan.name + "' takes " +
                  std::to_string(parameters.size()) + " arguments, numbered from 0");
    isDonated[static_cast<size_t>(number)] = true;
  }
  bool takesPart = std::any_of(mesh.device_ids().begin(), mesh.device_ids().end(),
                               [&](int64_t id) { return job->findLocalDevice(id) != nullptr; });
  if (!takesPart)
    return;
  ExecutorOptions executorOptions;
  executorOptions.devices = mesh.device_ids();
  executorOptions.localDevices = job->getLocalDevices();
  executorOptions.collectives = &job->getCollectives();
  executorOptions.health = &job->getClient();
  executorOptions.checkNans = options.checkNans;
  executorOptions.profileLog = options.profileLog;
  executorOptions.counters = &job->getCounters();
  executorOptions.print = std::move(options.print);
  executorOptions.prepareTimeout = job->getTimeout();
  try {
    executor = Executor::create(artifact, std::move(executorOptions));
  } catch (...) {
    job->markFailed();
    throw;
  }
}

void checkArguments(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                    const std::vector<ValueDescription> &parameters, const std::vector<Array> &arguments) {
  if (arguments.size() != parameters.size())
    throw usage("'" + plan.name + "' takes " + std::to_string(parameters.size()) + " arguments and is given " +
                std::to_string(arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ValueDescription &parameter = parameters[i];
    std::string expected = "parameter '" + parameter.name + "' is " + typeText(parameter.dtype, parameter.shape);
    arguments[i].shape(); // Refuses an empty Array.
    const ArrayImpl &argument = *arguments[i].get_impl();
    std::string place = "argument " + std::to_string(i) + " of '" + plan.name + "' is ";
    if (argument.job != job)
      throw usage(place + "of a job that was left with shutdown()");
    if (argument.dtype != parameter.dtype || argument.shape != parameter.shape)
      throw usage(place + typeText(argument.dtype, argument.shape) + " and " + expected);
    if (!isSameLayout(argument.sharding, parameter.sharding, parameter.shape)) {
      std::string spec = shardingOf(parameter.sharding.spec(), parameter.shape.size()).str();
      throw usage(place + argument.describe() + " on " + argument.sharding.mesh().str() + " and " + expected + " @ " +
                  spec + " on " + mesh.str() + "; pass device_put(array, NamedSharding(mesh, " + spec + "))");
    }
  }
}

/// What is donated is an argument once.
void Program::checkDonated(const std::vector<Array> &arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t j = 0; isDonated[i] && j < arguments.size(); ++j)
      if (i != j && arguments[i].get_impl() == arguments[j].get_impl())
        throw usage("argument " + std::to_string(i) + " of '" + artifact->plan.name +
                    "' is donated and is the same array as argument " + std::to_string(j) + ", which needs it");
}

std::vector<Array> Program::call(const std::vector<Array> &arguments) {
  checkArguments(job, artifact->plan, mesh, parameters, arguments);
  checkDonated(arguments);
  size_t locals = executor ? executor->getLocalPositions().size() : 0;
  std::vector<std::vector<DeviceBufferRef>> inputs(locals), outputs(locals);
  std::vector<std::shared_ptr<Pending>> before;
  for (const Array &argument : arguments) {
    const ArrayImpl &impl = *argument.get_impl();
    // The same device may stand at another position of the argument's mesh.
    for (size_t i = 0; i < locals; ++i) {
      int64_t id = executor->getLocalDevices()[i]->getId();
      auto part = std::find_if(impl.parts.begin(), impl.parts.end(),
                               [&](const LocalPart &candidate) { return candidate.device->getId() == id; });
      inputs[i].push_back(part->buffer);
    }
    if (!impl.pending)
      continue;
    impl.pending->prune();
    if (impl.pending->isDone())
      impl.pending->wait(); // Throws at once what went wrong.
    else
      before.push_back(impl.pending);
  }
  // The parameter whose memory a result takes. Its device writes it when all earlier runs have read it: a device's runs
  // follow one another.
  std::vector<std::optional<size_t>> source(prototypes.size());
  for (size_t p = 0; p < arguments.size(); ++p)
    if (int32_t result = artifact->plan.aliases[p];
        isDonated[p] && result >= 0 && arguments[p].get_impl()->isSoleUser())
      source[static_cast<size_t>(result)] = p;
  std::vector<std::shared_ptr<ArrayImpl>> made;
  for (const auto &prototype : prototypes) {
    auto impl = std::make_shared<ArrayImpl>(*prototype);
    std::optional<size_t> reused = source[made.size()];
    int64_t bytes = std::max<int64_t>(1, artifact->plan.results[made.size()].localBytes());
    for (size_t i = 0; i < locals; ++i) {
      impl->parts[i].buffer = reused ? inputs[i][*reused] : impl->parts[i].device->allocate(bytes);
      impl->parts[i].use = std::make_shared<const BufferUse>();
      outputs[i].push_back(impl->parts[i].buffer);
    }
    made.push_back(std::move(impl));
  }
  for (size_t p = 0; p < arguments.size(); ++p)
    if (isDonated[p])
      arguments[p].get_impl()->giveUp("it was donated to " + donatedTo);
  std::vector<Array> arrays;
  if (!executor) {
    for (std::shared_ptr<ArrayImpl> &impl : made)
      arrays.push_back(Array(std::move(impl)));
    return arrays;
  }
  auto pending = std::make_shared<Pending>(job, executor->launch(std::move(inputs), std::move(outputs)), before);
  for (std::shared_ptr<ArrayImpl> &impl : made) {
    impl->pending = pending;
    arrays.push_back(Array(std::move(impl)));
  }
  return arrays;
}

std::string Program::getText(const std::string &stage) const {
  if (stage != "plan")
    throw usage("a loaded artifact has the stage 'plan' only and not '" + stage +
                "': it holds machine code and no IR; jit() of its source has the others");
  return printPlan(artifact->plan);
}

void Program::lower(const std::vector<Array> *arguments) const {
  if (arguments)
    checkArguments(job, artifact->plan, mesh, parameters, *arguments);
}

CostAnalysis Program::getCosts() const {
  CostAnalysis::Figures figures;
  figures.wire_bytes = wireBytesPerDevice(artifact->plan);
  return CostAnalysis(figures);
}

std::vector<Array> Function::call(const std::vector<Array> &arguments) const { return get(impl).call(arguments); }
std::vector<ValueDescription> Function::parameters() const { return get(impl).getParameters(); }
std::vector<ValueDescription> Function::results() const { return get(impl).getResults(); }
std::string Function::as_text(const std::string &stage) const { return get(impl).getText(stage); }

Lowered Function::lower() const {
  get(impl).lower(nullptr);
  return Lowered(impl);
}

Lowered Function::lower(const std::vector<Array> &arguments) const {
  get(impl).lower(&arguments);
  return Lowered(impl);
}

Function load(const std::string &path, std::optional<Mesh> mesh, std::source_location where) {
  return load(std::make_shared<const Artifact>(readArtifact(path)), std::move(mesh), where);
}

Function load(std::shared_ptr<const Artifact> artifact, std::optional<Mesh> mesh, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  Mesh devices = meshForProgram(artifact->plan.mesh, mesh, where);
  return Function(std::make_shared<Program>(std::move(job), std::move(artifact), devices));
}

} // namespace spmd
