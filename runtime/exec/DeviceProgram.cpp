//===- DeviceProgram.cpp - a plan resolved for one CPU device -------------===//

#include "runtime/exec/DeviceProgram.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/WireBytes.h"
#include "runtime/device/Allocation.h"
#include "runtime/device/cpu/Library.h"
#include "runtime/support/NanError.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace spmd {
namespace {

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Takes the pages of fresh memory now and on this thread: near this core, and not in the first run.
void touch(const DeviceBufferRef &buffer) {
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  constexpr uintptr_t page = 4096;
  auto begin = reinterpret_cast<uintptr_t>(buffer->data()) & ~(page - 1);
  auto end = (reinterpret_cast<uintptr_t>(buffer->data()) + buffer->bytes() + page - 1) & ~(page - 1);
  // Older kernels do not know it; then the first run pays.
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
}

struct LaunchOp {
  KernelFunction kernel;
  size_t firstPointer;
  int64_t extent, grain;
};

struct MatmulOp {
  Matmul *matmul;
  BufferId lhs, rhs, result;
  KernelFunction epilogue;
  size_t firstPointer;
};

struct LibraryOp {
  LibraryCall call;
  std::vector<BufferId> inputs;
  BufferId result;
};

LibraryCall makeCall(const LibraryStep &step, const Plan &plan) {
  auto typeOf = [&](BufferId id) { return plan.buffers[id].dtype; };
  LibraryCall call{step.function, typeOf(step.inputs[0]), step.sizes, {}};
  if (step.function == LibraryFunction::UpdateSlice)
    for (size_t i = 2; i < step.inputs.size(); ++i)
      call.indexTypes.push_back(typeOf(step.inputs[i]));
  else // A sort has one input, and its result is positions.
    call.indexTypes.push_back(typeOf(step.inputs.size() == 1 ? step.result : step.inputs[1]));
  return call;
}

struct CopyOp {
  BufferId source, target;
  int64_t bytes;
};

} // namespace

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
  std::variant<std::monostate, LaunchOp, MatmulOp, Start, Done, CopyOp, LibraryOp, If, While, For, Print> what;
  int32_t step = 0;
  const SourceLocation *location = nullptr;
  const Step *source = nullptr;
};

DeviceProgram::DeviceProgram(const ProgramContext &context, CpuDevice &device, int64_t position)
    : context(context), plan(context.artifact->plan), device(device), position(position),
      coordinates(plan.mesh.coordinates(position)) {
  if (context.communicator)
    endpoint = &context.communicator->getEndpoint(position);
  if (plan.arenaBytes > 0) {
    arena = allocateFor(device, plan.arenaBytes, [&] { return "the intermediate values of '" + plan.name + "'"; });
    touch(arena);
  }
  buffers.resize(plan.buffers.size(), nullptr);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo &info = plan.buffers[i];
    if (info.space == BufferInfo::Space::Arena)
      buffers[i] = arena ? static_cast<char *>(arena->data()) + info.offset : nullptr;
    else if (info.space == BufferInfo::Space::Constant)
      buffers[i] = const_cast<char *>(context.constants) + info.offset;
  }
  program = std::make_unique<Ops>(resolve(plan.steps));
  if (hasNestedCollectives) {
    CollectiveDesc desc;
    desc.dtype = DType::U8;
    desc.operandShape = desc.resultShape = {0};
    for (const MeshAxis &axis : plan.mesh.axes)
      desc.axes.push_back({axis.name, 1, 0});
    endOfRun = endpoint->prepare(plan.mesh, desc, endSite());
  }
  if (context.checkNans) {
    nanCheck = std::make_unique<NanCheck>(plan, position);
    if (endpoint)
      nanAgreement = std::make_unique<NanAgreement>(*endpoint, plan.mesh, position, endSite());
  }
  if (scratchBytes > 0) {
    scratch = allocateFor(device, scratchBytes, [&] { return "the matrix products of '" + plan.name + "'"; });
    touch(scratch);
  }
}

DeviceProgram::~DeviceProgram() = default;

/// Where the devices of the mesh meet behind the last step.
CallSite DeviceProgram::endSite() const {
  CallSite site;
  site.program = context.fingerprint;
  site.step = nextStep;
  site.name = "the end of '" + plan.name + "'";
  if (!plan.steps.empty())
    site.location = plan.steps.back().location;
  return site;
}

int64_t DeviceProgram::getBytes() const { return plan.arenaBytes + scratchBytes; }

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

/// Whether the step behind the start of a collective, which `index` says, is its end.
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
      op.what = LaunchOp{context.module->getKernel(launchStep->kernel), addPointers(launchStep->operands),
                         launchStep->extent, launchStep->grain};
    } else if (auto *matmul = std::get_if<MatmulStep>(&step.op)) {
      resolveMatmul(*matmul, op);
    } else if (auto *start = std::get_if<CollectiveStartStep>(&step.op)) {
      resolveStart(*start, !isDoneAtOnce(steps, index), op);
    } else if (auto *done = std::get_if<CollectiveDoneStep>(&step.op)) {
      auto collective = collectiveOfId.find(done->id);
      if (collective == collectiveOfId.end())
        throw Error("the plan finishes collective " + std::to_string(done->id) + " before it starts it");
      op.what = Op::Done{collectives[collective->second].get()};
    } else if (auto *copy = std::get_if<CopyStep>(&step.op)) {
      op.what = CopyOp{copy->source, copy->target, plan.buffers[copy->source].bytes()};
    } else if (auto *library = std::get_if<LibraryStep>(&step.op)) {
      op.what = LibraryOp{makeCall(*library, plan), library->inputs, library->result};
    } else if (auto *branch = std::get_if<IfStep>(&step.op)) {
      ++depth;
      Ops thenOps = resolve(branch->thenSteps), elseOps = resolve(branch->elseSteps);
      --depth;
      op.what = Op::If{branch->predicate, std::move(thenOps), std::move(elseOps)};
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      ++depth;
      Ops condition = resolve(loop->condition), body = resolve(loop->body);
      --depth;
      op.what = Op::While{loop->predicate, std::move(condition), std::move(body)};
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      ++depth;
      Ops body = resolve(counted->body);
      --depth;
      op.what = Op::For{counted->lower, counted->upper, counted->counter, std::move(body)};
    } else if (auto *print = std::get_if<PrintStep>(&step.op)) {
      resolvePrint(*print, op);
    }
    ops.push_back(std::move(op));
  }
  return ops;
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
  for (desc.root = 0; desc.root < roots; ++desc.root)
    collective->byRoot.push_back(endpoint->prepare(plan.mesh, desc, site));
  collectiveOfId[start.id] = collectives.size();
  op.what = Op::Start{collective.get(), static_cast<uint64_t>(wireBytesPerDevice(desc, plan.mesh) + 0.5), start.operand,
                      start.result, start.root};
  collectives.push_back(std::move(collective));
}

CollectiveCall &DeviceProgram::choose(Collective &collective, BufferId root) {
  int32_t position = root < 0 ? 0 : *static_cast<const int32_t *>(buffers[root]);
  if (position < 0 || position >= static_cast<int64_t>(collective.byRoot.size()))
    throw Error("the root " + std::to_string(position) + " of a collective_broadcast is outside its group of " +
                std::to_string(collective.byRoot.size()));
  return *collective.byRoot[position];
}

void DeviceProgram::resolveMatmul(const MatmulStep &step, Op &op) {
  MatmulShape shape{step.batch,
                    step.m,
                    step.n,
                    step.k,
                    step.transposeLhs,
                    step.transposeRhs,
                    plan.buffers[step.lhs].dtype,
                    plan.buffers[step.result].dtype};
  if (plan.buffers[step.rhs].dtype != shape.operand)
    throw Error("the plan multiplies " + std::string(dtypeName(shape.operand)) + " with " +
                std::string(dtypeName(plan.buffers[step.rhs].dtype)));
  std::shared_ptr<Matmul> &matmul = matmuls[shape];
  if (!matmul)
    matmul = Matmul::create(shape, context.dnnl, device.getThreadCount());
  scratchBytes = std::max(scratchBytes, matmul->getScratchBytes());
  KernelFunction epilogue = step.epilogueKernel < 0 ? nullptr : context.module->getKernel(step.epilogueKernel);
  op.what = MatmulOp{matmul.get(), step.lhs, step.rhs, step.result, epilogue, addPointers(step.epilogueOperands)};
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
        value.gathered = allocateFor(device, bytes, [&] {
          return "a value of " + typeText(value.info.dtype, value.info.shape) + " that " + op.location->str() +
                 " prints";
        });
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
  // Long loops are left when the job is over; checkVerdict then throws.
  StopCheck stop;
  if (context.health)
    stop = {[](const void *health) { return static_cast<const Health *>(health)->isOver(); }, context.health};
  device.getParallelFor().setStopCheck(stop);
  if (endpoint)
    endpoint->beginLaunch();
  if (nanCheck)
    nanCheck->begin(launch, buffers);
  execute(*program);
  std::optional<NanCheck::Finding> found;
  std::optional<NanAgreement::Answer> nan;
  if (nanCheck)
    nan = findNan(found);
  if (endOfRun) {
    endOfRun->start(nullptr, nullptr);
    endOfRun->done();
  }
  if (endpoint)
    endpoint->endLaunch();
  if (nan)
    failForNan(*nan, found);
}

void DeviceProgram::execute(Ops &ops) {
  for (Op &op : ops) {
    if (!profile) {
      executeOne(op);
      if (nanCheck)
        nanCheck->afterStep(op.step, *op.source, (*context.stepInfo)[static_cast<size_t>(op.step)].name, buffers);
      continue;
    }
    // Parents come before their children.
    size_t index = profile->size();
    profile->push_back({op.step, device.getId(), nowNs(), 0});
    executeOne(op);
    (*profile)[index].endNs = nowNs();
    if (nanCheck)
      nanCheck->afterStep(op.step, *op.source, (*context.stepInfo)[static_cast<size_t>(op.step)].name, buffers);
  }
}

void DeviceProgram::executeOne(Op &op) {
  place = op.location;
  if (context.health)
    context.health->atStep(launch, op.step, *op.location);
  if (auto *launchOp = std::get_if<LaunchOp>(&op.what)) {
    device.getParallelFor().runKernel(launchOp->kernel, launchOp->extent, launchOp->grain,
                                      pointers.data() + launchOp->firstPointer, coordinates.data());
    checkVerdict();
  } else if (auto *matmul = std::get_if<MatmulOp>(&op.what)) {
    RowsDone rowsDone;
    void *const *operands = pointers.data() + matmul->firstPointer;
    auto epilogue = [&](int64_t begin, int64_t end) { matmul->epilogue(begin, end, operands, coordinates.data()); };
    if (matmul->epilogue)
      rowsDone = {[](const void *body, int64_t begin, int64_t end) {
                    (*static_cast<const decltype(epilogue) *>(body))(begin, end);
                  },
                  &epilogue};
    try {
      matmul->matmul->run(device.getParallelFor(), buffers[matmul->lhs], buffers[matmul->rhs], buffers[matmul->result],
                          scratch ? scratch->data() : nullptr, rowsDone);
    } catch (const Error &error) {
      throw error.withContext(op.location->str() + ": " + device.str());
    }
    checkVerdict();
  } else if (auto *start = std::get_if<Op::Start>(&op.what)) {
    if (context.counters)
      context.counters->wireBytes.fetch_add(start->wireBytes, std::memory_order_relaxed);
    CollectiveCall &call = choose(*start->collective, start->root);
    start->collective->underWay = &call;
    call.start(buffers[start->operand], buffers[start->result]);
  } else if (auto *done = std::get_if<Op::Done>(&op.what)) {
    done->collective->underWay->done();
  } else if (auto *copy = std::get_if<CopyOp>(&op.what)) {
    auto *source = static_cast<const char *>(buffers[copy->source]);
    auto *target = static_cast<char *>(buffers[copy->target]);
    if (source != target)
      device.getParallelFor().run(copy->bytes, 1 << 18, [&](int64_t begin, int64_t end, int) {
        std::memcpy(target + begin, source + begin, end - begin);
      });
    checkVerdict();
  } else if (auto *library = std::get_if<LibraryOp>(&op.what)) {
    std::vector<const void *> inputs;
    for (BufferId id : library->inputs)
      inputs.push_back(buffers[id]);
    runLibrary(library->call, device.getParallelFor(), inputs.data(), buffers[library->result]);
    checkVerdict();
  } else if (auto *branch = std::get_if<Op::If>(&op.what)) {
    execute(readPredicate(branch->predicate) ? branch->thenOps : branch->elseOps);
  } else if (auto *loop = std::get_if<Op::While>(&op.what)) {
    for (;;) {
      execute(loop->condition);
      if (!readPredicate(loop->predicate))
        break;
      checkVerdict(); // A loop without steps that work or wait ends with the job as well.
      execute(loop->body);
    }
  } else if (auto *counted = std::get_if<Op::For>(&op.what)) {
    int32_t *counter = counted->counter < 0 ? nullptr : static_cast<int32_t *>(buffers[counted->counter]);
    for (int64_t i = counted->lower; i < counted->upper; ++i) {
      checkVerdict();
      if (counter)
        *counter = static_cast<int32_t>(i);
      execute(counted->body);
    }
  } else if (std::get_if<Op::Print>(&op.what)) {
    executePrint(op);
  }
}

std::optional<NanAgreement::Answer> DeviceProgram::findNan(std::optional<NanCheck::Finding> &found) {
  found = nanCheck->find(buffers);
  std::string message = found ? device.str() + ": " + found->text : "";
  if (nanAgreement)
    return nanAgreement->agree(found, message);
  return found ? std::optional(NanAgreement::Answer{position, message}) : std::nullopt;
}

void DeviceProgram::failForNan(const NanAgreement::Answer &answer, const std::optional<NanCheck::Finding> &found) {
  if (!context.nansEndJob)
    throw NanError(answer.text);
  const std::vector<int64_t> &locals = context.localPositions;
  if (answer.position == position && context.health && found->location)
    context.health->reportFailureAt(answer.text, launch, found->step, *found->location);
  bool isHere = std::find(locals.begin(), locals.end(), answer.position) != locals.end();
  if (isHere && answer.position != position)
    return; // That device fails the run of this process, and knows the place.
  if (!isHere && context.health) {
    // The process that speaks for all is about to end the job. It reports before it does anything else, so a second is
    // long: without a verdict by then the coordinator is gone, and this process says what it knows.
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!context.health->isOver() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    checkVerdict();
  }
  throw Error(answer.text);
}

void DeviceProgram::executePrint(Op &op) {
  auto &print = std::get<Op::Print>(op.what);
  for (PrintValue &value : print.values)
    if (value.gather) {
      value.gather->start(buffers[value.buffer], value.gathered ? value.gathered->data() : nullptr);
      value.gather->done();
    }
  if (position != context.printPosition || !context.print)
    return;
  std::vector<HostView> views;
  for (const PrintValue &value : print.values)
    views.push_back(
        {value.info.dtype, value.info.shape, value.gathered ? value.gathered->data() : buffers[value.buffer]});
  context.print(print.texts, views);
}

} // namespace spmd
