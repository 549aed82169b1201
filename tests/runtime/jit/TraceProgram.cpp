//===- TraceProgram.cpp - traced callables on several processes -----------===//
//
// What TraceProcessesTest starts (SelfLauncher.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/SelfLauncher.h"

#include <cstdio>
#include <numeric>

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
  // Of no place of its own: each process has it, and it goes along.
  spmd::Array total = spmd::sum(next + spmd::ones({5}));
  say("total " + std::to_string(total.item<float>()) + (x.is_deleted() ? " deleted" : " kept"));
}

/// Steps whose collectives read what the step then overwrites, none waited for: the bits are those of steps that keep
/// their arguments.
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

int member(const std::string &scenario) {
  try {
    spmd::initialize();
    (scenario == "operations" ? operations : scenario == "donated" ? donated : differ)();
    spmd::shutdown();
    return 0;
  } catch (const spmd::Error &) {
    return 1;
  }
}

} // namespace

int main(int argc, char **argv) { return spmd::testing_api::launchSelf(argc, argv, member); }
