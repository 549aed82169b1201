//===- ManualErrorsTest.cpp - errors of shard_map -------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

/// `f` is line 2, the call line 4.
std::vector<std::string> errorsOf(const std::string &function, const std::string &call) {
  return Compiled("mesh m(a=4, b=2)\n" + function + "\nfn main(x: f32[8, 6], w: f32[6, 4]) {\n  return " + call +
                  ";\n}\n")
      .errors();
}

const std::string identity = "fn f(x) { return x; }";

TEST(ManualErrors, theCall) {
  EXPECT_THAT(errorsOf(identity, "shard_map(g, in=P(a), out=P(a))(x)"), ElementsAre("4:20: unknown function 'g'"));
  EXPECT_THAT(errorsOf(identity, "shard_map(x + 1, in=P(a), out=P(a))(x)"),
              ElementsAre("4:20: 'shard_map' takes the name of a function"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a))(x)"),
              ElementsAre("4:10: 'shard_map' needs an argument for 'out'; it takes f, in, out, axis_names"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a), out=P(a))(x, w)"),
              ElementsAre("4:10: 'f' takes 1 argument, not 2"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a), out=P(a))()"),
              ElementsAre("4:10: 'f' needs an argument for 'x'"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a), out=P(a))(y=x)"),
              ElementsAre("4:42: the result of shard_map takes its arguments in order, without names"));
  EXPECT_THAT(errorsOf("fn f(x) { return shard_map(g, in=P(), out=P())(x); }\nfn g(x) { return x; }",
                       "shard_map(f, in=P(a), out=P(a))(x)")
                  .front(),
              "2:18: 'shard_map' inside of a function that shard_map runs: all axes are manual there already");
  EXPECT_THAT(
      Compiled("fn f(x) { return x; }\nfn main(x: f32[8]) { return shard_map(f, in=P(), out=P())(x); }").errors(),
      ElementsAre("2:29: 'shard_map' needs a mesh: declare one with 'mesh m(a=...)' or --mesh"));
}

TEST(ManualErrors, specs) {
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=2, out=P(a))(x)"),
              ElementsAre("4:26: 'in=' of 'shard_map' must be P(...), or a tuple with one for each argument, not the "
                          "integer 2"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=(P(a), P()), out=P(a))(x)"),
              ElementsAre("4:26: 'in=' of 'shard_map' has 2 entries for 1 argument"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a), out=(P(a), P()))(x)"),
              ElementsAre("4:36: 'out=' of 'shard_map' has 2 entries for 1 result"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a?), out=P(a))(x)"),
              ElementsAre("4:26: P(...) of 'shard_map' must be exact: no '?' and no priority"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a, b, _), out=P(a))(x)"),
              ElementsAre("4:26: P(...) has 3 entries, but argument 1 of 'f' is f32[8, 6]",
                          "  4:48: argument 1 of 'f' is given here"));
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(c), out=P(a))(x)"),
              ElementsAre("4:28: unknown axis 'c'; the mesh has a, b", "  1:1: the mesh is declared here"));
}

TEST(ManualErrors, unevenPieces) {
  EXPECT_THAT(
      errorsOf(identity, "shard_map(f, in=P(_, a), out=P(_, a))(x)"),
      ElementsAre("4:48: dimension 1 of argument 1 of 'f' has 6 elements, which 4 devices do not divide; pad it "
                  "to 8"));
}

// An output that is declared replicated, but varies.
TEST(ManualErrors, varyingResults) {
  EXPECT_THAT(errorsOf(identity, "shard_map(f, in=P(a, b), out=P())(x)"),
              ElementsAre("4:39: result 0 of 'f' varies over 'a', 'b', which 'out=' does not name: reduce it with psum "
                          "or pmean, or name the axes in P(...)"));
  EXPECT_THAT(errorsOf("fn f(x) { return (psum(x, a), x * cast(axis_index(b), f32)); }",
                       "shard_map(f, in=P(a), out=(P(), P(a)))(x)"),
              ElementsAre("4:42: result 1 of 'f' varies over 'b', which 'out=' does not name: reduce it with psum or "
                          "pmean, or name the axis in P(...)"));
}

TEST(ManualErrors, collectives) {
  EXPECT_THAT(errorsOf(identity, "psum(x, a)"),
              ElementsAre("4:10: 'psum' is a collective: it is only allowed in a function that shard_map runs"));
  EXPECT_THAT(errorsOf("fn f(x) { return psum(x, c); }", "shard_map(f, in=P(a), out=P())(x)").front(),
              "2:26: unknown axis 'c'; the mesh has a, b");
  EXPECT_THAT(errorsOf("fn f(x) { return psum(x, (a, a)); }", "shard_map(f, in=P(a), out=P())(x)").front(),
              "2:30: axis 'a' is named twice");
  EXPECT_THAT(errorsOf("fn f(x) { return psum(x, 1); }", "shard_map(f, in=P(a), out=P())(x)").front(),
              "2:26: expected the name of a mesh axis, without quotes, or several in parentheses; the mesh has a, b");
  EXPECT_THAT(
      errorsOf("fn f(x) { return psum_scatter(x, a, tiled=true); }", "shard_map(f, in=P(b), out=P(a))(w)").front(),
      "2:31: 'psum_scatter': dimension 0 has 3 elements, the group 4 devices, which do not divide it");
  EXPECT_THAT(
      errorsOf("fn f(x) { return all_to_all(x, a, 0, 1); }", "shard_map(f, in=P(b), out=P(a))(w)").front(),
      "2:35: 'all_to_all': dimension 0 has 3 elements, the group 4 devices; they must agree, or give tiled=true");
  EXPECT_THAT(errorsOf("fn f(x) { return ppermute(x, a, [(0, 4)]); }", "shard_map(f, in=P(a), out=P(a))(x)").front(),
              "2:34: position 4 is outside of the group of 4 devices");
  EXPECT_THAT(
      errorsOf("fn f(x) { return ppermute(x, a, [(0, 1), (2, 1)]); }", "shard_map(f, in=P(a), out=P(a))(x)").front(),
      "2:42: each device may send to one device and receive from one: this pair repeats a device");
  EXPECT_THAT(errorsOf("fn f(x) { return ppermute(x, a, [0, 1]); }", "shard_map(f, in=P(a), out=P(a))(x)").front(),
              "2:34: 'perm' of 'ppermute' is a list of pairs (from, to) of integers known while compiling");
}

// Devices that reach a collective would wait for those that do not.
TEST(ManualErrors, collectivesThatSomeDevicesDoNotReach) {
  EXPECT_THAT(
      errorsOf("fn f(x) { return if x[0, 0] > 0.0 { psum(x, a) } else { x }; }",
               "shard_map(f, in=P(a, _), out=P(a))(x)"),
      ElementsAre(
          "2:37: 'psum' is reached only if the condition of 'if' allows it, which varies over 'a': some devices "
          "would wait for others forever; move 'psum' out of it, or make the condition the "
          "same for all, with pmax or pmin of it as an integer",
          "  2:21: the condition of 'if' is here"));
  EXPECT_THAT(errorsOf("fn f(x) { return while sum(x) < 9.0 carry (x = x) { yield pmax(x, (b, a)) + x; }; }",
                       "shard_map(f, in=P(_, b), out=P(_, b))(x)"),
              ElementsAre("2:59: 'pmax' is reached only if the condition of 'while' allows it, which varies over 'b': "
                          "some devices would wait for others forever; move 'pmax' out of it, or make the condition "
                          "the same for all, with pmax or pmin of it as an integer",
                          "  2:24: the condition of 'while' is here"));
  EXPECT_THAT(
      errorsOf("fn f(x) { return if pmax(cast(x[0, 0] > 0.0, i32), a) > 0 { psum(x, a) } else { x + psum(x, a) }; }",
               "shard_map(f, in=P(a, _), out=P(a))(x)"),
      ElementsAre());
  // A condition that varies over a is the same within each group over b.
  EXPECT_THAT(errorsOf("fn f(x) { return if x[0, 0] > 0.0 { psum(x, b) } else { x }; }",
                       "shard_map(f, in=P(a, _), out=P(a))(x)"),
              ElementsAre());
  // If the condition varies over several axes, the message names those of the collective.
  EXPECT_THAT(
      errorsOf("fn f(x) { return if x[0, 0] > 0.0 { psum(x, b) } else { x }; }",
               "shard_map(f, in=P(a, b), out=P(a, b))(x)")
          .front(),
      "2:37: 'psum' is reached only if the condition of 'if' allows it, which varies over 'b': some devices would wait "
      "for others forever; move 'psum' out of it, or make the condition the same for all, with pmax or "
      "pmin of it as an integer");
}

// Within a function that shard_map runs over some axes, another one may run over others.
TEST(ManualErrors, within) {
  auto within = [](const std::string &given) {
    return errorsOf("fn g(x) { return psum(x, b); }\nfn f(x) { return shard_map(g, " + given + ")(x); }",
                    "shard_map(f, in=P(a), out=P(a), axis_names=a)(x)");
  };
  EXPECT_THAT(within("in=P(_, b), out=P(), axis_names=b"), ElementsAre());
  EXPECT_THAT(within("in=P(_, b), out=P()"), ElementsAre());
  EXPECT_THAT(within("in=P(_, b), out=P(), axis_names=(b, a)"),
              ElementsAre("3:63: 'axis_names' of 'shard_map' has 'a', along which arrays are local here already: "
                          "name other axes",
                          "  5:10: in the call of 'f' here"));
  EXPECT_THAT(within("in=P(a), out=P()"),
              ElementsAre("3:34: P(...) names 'a', along which arrays are local here already",
                          "  5:10: in the call of 'f' here"));
  EXPECT_THAT(within("in=P(_, b), out=P(a)"),
              ElementsAre("3:47: P(...) names 'a', along which arrays are local here already",
                          "  5:10: in the call of 'f' here"));
  // The function around checks values that vary over its own axes.
  EXPECT_THAT(errorsOf("fn g(x) { return x; }\nfn f(x) { return shard_map(g, in=P(_, b), out=P(), axis_names=b)(x); }",
                       "shard_map(f, in=P(a), out=P(a), axis_names=a)(x)"),
              ElementsAre("3:47: result 0 of 'g' varies over 'b', which 'out=' does not name: reduce it with psum or "
                          "pmean, or name the axis in P(...)",
                          "  5:10: in the call of 'f' here"));
  EXPECT_THAT(errorsOf("fn g(x) { return psum(x, b); }\nfn f(x) { return shard_map(g, in=P(_, b), out=P())(x); }",
                       "shard_map(f, in=P(a), out=P(), axis_names=a)(x)"),
              ElementsAre("5:36: result 0 of 'f' varies over 'a', which 'out=' does not name: reduce it with psum or "
                          "pmean, or name the axis in P(...)"));
  // The inner function may use collectives over the outer one's axes; the outer function must not use the inner one's
  // axes.
  EXPECT_THAT(errorsOf("fn g(x) { return psum(x, (a, b)); }\nfn f(x) { return shard_map(g, in=P(_, b), out=P())(x); }",
                       "shard_map(f, in=P(a), out=P(), axis_names=a)(x)"),
              ElementsAre());
  EXPECT_THAT(errorsOf("fn g(x) { return x; }\nfn f(x) { return shard_map(g, in=P(), out=P())(psum(x, b)); }",
                       "shard_map(f, in=P(a), out=P(a), axis_names=a)(x)")
                  .front(),
              "3:56: 'psum' over 'b', which 'axis_names' of 'shard_map' leaves out (it has 'a'): along it arrays are "
              "global here, and the compiler inserts the collectives");
  EXPECT_THAT(errorsOf("fn g(x) { return psum(x, b); }\n"
                       "fn f(x) { return if x[0, 0] > 0.0 { shard_map(g, in=P(), out=P())(x) } else { x }; }",
                       "shard_map(f, in=P(a), out=P(a), axis_names=a)(x)"),
              ElementsAre());
  EXPECT_THAT(
      errorsOf("fn g(x) { return psum(x, (a, b)); }\n"
               "fn f(x) { return if x[0, 0] > 0.0 { shard_map(g, in=P(), out=P())(x) } else { x }; }",
               "shard_map(f, in=P(a), out=P(a), axis_names=a)(x)")
          .front(),
      "2:18: 'psum' is reached only if the condition of 'if' allows it, which varies over 'a': some devices would wait "
      "for others forever; move 'psum' out of it, or make the condition the same for all, with pmax or "
      "pmin of it as an integer");
}

TEST(ManualErrors, shardingsInside) {
  EXPECT_THAT(errorsOf("fn f(x) { return shard(x, P(a)); }", "shard_map(f, in=P(a), out=P(a))(x)").front(),
              "2:18: inside of shard_map arrays are local to a device and cannot have a sharding");
  EXPECT_THAT(errorsOf("fn f(x) { let y: f32[2@a, 6] = x; return y; }", "shard_map(f, in=P(a), out=P(a))(x)").front(),
              "2:32: inside of shard_map arrays are local to a device and cannot have a sharding");
}

} // namespace
