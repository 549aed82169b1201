#include "runtime/artifact/ArtifactFile.h"
#include "runtime/io/Npy.h"
#include "runtime/io/Npz.h"
#include "runtime/support/File.h"
#include "tests/support/Shell.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using spmd::test::Printed;
using spmd::test::shell;
using testing::HasSubstr;

namespace {

/// x: f32[5@i, 3], p.w: f32[4] -> (x with its sharding, all of x as `y.all`, p.w as `y.w`). Without kernels, so that no
/// compiler is needed; 5 rows over 4 devices are 2, 2, 1 and none.
Artifact program() {
  Artifact artifact;
  Plan &plan = artifact.plan;
  plan.name = "main";
  plan.mesh.axes = {{"i", 4}};
  Sharding rows{{{{"i"}}, {}}, {}}, whole{{{}, {}}, {}}, vector{{{}}, {}};
  plan.params = {{"x", DType::F32, {5, 3}, rows, {2, 3}}, {"p.w", DType::F32, {4}, vector, {4}}};
  plan.results = {{"x", DType::F32, {5, 3}, rows, {2, 3}},
                  {"y.all", DType::F32, {5, 3}, whole, {5, 3}},
                  {"y.w", DType::F32, {4}, vector, {4}}};
  plan.aliases = {-1, -1};
  using Space = BufferInfo::Space;
  plan.buffers = {{Space::Argument, 0, 0, DType::F32, {2, 3}},
                  {Space::Argument, 1, 0, DType::F32, {4}},
                  {Space::Result, 0, 0, DType::F32, {2, 3}},
                  {Space::Result, 1, 0, DType::F32, {5, 3}},
                  {Space::Result, 2, 0, DType::F32, {4}}};
  CollectiveDesc gather;
  gather.kind = CollectiveKind::AllGather;
  gather.axes = {{"i"}};
  gather.operandShape = {2, 3};
  gather.resultShape = {5, 3};
  gather.concatDim = 0;
  plan.steps = {{CollectiveStartStep{0, gather, 0, 3}, {"t.spmd", 4, 5}},
                {CollectiveDoneStep{0}, {"t.spmd", 4, 5}},
                {CopyStep{0, 2}, {"t.spmd", 5, 5}},
                {CopyStep{1, 4}, {"t.spmd", 6, 5}}};
  return artifact;
}

/// Returns a port that the kernel just had free.
int freePort() {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(fd, reinterpret_cast<sockaddr *>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

class RunProgram : public testing::Test {
protected:
  RunProgram() { writeArtifact(program(), folder / "t.spmdx"); }

  std::string path(const std::string &name) const { return folder / name; }
  std::string command(const std::string &arguments) const {
    return "timeout " + std::to_string(test::timeLimit(60)) + " " SPMDC_BINARY_DIR "/bin/spmd-run " + path("t.spmdx") +
           " " + arguments;
  }
  Printed run(const std::string &arguments) const { return shell(command(arguments)); }

  test::TemporaryFolder folder;
};

const char *const kPrinted = "x: f32[5, 3] @ P(i, _)\n"
                             "[[ 0.  1.  2.]\n [ 3.  4.  5.]\n [ 6.  7.  8.]\n [ 9. 10. 11.]\n [12. 13. 14.]]\n"
                             "y.all: f32[5, 3] @ P()\n"
                             "[[ 0.  1.  2.]\n [ 3.  4.  5.]\n [ 6.  7.  8.]\n [ 9. 10. 11.]\n [12. 13. 14.]]\n"
                             "y.w: f32[4] @ P()\n"
                             "[1. 1. 1. 1.]\n";

// The text is the same on every layout: process 0 prints full values.
TEST_F(RunProgram, prints_the_results_on_every_layout) {
  for (const char *layout : {"", "--num-processes 4", "--num-processes 2 --devices-per-process 2"}) {
    Printed outcome = run(std::string("--input x=iota --input p=ones --print ") + layout);
    EXPECT_EQ(outcome.status, 0) << layout;
    EXPECT_EQ(outcome.text, kPrinted) << layout;
  }
}

TEST_F(RunProgram, prints_shards_process_after_process) {
  for (const char *layout : {"--num-processes 2", "--num-processes 4"}) {
    Printed outcome = run(std::string("--input x=iota --input p.w=zeros --print-shards ") + layout);
    EXPECT_EQ(outcome.status, 0);
    bool isTwo = std::string(layout).back() == '2';
    EXPECT_THAT(outcome.text, HasSubstr(std::string("process ") + (isTwo ? "0" : "1") +
                                        " device 1 x[2:4, 0:3]\n[[ 6.  7.  8.]\n [ 9. 10. 11.]]\n"));
    EXPECT_THAT(outcome.text,
                HasSubstr(std::string("process ") + (isTwo ? "1" : "2") + " device 2 x[4:5, 0:3]\n[[12. 13. 14.]]\n"));
    EXPECT_THAT(outcome.text, HasSubstr("device 3 x[5:5, 0:3]\n[]\n"));
    EXPECT_LT(outcome.text.find("process 0"), outcome.text.find("process 1"));
  }
}

// Inputs and outputs as files: each process reads its shards, process 0 writes the results once.
TEST_F(RunProgram, reads_and_writes_files) {
  std::vector<float> x(15), w = {1.5f, 2.5f, 3.5f, 4.5f};
  std::iota(x.begin(), x.end(), 100.0f);
  writeNpy(path("x.npy"), DType::F32, {5, 3}, x.data());
  writeNpz(path("p.npz"), {{"w", DType::F32, {4}, w.data()}});
  for (const char *layout : {"", "--num-processes 4"}) {
    Printed outcome =
        run("--input x=" + path("x.npy") + " --input p=" + path("p.npz") + " --output x=" + path("x_out.npy") +
            " --output y=" + path("y.npz") + " --output 1.w=" + path("w.npy") + " " + layout);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_EQ(outcome.text, "");
    EXPECT_EQ(MappedFile(path("x_out.npy")).bytes(), MappedFile(path("x.npy")).bytes());
    EXPECT_THAT(openNpz(path("y.npz"))->getNames(), testing::ElementsAre("all", "w"));
    EXPECT_EQ(MappedFile(path("w.npy")).bytes().substr(128), std::string_view(reinterpret_cast<char *>(w.data()), 16));
    std::filesystem::remove(path("x_out.npy"));
  }
  EXPECT_EQ(folder.fileCount(), 5u) << "no temporary file is left";
}

// Four commands as four shells would run them, in any order.
TEST_F(RunProgram, joins_as_a_cluster_by_hand) {
  std::string address = "--coordinator-address 127.0.0.1:" + std::to_string(freePort());
  std::string all;
  for (int id : {2, 0, 3, 1})
    all += command("--input x=iota --input p=ones --print " + address + " --num-processes 4 --process-id " +
                   std::to_string(id)) +
           " & ";
  Printed outcome = shell(all + "wait");
  EXPECT_EQ(outcome.text, kPrinted);
}

// A process with other options: all report the difference.
TEST_F(RunProgram, different_options_are_refused_at_join) {
  std::string address = "--coordinator-address 127.0.0.1:" + std::to_string(freePort());
  Printed outcome =
      shell(command("--input x=iota --input p=ones " + address + " --num-processes 2 --process-id 0 --repeat 3") +
            " & " + command("--input x=iota --input p=ones " + address + " --num-processes 2 --process-id 1") +
            "; echo status $?; wait");
  EXPECT_THAT(outcome.text, HasSubstr("status 1"));
  EXPECT_THAT(outcome.text, HasSubstr("spmd-run: process 0: error:"));
  EXPECT_THAT(outcome.text, HasSubstr("spmd-run: process 1: error:"));
  EXPECT_THAT(outcome.text, HasSubstr("--repeat"));
}

TEST_F(RunProgram, wrong_command_lines_exit_with_2) {
  Printed missing = run("--num-processes 4");
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.text, "spmd-run: error: no --input for x: f32[5, 3], p.w: f32[4]; give NAME=FILE.npy, or "
                          "NAME=zeros, ones, iota, normal:SEED or key:SEED\n");
  Printed unknown = run("--input x=iota --input p=ones --input q=zeros");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.text, HasSubstr("--input q: the program has no parameter of that name; it has x, p.w"));
  // JAX's path of the parameter.
  Printed path = run("--input x=iota --input \"p['w']=ones\"");
  EXPECT_THAT(path.text, HasSubstr("no parameter of that name; it has x, p.w; did you mean 'p.w'?"));
  Printed output = run("--input x=iota --input p=ones --output z=z.npy");
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.text, HasSubstr("no result of that name; it has x, y.all, y.w"));
  Printed mesh = run("--input x=iota --input p=ones --num-processes 3");
  EXPECT_EQ(mesh.status, 2);
  EXPECT_THAT(mesh.text, HasSubstr("the mesh (i=4) has 4 devices and 3 processes cannot share them equally"));
  Printed product = run("--input x=iota --input p=ones --num-processes 2 --devices-per-process 4");
  EXPECT_EQ(product.status, 2);
  EXPECT_THAT(product.text, HasSubstr("the mesh (i=4) has 4 devices and 2 processes with 4 devices each make 8"));
  EXPECT_EQ(run("--no-such-option").status, 2);
  EXPECT_EQ(run("--input x=iota --input p=word").status, 2);
  EXPECT_EQ(run("--input x=iota --input p=ones --coordinator-address 127.0.0.1:1 --num-processes 2").status, 2);
}

// Every process that reads a wrong file fails after the join; all print one root cause.
TEST_F(RunProgram, wrong_files_fail_on_all_processes_with_one_cause) {
  std::vector<double> x(15);
  writeNpy(path("x.npy"), DType::F64, {5, 3}, x.data());
  Printed outcome = run("--input x=" + path("x.npy") + " --input p=ones --num-processes 3 --devices-per-process 4");
  EXPECT_EQ(outcome.status, 2);
  outcome = run("--input x=" + path("x.npy") + " --input p=ones --num-processes 4");
  EXPECT_EQ(outcome.status, 1);
  std::string cause = "holds f64[5, 3] and parameter 'x' is f32[5, 3]; save it with numpy as array.astype('float32')\n";
  size_t count = 0;
  for (size_t at = outcome.text.find(cause); at != std::string::npos; at = outcome.text.find(cause, at + 1))
    ++count;
  EXPECT_EQ(count, 4u) << outcome.text;
  // The text after the name of the process is the same.
  std::string first = outcome.text.substr(outcome.text.find("error: "), outcome.text.find('\n'));
  first = first.substr(0, first.find('\n'));
  size_t same = 0;
  for (size_t at = outcome.text.find(first); at != std::string::npos; at = outcome.text.find(first, at + 1))
    ++same;
  EXPECT_EQ(same, 4u) << outcome.text;
  Printed none = run("--input x=none.npy --input p=ones");
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.text, "spmd-run: error: cannot read 'none.npy': No such file or directory\n");
}

TEST_F(RunProgram, damaged_artifacts_exit_with_1) {
  std::string bytes(MappedFile(path("t.spmdx")).bytes());
  std::ofstream(path("t.spmdx"), std::ios::binary) << bytes.substr(0, bytes.size() - 7);
  Printed outcome = run("");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("t.spmdx' is truncated"));
}

TEST_F(RunProgram, times_are_written_as_json) {
  Printed outcome = run("--input x=iota --input p=ones --repeat 5 --num-processes 2 --time-json " + path("times.json"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::string text(MappedFile(path("times.json")).bytes());
  for (const char *key : {"median_us", "min_us", "max_us", "compile_ms", "first_result_ms"})
    EXPECT_THAT(text, HasSubstr(std::string("\"") + key + "\": "));
  EXPECT_THAT(text, HasSubstr("\"runs\": 5"));
}

// The command needs only the runtime: no compiler, and no library that a machine may lack.
TEST(SpmdRun, needs_only_the_c_library) {
  Printed outcome = shell("ldd " SPMDC_BINARY_DIR "/bin/spmd-run");
  ASSERT_THAT(outcome.text, HasSubstr("libc.so"));
  for (const char *library : {"LLVM", "MLIR", "stdc++", "crypto", "zip", "dnnl"})
    EXPECT_THAT(outcome.text, testing::Not(HasSubstr(library)));
}

class KillAfter : public RunProgram, public testing::WithParamInterface<int> {};

// kill -9 of one process: the others end within a second, and all name it.
TEST_P(KillAfter, a_killed_process_ends_the_run) {
  FILE *pipe = popen(
      ("exec " + command("--input x=iota --input p=ones --num-processes 4 --repeat 1000000000 --verbose 2>&1")).c_str(),
      "r");
  // The pids are printed as soon as the processes exist.
  std::string text, marker = "process 2 has pid ";
  char line[4096];
  pid_t victim = 0;
  while (victim == 0 && std::fgets(line, sizeof line, pipe)) {
    text += line;
    if (const char *at = std::strstr(line, marker.c_str()))
      victim = std::atoi(at + marker.size());
  }
  ASSERT_GT(victim, 1) << text;
  std::this_thread::sleep_for(std::chrono::milliseconds(GetParam()));
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  auto killed = std::chrono::steady_clock::now();
  while (std::fgets(line, sizeof line, pipe))
    text += line;
  int status = pclose(pipe);
  auto took = std::chrono::steady_clock::now() - killed;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << text;
  EXPECT_LT(took, test::timeLimit(std::chrono::seconds(1))) << text;
  EXPECT_THAT(text, HasSubstr("process 2 (pid " + std::to_string(victim) + ") was killed by signal 9 (SIGKILL)"));
}

// The wait only spreads the time of the kill from a process's first instructions over joining to its work.
INSTANTIATE_TEST_SUITE_P(RunProgram, KillAfter, testing::Values(0, 3, 10, 30, 500));

} // namespace
