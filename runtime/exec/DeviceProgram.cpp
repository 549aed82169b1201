//===- DeviceProgram.cpp - a plan resolved for one device -----------------===//

#include "runtime/exec/DeviceProgram.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/WireBytes.h"
#include "runtime/device/Allocation.h"

#include <algorithm>

namespace spmd {
struct DeviceProgram::Op {
  struct Start {
    Collective *collective;
    uint64_t wireBytes;
    BufferId operand, result, root;
  };
  struct Done {
    Collective *collective;
  };
  struct If {
    BufferId predicate;
    Ops thenOps, elseOps;
  };
  struct While {
    BufferId predicate;
    Ops condition, body;
  };
  struct For {
    int64_t lower, upper;
    BufferId counter;
    Ops body;
  };
  struct Print {
    std::vector<std::string> texts;
    std::vector<PrintValue> values;
  };
  std::variant<std::monostate, std::unique_ptr<PreparedStep>, Start, Done, If, While, For, Print> what;
  int32_t step = 0;
  const SourceLocation *location = nullptr;
  const Step *source = nullptr;
  /// For the first of several consecutive computing steps: all of these steps.
  std::vector<PreparedStep *> mergedSteps;
  /// For control flow that the device may execute without the host; else null.
  std::unique_ptr<PreparedStep> control;
  bool isCompiled = false; ///< Whether `control` is the function of a loop.

  /// The step that computes, or a device's own control flow; null if the host has to do something.
  PreparedStep *getPrepared() const {
    auto *prepared = std::get_if<std::unique_ptr<PreparedStep>>(&what);
    return prepared ? prepared->get() : control.get();
  }
};

DeviceProgram::DeviceProgram(const ProgramContext &context, Device &device, int64_t position)
    : context(context), plan(context.artifact->plan), position(position), coordinates(plan.mesh.coordinates(position)),
      device(device) {
  if (context.communicator)
    endpoint = &context.communicator->getEndpoint(position);
  buffers.resize(plan.buffers.size(), nullptr);
}

DeviceProgram::~DeviceProgram() = default;

void DeviceProgram::prepare() {
  program = std::make_unique<Ops>(resolve(plan.steps));
  bool usesDevices = std::any_of(collectives.begin(), collectives.end(),
                                 [](const auto &collective) { return !collective->onDevice.empty(); });
  if (usesDevices) {
    CallSite site = endSite();
    site.step = -1;
    site.name = "the start of '" + plan.name + "'";
    startOfRun = prepareMeeting(site);
  }
  if (hasNestedCollectives)
    endOfRun = prepareMeeting(endSite());
  if (context.checkNans) {
    nanCheck = std::make_unique<NanCheck>(plan, position);
    if (endpoint)
      nanAgreement = std::make_unique<NanAgreement>(*endpoint, plan.mesh, position, endSite());
  }
  finishPreparation();
}

void DeviceProgram::settle(const std::string &cause) noexcept {
  abandon(cause);
  try {
    if (endpoint)
      endpoint->settle();
    endRun();
  } catch (const std::exception &) {
    // The run has already failed, for a known cause.
  }
}

std::unique_ptr<CollectiveCall> DeviceProgram::prepareMeeting(const CallSite &site) {
  CollectiveDesc desc;
  desc.dtype = DType::U8;
  desc.operandShape = desc.resultShape = {0};
  for (const MeshAxis &axis : plan.mesh.axes)
    desc.axes.push_back({axis.name, 1, 0});
  return endpoint->prepare(plan.mesh, desc, site);
}

/// The call site at which the devices of the mesh meet after the last step.
CallSite DeviceProgram::endSite() const {
  CallSite site;
  site.program = context.fingerprint;
  site.step = nextStep;
  site.name = "the end of '" + plan.name + "'";
  if (!plan.steps.empty())
    site.location = plan.steps.back().location;
  return site;
}

size_t DeviceProgram::addPointers(const std::vector<BufferId> &ids) {
  size_t first = pointers.size();
  for (BufferId id : ids) {
    BufferInfo::Space space = plan.buffers[id].space;
    if (space == BufferInfo::Space::Argument || space == BufferInfo::Space::Result)
      fixups.push_back({pointers.size(), id});
    pointers.push_back(buffers[id]);
  }
  return first;
}

/// Whether the step after `index`, which starts a collective, finishes that collective.
static bool isDoneAtOnce(const std::vector<Step> &steps, size_t index) {
  auto *done = index + 1 < steps.size() ? std::get_if<CollectiveDoneStep>(&steps[index + 1].op) : nullptr;
  return done && done->id == std::get<CollectiveStartStep>(steps[index].op).id;
}

DeviceProgram::Ops DeviceProgram::resolve(const std::vector<Step> &steps) {
  Ops ops;
  for (size_t index = 0; index < steps.size(); ++index) {
    const Step &step = steps[index];
    Op op;
    op.step = nextStep++;
    op.location = &step.location;
    op.source = &step;
    if (auto *launchStep = std::get_if<LaunchStep>(&step.op)) {
      op.what = prepareStep(*launchStep);
    } else if (auto *matmul = std::get_if<MatmulStep>(&step.op)) {
      op.what = prepareStep(*matmul, step.location);
    } else if (auto *start = std::get_if<CollectiveStartStep>(&step.op)) {
      resolveStart(*start, !isDoneAtOnce(steps, index), op);
    } else if (auto *done = std::get_if<CollectiveDoneStep>(&step.op)) {
      auto collective = collectiveOfId.find(done->id);
      if (collective == collectiveOfId.end())
        throw Error("the plan finishes collective " + std::to_string(done->id) + " before it starts it");
      op.what = Op::Done{collectives[collective->second].get()};
    } else if (auto *copy = std::get_if<CopyStep>(&step.op)) {
      op.what = prepareStep(*copy);
    } else if (auto *library = std::get_if<LibraryStep>(&step.op)) {
      op.what = prepareStep(*library);
    } else if (auto *branch = std::get_if<IfStep>(&step.op)) {
      ++depth;
      Ops thenOps = resolve(branch->thenSteps), elseOps = resolve(branch->elseSteps);
      --depth;
      resolveControl(step, thenOps, &elseOps, op);
      op.what = Op::If{branch->predicate, std::move(thenOps), std::move(elseOps)};
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      ++depth;
      Ops condition = resolve(loop->condition), body = resolve(loop->body);
      --depth;
      resolveControl(step, condition, &body, op);
      op.what = Op::While{loop->predicate, std::move(condition), std::move(body)};
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      ++depth;
      Ops body = resolve(counted->body);
      --depth;
      resolveControl(step, body, nullptr, op);
      op.what = Op::For{counted->lower, counted->upper, counted->counter, std::move(body)};
    } else if (auto *print = std::get_if<PrintStep>(&step.op)) {
      resolvePrint(*print, op);
    }
    if (PreparedStep *prepared = op.getPrepared()) {
      prepared->number = op.step;
      prepared->location = op.location;
    }
    ops.push_back(std::move(op));
  }
  mergeSteps(ops);
  return ops;
}

void DeviceProgram::resolveControl(const Step &step, const Ops &first, const Ops *second, Op &op) {
  if (int32_t function = findLoopFunction(plan, op.step); function >= 0) {
    op.isCompiled = true;
    op.control = prepareLoop({&step, function});
    return;
  }
  std::vector<PreparedStep *> lists[2];
  for (size_t i = 0; i < 2; ++i)
    if (const Ops *ops = i == 0 ? &first : second)
      for (const Op &inner : *ops) {
        lists[i].push_back(inner.getPrepared());
        if (!lists[i].back())
          return; // A collective, a print, or control flow that has one.
      }
  op.control = prepareControl(step, std::move(lists[0]), std::move(lists[1]));
}

void DeviceProgram::mergeSteps(Ops &ops) {
  for (size_t first = 0; first < ops.size();) {
    std::vector<const Step *> sources;
    std::vector<PreparedStep *> steps;
    for (size_t end = first; end < ops.size(); ++end) {
      PreparedStep *step = ops[end].getPrepared();
      if (!step || !step->isStraight())
        break;
      sources.push_back(ops[end].source);
      steps.push_back(step);
    }
    for (size_t done = 0; done < steps.size();) {
      size_t count = countMerged(std::span(sources).subspan(done));
      if (count > 1 || ops[first + done].control) {
        std::span<PreparedStep *const> merged = std::span(steps).subspan(done, count);
        ops[first + done].mergedSteps.assign(merged.begin(), merged.end());
        prepareMerged(ops[first + done].mergedSteps);
      }
      done += count;
    }
    first += std::max<size_t>(steps.size(), 1);
  }
}

void DeviceProgram::resolveStart(const CollectiveStartStep &start, bool isAsync, Op &op) {
  CallSite site;
  site.program = context.fingerprint;
  site.step = op.step;
  site.location = *op.location;
  site.isAsync = isAsync;
  hasNestedCollectives |= depth > 0;
  CollectiveDesc desc = start.desc;
  int64_t roots = 1;
  if (start.root >= 0)
    for (const AxisRef &axis : desc.axes)
      roots *= axis.sizeIn(plan.mesh);
  auto collective = std::make_unique<Collective>();
  collective->result = start.result;
  for (desc.root = 0; desc.root < roots; ++desc.root)
    if (auto onDevice = prepareCollective(desc, start.operand, start.result))
      collective->onDevice.push_back(std::move(onDevice));
    else
      collective->byRoot.push_back(endpoint->prepare(plan.mesh, desc, site));
  collectiveOfId[start.id] = collectives.size();
  op.what = Op::Start{collective.get(), static_cast<uint64_t>(wireBytesPerDevice(desc, plan.mesh) + 0.5), start.operand,
                      start.result, start.root};
  collectives.push_back(std::move(collective));
}

size_t DeviceProgram::choose(const Collective &collective, BufferId root) {
  int32_t position = root < 0 ? 0 : *static_cast<const int32_t *>(read(root));
  size_t count = std::max(collective.byRoot.size(), collective.onDevice.size());
  if (position < 0 || static_cast<size_t>(position) >= count)
    throw Error("the root " + std::to_string(position) + " of a collective_broadcast is outside its group of " +
                std::to_string(count));
  return static_cast<size_t>(position);
}

void DeviceProgram::resolvePrint(const PrintStep &step, Op &op) {
  Op::Print print;
  print.texts = step.texts;
  for (size_t i = 0; i < step.values.size(); ++i) {
    PrintValue value;
    value.buffer = step.values[i];
    value.info = step.infos[i];
    if (!value.info.sharding.isFullyReplicated()) {
      CollectiveDesc desc;
      desc.kind = CollectiveKind::Exchange;
      desc.dtype = value.info.dtype;
      desc.globalShape = value.info.shape;
      desc.source = value.info.sharding;
      desc.target.dims.resize(value.info.shape.size());
      desc.operandShape = value.info.localShape;
      desc.resultShape = value.info.shape;
      CallSite site;
      site.program = context.fingerprint;
      site.step = op.step;
      site.location = *op.location;
      site.onlyReceiver = context.printPosition;
      hasNestedCollectives |= depth > 0;
      value.gather = endpoint->prepare(plan.mesh, desc, site);
      if (position == context.printPosition) {
        int64_t bytes = byteSize(value.info.dtype);
        for (int64_t size : value.info.shape)
          bytes *= size;
        try {
          value.gathered = allocateHost(bytes);
        } catch (const Error &error) {
          throw error.withContext("memory for a value of " + typeText(value.info.dtype, value.info.shape) + " that " +
                                  op.location->str() + " prints");
        }
      }
    }
    print.values.push_back(std::move(value));
  }
  op.what = std::move(print);
}

void DeviceProgram::run(uint64_t number, const std::vector<DeviceBufferRef> &arguments,
                        const std::vector<DeviceBufferRef> &results, std::vector<ProfileEvent> *events) {
  launch = number;
  profile = events;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo &info = plan.buffers[i];
    if (info.space == BufferInfo::Space::Argument)
      buffers[i] = static_cast<char *>(arguments[info.index]->data()) + info.offset;
    else if (info.space == BufferInfo::Space::Result)
      buffers[i] = static_cast<char *>(results[info.index]->data()) + info.offset;
  }
  for (auto [index, id] : fixups)
    pointers[index] = buffers[id];
  beginRun();
  try {
    executeSteps();
  } catch (...) {
    try {
      endRun(); // Nothing may use the memory of a run that is over.
    } catch (const Error &) {
      // A consequence of the first error, which names the step; `settle` ends the work that is still in flight.
    }
    if (profile)
      resolveTimes(*profile);
    throw;
  }
}

void DeviceProgram::executeSteps() {
  if (endpoint)
    endpoint->beginLaunch([this] { checkTransfers(); });
  if (startOfRun) {
    startOfRun->start(nullptr, nullptr);
    startOfRun->done();
  }
  if (nanCheck)
    nanCheck->begin(launch, view(idsIn(BufferInfo::Space::Argument)));
  execute(*program);
  std::optional<NanCheck::Finding> found;
  std::optional<NanAgreement::Answer> nan;
  if (nanCheck)
    nan = findNan(found);
  endRun();
  if (profile)
    resolveTimes(*profile);
  if (endOfRun) {
    endOfRun->start(nullptr, nullptr);
    endOfRun->done();
  }
  if (endpoint)
    endpoint->endLaunch();
  if (nan)
    failForNan(*nan, found);
}

void DeviceProgram::lookForNans(const Op &op) {
  if (!nanCheck)
    return;
  std::vector<BufferId> ids;
  if (auto *print = std::get_if<PrintStep>(&op.source->op)) {
    ids = print->values;
  } else if (std::get_if<Op::Done>(&op.what)) {
    ids = {std::get<Op::Done>(op.what).collective->result};
  } else {
    ids = buffersOf(*op.source, 0, 0).outputs;
  }
  nanCheck->afterStep(op.step, *op.source, (*context.stepInfo)[static_cast<size_t>(op.step)].name, view(ids));
}

void DeviceProgram::execute(Ops &ops) {
  if (profile || nanCheck)
    return executeWatched(ops);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!ops[i].mergedSteps.empty()) {
      atStep(*ops[i].mergedSteps.front());
      runMerged(ops[i].mergedSteps);
      atStep(*ops[i].mergedSteps.back());
      checkVerdict();
      i += ops[i].mergedSteps.size() - 1;
    } else if (ops[i].control && runControl(ops[i])) {
      continue;
    } else {
      executeOne(ops[i]);
    }
  }
}

bool DeviceProgram::runControl(const Op &op) {
  // The host queues all iterations of a long `for` without waiting for any.
  if (std::get_if<Op::For>(&op.what) && !op.isCompiled)
    return false;
  atStep(*op.control);
  if (!runControl(*op.control))
    return false;
  atStep(*op.control);
  checkVerdict();
  return true;
}

/// Runs one step after the other, and records its times and NaNs.
void DeviceProgram::executeWatched(Ops &ops) {
  for (Op &op : ops) {
    size_t index = 0;
    if (profile) { // Parents come before their children.
      index = profile->size();
      profile->push_back({op.step, device.getId(), beginStep(index), 0});
    }
    executeOne(op);
    if (profile)
      (*profile)[index].endNs = endStep(index);
    lookForNans(op);
  }
}

void DeviceProgram::atStep(int32_t number, const SourceLocation &location) {
  place.store(&location, std::memory_order_relaxed);
  if (context.health)
    context.health->atStep(launch, number, location);
}

void DeviceProgram::executeOne(Op &op) {
  atStep(op.step, *op.location);
  if (auto *prepared = std::get_if<std::unique_ptr<PreparedStep>>(&op.what)) {
    (*prepared)->run();
    checkVerdict();
  } else if (auto *start = std::get_if<Op::Start>(&op.what)) {
    if (context.counters)
      context.counters->wireBytes.fetch_add(start->wireBytes, std::memory_order_relaxed);
    Collective &collective = *start->collective;
    collective.inFlight = choose(collective, start->root);
    if (!collective.onDevice.empty()) {
      collective.onDevice[collective.inFlight]->start();
    } else {
      void *result = stageResult(start->result, collective.resultStaging);
      void *operand = stageOperand(start->operand, collective.operandStaging);
      collective.byRoot[collective.inFlight]->start(operand, result);
    }
  } else if (auto *done = std::get_if<Op::Done>(&op.what)) {
    Collective &collective = *done->collective;
    if (!collective.onDevice.empty()) {
      collective.onDevice[collective.inFlight]->done();
    } else {
      collective.byRoot[collective.inFlight]->done();
      finishResult(collective.result, collective.resultStaging);
    }
  } else if (auto *branch = std::get_if<Op::If>(&op.what)) {
    execute(readPredicate(branch->predicate) ? branch->thenOps : branch->elseOps);
  } else if (auto *loop = std::get_if<Op::While>(&op.what)) {
    for (;;) {
      execute(loop->condition);
      if (!readPredicate(loop->predicate))
        break;
      checkVerdict(); // So that a loop without steps that work or wait also ends with the job.
      execute(loop->body);
    }
  } else if (auto *counted = std::get_if<Op::For>(&op.what)) {
    for (int64_t i = counted->lower; i < counted->upper; ++i) {
      checkVerdict();
      if (counted->counter >= 0)
        writeCounter(counted->counter, static_cast<int32_t>(i));
      execute(counted->body);
    }
  } else if (std::get_if<Op::Print>(&op.what)) {
    executePrint(op);
  }
}

void DeviceProgram::executePrint(Op &op) {
  auto &print = std::get<Op::Print>(op.what);
  for (PrintValue &value : print.values)
    if (value.gather) {
      value.gather->start(stageOperand(value.buffer, value.operand), value.gathered ? value.gathered->data() : nullptr);
      value.gather->done();
    }
  if (position != context.printPosition || !context.print)
    return;
  std::vector<BufferId> ownIds;
  for (const PrintValue &value : print.values)
    if (!value.gathered)
      ownIds.push_back(value.buffer);
  const std::vector<void *> &own = view(ownIds);
  std::vector<HostView> views;
  for (const PrintValue &value : print.values)
    views.push_back({value.info.dtype, value.info.shape,
                     value.gathered ? value.gathered->data() : own[static_cast<size_t>(value.buffer)]});
  context.print(print.texts, views);
}

} // namespace spmd
