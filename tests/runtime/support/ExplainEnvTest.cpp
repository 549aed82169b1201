//===- ExplainEnvTest.cpp - the report of the environment -----------------===//

#include "runtime/support/Env.h"

#include <gmock/gmock.h>
#include <map>

using namespace spmd;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string explain(const std::map<std::string, std::string> &variables) {
  return Environment::explain([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(ExplainEnv, MisspeltVariables) {
  EXPECT_THAT(Environment::explain([](const char *) { return std::nullopt; }, {"HOME", "SPMD_JOBID"}),
              HasSubstr("wrong: environment variable SPMD_JOBID is not known; did you mean SPMD_JOB_ID?\n"));
}

TEST(ExplainEnv, Nothing) {
  std::string text = explain({});
  EXPECT_THAT(text, HasSubstr("SPMD_PROCESS_ID: not set\n"));
  EXPECT_THAT(text, EndsWith("\none process on this machine\n"));
  EXPECT_THAT(text, Not(HasSubstr("wrong:")));
}

// Reports all problems at once, and throws nothing.
TEST(ExplainEnv, EveryWrongVariable) {
  std::string text = explain({{"SPMD_NUM_PROCESSES", "four"},
                              {"SPMD_PROCESS_ID", "-1"},
                              {"SPMD_LOCAL_DEVICE_IDS", "0;1"},
                              {"SPMD_DEVICES_PER_PROCESS", "0"},
                              {"SPMD_HEARTBEAT_TIMEOUT", "0"},
                              {"SPMD_COLLECTIVE_TIMEOUT", "1e12"},
                              {"SPMD_COORDINATOR_FD", "x"}});
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_NUM_PROCESSES is `four`, but should be a number of "
                              "processes, at least 1\n"));
  EXPECT_THAT(text,
              HasSubstr("wrong: environment variable SPMD_PROCESS_ID is `-1`, but should be the number of a process"));
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_LOCAL_DEVICE_IDS is `0;1`, but should be a list"));
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_DEVICES_PER_PROCESS is `0`"));
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_HEARTBEAT_TIMEOUT is `0`, but should be a positive"));
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_COLLECTIVE_TIMEOUT is `1e12`"));
  EXPECT_THAT(text, HasSubstr("wrong: environment variable SPMD_COORDINATOR_FD is `x`"));
  EXPECT_THAT(text, HasSubstr("SPMD_NUM_PROCESSES: not set\n"));
}

TEST(ExplainEnv, Contradictions) {
  EXPECT_THAT(explain({{"SPMD_NUM_PROCESSES", "4"}, {"SPMD_PROCESS_ID", "4"}}),
              HasSubstr("wrong: process 4 of 4 does not exist: SPMD_PROCESS_ID is from 0 to 3\n"));
  EXPECT_THAT(explain({{"SPMD_COORDINATOR_ADDRESS", "host"}}),
              HasSubstr("wrong: SPMD_COORDINATOR_ADDRESS is `host`, but should be HOST:PORT: the port is missing\n"));
  EXPECT_THAT(explain({{"SPMD_TLS_CERT", "a"}, {"SPMD_TLS_KEY", "b"}}),
              HasSubstr("wrong: TLS needs all of SPMD_TLS_CERT, SPMD_TLS_KEY and SPMD_TLS_CA, and 2 are set\n"));
  EXPECT_THAT(explain({{"SPMD_TOKEN", "a"}, {"SPMD_TOKEN_FILE", "b"}}),
              HasSubstr("wrong: SPMD_TOKEN and SPMD_TOKEN_FILE are both set: the file is used\n"));
  EXPECT_THAT(explain({{"SPMD_TOKEN", "a-secret"}}), Not(HasSubstr("a-secret")));
  EXPECT_THAT(
      explain({{"SPMD_LOCAL_DEVICE_IDS", "0,2"}, {"SPMD_DEVICES_PER_PROCESS", "2"}}),
      HasSubstr("wrong: SPMD_LOCAL_DEVICE_IDS has numbers that are not below SPMD_DEVICES_PER_PROCESS, which is 2\n"));
}

TEST(ExplainEnv, WhatIsMissing) {
  EXPECT_THAT(explain({{"SPMD_COORDINATOR_ADDRESS", "h:1"}, {"SPMD_NUM_PROCESSES", "2"}}),
              EndsWith("\nnot enough to join a job: SPMD_PROCESS_ID (or the option of that name) is missing\n"));
  EXPECT_THAT(explain({{"SPMD_NUM_PROCESSES", "2"}}),
              EndsWith("\nnot enough to join a job: SPMD_COORDINATOR_ADDRESS, SPMD_PROCESS_ID (or the option of that "
                       "name) is missing; run starts the processes here\n"));
  EXPECT_THAT(explain({{"SPMD_NUM_PROCESSES", "1"}, {"SPMD_PROCESS_ID", "0"}}),
              EndsWith("\none process on this machine\n"));
}

TEST(ExplainEnv, WhichClusterCounts) {
  std::map<std::string, std::string> variables{{"SLURM_JOB_ID", "4097"},
                                               {"SLURM_STEP_NODELIST", "gpu[7-9]"},
                                               {"SLURM_NTASKS", "3"},
                                               {"SLURM_PROCID", "2"},
                                               {"SLURM_LOCALID", "0"},
                                               {"WORLD_SIZE", "2"},
                                               {"RANK", "1"},
                                               {"LOCAL_RANK", "0"},
                                               {"MASTER_ADDR", "h"},
                                               {"MASTER_PORT", "29500"},
                                               {"SPMD_NUM_PROCESSES", "2"}};
  std::string text = explain(variables);
  EXPECT_THAT(text, HasSubstr("Slurm: found\n  SPMD_NUM_PROCESSES is set, and has precedence over Slurm's value: 3\n"));
  EXPECT_THAT(text, HasSubstr("torchrun: found, but not used: Slurm comes before it\n"));
  EXPECT_THAT(text, HasSubstr("wrong: process 2 of 2 does not exist"));
  // Processes that torchrun and mpirun start in a step of Slurm have Slurm's variables, too, which describe their
  // daemons.
  variables.erase("SPMD_NUM_PROCESSES");
  variables["TORCHELASTIC_RUN_ID"] = "run";
  text = explain(variables);
  EXPECT_THAT(text, HasSubstr("SPMD_NUM_PROCESSES: 2\nSPMD_PROCESS_ID: 1\n"));
  EXPECT_THAT(text, HasSubstr("Slurm: found, but not used: torchrun comes before it\n"));
  variables.erase("TORCHELASTIC_RUN_ID");
  variables["OMPI_MCA_orte_hnp_uri"] = "1531576320.0;tcp://10.96.0.1:34911";
  variables["OMPI_COMM_WORLD_SIZE"] = "6";
  variables["OMPI_COMM_WORLD_RANK"] = "5";
  variables["OMPI_COMM_WORLD_LOCAL_RANK"] = "1";
  text = explain(variables);
  EXPECT_THAT(text,
              HasSubstr("SPMD_COORDINATOR_ADDRESS: 10.96.0.1:62624\nSPMD_NUM_PROCESSES: 6\nSPMD_PROCESS_ID: 5\n"));
  EXPECT_THAT(text, HasSubstr("Slurm: found, but not used: Open MPI comes before it\n"));
  variables["OMPI_COMM_WORLD_SIZE"] = "3"; // The step has the same numbers: it started the processes.
  variables["OMPI_COMM_WORLD_RANK"] = "2";
  EXPECT_THAT(explain(variables), HasSubstr("Open MPI: found, but not used: Slurm comes before it\n"));
  EXPECT_THAT(explain({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "5"}}),
              HasSubstr("Kubernetes: found, but not used: they do not say how many processes there are; set "
                        "SPMD_NUM_PROCESSES\n"));
  EXPECT_THAT(
      explain({{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}}),
      HasSubstr("\ncannot tell which process this is: MPICH's variables say that this process is one of "
                "several, and are wrong: process 2 of 2 does not exist; correct or unset them, or give num_processes"));
}

} // namespace
