//===- TraceProgram.cpp - traced callables on several processes -----------===//
//
// The program that TraceProcessesTest starts (SelfLauncher.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/SelfLauncher.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <thread>

using spmd::testing_api::say;

namespace {

spmd::Array counted(const spmd::Mesh &mesh, std::vector<int64_t> shape, spmd::P spec) {
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
  std::iota(values.begin(), values.end(), 0.0f);
  return spmd::device_put(spmd::view(values, std::move(shape)), spmd::NamedSharding(mesh, std::move(spec)));
}

/// Traced and eager operations on the same arrays, with sizes that nothing divides; a donated argument.
void operations() {
  spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"a", "b"});
  spmd::Array x = counted(mesh, {7, 5}, spmd::P("a", "b")), y = counted(mesh, {5, 3}, spmd::P("b"));
  auto f = [](const spmd::Array &x, const spmd::Array &y) {
    return spmd::sum(spmd::power(spmd::matmul(x, y) / 100, 2));
  };
  auto traced = spmd::jit(spmd::value_and_grad(f));
  auto [value, derivative] = traced(x, y);
  float eager = f(x, y).item<float>();
  say("values " + std::to_string(value.item<float>()) + " " + std::to_string(eager));
  auto step =
      spmd::jit([](const spmd::Array &x, const spmd::Array &g) { return x - 0.5 * g; }, {.donate_argnums = {0}});
  spmd::Array next = step(x, derivative);
  // Uncommitted: each process has the array, and it moves to the mesh of the others.
  spmd::Array total = spmd::sum(next + spmd::ones({5}));
  say("total " + std::to_string(total.item<float>()) + (x.is_deleted() ? " deleted" : " kept"));
}

/// Steps whose collectives read donated memory that the step then overwrites, without waiting between steps: the bits
/// equal those of steps without donation.
void donated() {
  spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"a", "b"});
  auto step = [](const spmd::Array &x) {
    spmd::Array whole = spmd::matmul(x, spmd::transpose(x));
    spmd::Array shifted = x - spmd::mean(x, 0, /*keepdims=*/true) + 0.001 * spmd::sum(whole, 1, /*keepdims=*/true);
    return spmd::with_sharding_constraint(spmd::tanh(shifted), spmd::P("a", "b"));
  };
  auto kept = spmd::jit(step), taken = spmd::jit(step, {.donate_argnums = {0}});
  spmd::Array x = spmd::sin(counted(mesh, {37, 29}, spmd::P("a", "b"))), y = x + 0;
  for (int i = 0; i < 100; ++i) {
    x = kept(x);
    y = taken(y);
  }
  say(spmd::all(x == y).item<bool>() ? "same bits" : "other bits");
}

/// Calls with check_nans that meet one on the last device, between calls that do not.
void nan() {
  spmd::Mesh mesh = spmd::make_mesh({8}, {"a"});
  auto root = spmd::jit([](const spmd::Array &x) { return spmd::sqrt(0.25 - x * x); }, {.check_nans = true});
  auto total = spmd::jit([](const spmd::Array &x) { return spmd::sum(spmd::log(7 - x)); }, {.check_nans = true});
  spmd::Array x = counted(mesh, {8, 1}, spmd::P("a")), zero = x * 0, late = spmd::maximum(x - 6.5, 0);
  auto attempt = [](const std::string &name, const auto &call) {
    try {
      call();
      say(name + " nothing");
    } catch (const spmd::NanError &error) {
      say(name + " " + error.what());
    }
  };
  attempt("met", [&] { root(late * 2); });
  float eager = spmd::sum(x + 0.1875 * (x * 0 + 1)).item<float>();
  say("next " + std::to_string(spmd::process_allgather(root(zero)).to_host<float>()[7]) + " eager " +
      std::to_string(eager));
  for (int i = 0; i < 20; ++i) // With unfinished calls, too.
    zero = spmd::tanh(zero);
  attempt("total", [&] { total(x + late * 2); });
  say("last " + std::to_string(spmd::jit([](const spmd::Array &x) { return spmd::sum(x) + 3; })(zero).item<float>()));
}

/// Calls over all processes by one thread, and others on this process's own devices by two more, in no common order.
void threads() {
  spmd::Mesh mesh = spmd::make_mesh({8}, {"a"});
  auto local = [](int thread) {
    spmd::Mesh own({}, {}, {spmd::local_devices().back()});
    auto twice = spmd::jit([](const spmd::Array &x) { return x * 2; });
    for (int i = 0; i < 20 * (1 + (thread + spmd::process_index()) % 2); ++i) {
      std::vector<float> values = {static_cast<float>(i)};
      spmd::Array x = spmd::device_put(spmd::view(values), spmd::NamedSharding(own, spmd::P()));
      if (twice(x + 1).item<float>() != 2 * static_cast<float>(i + 1))
        say("wrong");
    }
  };
  std::thread first(local, 0), second(local, 1);
  auto step = spmd::jit([](const spmd::Array &x) { return x - 0.5 * spmd::mean(x); });
  spmd::Array x = counted(mesh, {8, 1}, spmd::P("a"));
  for (int i = 0; i < 20; ++i)
    x = step(x);
  first.join();
  second.join();
  say("range " + std::to_string((spmd::max(x) - spmd::min(x)).item<float>()));
}

/// Every process traces another program.
void differ() {
  spmd::Mesh mesh = spmd::make_mesh({8}, {"a"});
  int me = spmd::process_index();
  auto f = spmd::jit([me](const spmd::Array &x) { return spmd::sum(x * (me + 1)); });
  try {
    f(counted(mesh, {8, 1}, spmd::P("a"))).block_until_ready();
  } catch (const spmd::Error &error) {
    say(error.what());
    throw;
  }
}

/// Operations in a handler of the exit: of a program that is compiled already, and of one that is not.
void exits() {
  static spmd::Array kept = spmd::ones({3});
  static spmd::Function half = spmd::jit("mesh m(a=1)\nfn main(x: f32[3]) { return x / 2.0; }");
  say("first " + std::to_string(spmd::sum(kept + 1).item<float>()));
  half(kept);
  std::atexit([] {
    try {
      say("again " + std::to_string(spmd::sum(kept + 1).item<float>()));
      say("new " + std::to_string(spmd::prod(kept + 2).item<float>()));
    } catch (const spmd::Error &error) {
      say(error.what());
    }
    const std::map<std::string, void (*)()> questions = {{"text", [] { half.as_text("partitioned"); }},
                                                         {"stablehlo", [] { half.as_text("stablehlo"); }},
                                                         {"costs", [] { half.cost_analysis(); }},
                                                         {"memory", [] { half.memory_analysis(); }}};
    for (const auto &[name, ask] : questions)
      try {
        ask();
        say(name + " is answered");
      } catch (const spmd::Error &) {
        say(name + " is refused");
      }
  });
  std::exit(0);
}

int member(const std::string &scenario) {
  const std::map<std::string, void (*)()> scenarios = {
      {"operations", operations}, {"donated", donated}, {"nan", nan},
      {"threads", threads},       {"differ", differ},   {"exits", exits}};
  try {
    spmd::initialize();
    scenarios.at(scenario)();
    spmd::shutdown();
    return 0;
  } catch (const spmd::Error &) {
    return 1;
  }
}

} // namespace

int main(int argc, char **argv) { return spmd::testing_api::launchSelf(argc, argv, member); }
