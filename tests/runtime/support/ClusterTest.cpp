//===- ClusterTest.cpp - variables of cluster launchers -------------------===//

#include "runtime/support/Cluster.h"
#include "runtime/support/Env.h"

#include <gtest/gtest.h>
#include <map>

using namespace spmd;

namespace {

using Variables = std::map<std::string, std::string>;

std::function<std::optional<std::string>(const char *)> from(const Variables &variables) {
  return [&variables](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// Returns `address id/count job` of the cluster of that name, or why it is not used.
std::string tell(const Variables &variables, const std::string &name) {
  for (const Cluster &cluster : findClusters(from(variables))) {
    if (cluster.name != name)
      continue;
    if (!cluster.isFound())
      return cluster.whyNot;
    return cluster.coordinatorAddress.value_or("-") + " " +
           (cluster.processId ? std::to_string(*cluster.processId) : "-") + "/" +
           (cluster.numProcesses ? std::to_string(*cluster.numProcesses) : "-") + " " + cluster.jobId.value_or("-");
  }
  return "unknown";
}

const Variables slurm{{"SLURM_JOB_ID", "4097"},
                      {"SLURM_STEP_NODELIST", "gpu[007-009,12]-a,login1"},
                      {"SLURM_NTASKS", "8"},
                      {"SLURM_PROCID", "3"},
                      {"SLURM_LOCALID", "1"}};

const Variables torchrun{
    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const std::string &name, const std::string &value) {
  variables[name] = value;
  return variables;
}

TEST(Cluster, Slurm) {
  EXPECT_EQ(tell(slurm, "Slurm"), "gpu007-a:61441 3/8 slurm-4097");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_ID", "2"), "Slurm"), "gpu007-a:61441 3/8 slurm-4097.2");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", ""), "Slurm"),
            "SLURM_STEP_NODELIST is not set: processes of a job are started with srun");
  EXPECT_EQ(tell(with(with(slurm, "SLURM_NTASKS", "4"), "SLURM_PROCID", "0"), "Slurm"),
            "SLURM_STEP_NODELIST has 5 hosts, but SLURM_NTASKS is 4");
  EXPECT_EQ(tell(with(slurm, "SLURM_NTASKS", "x"), "Slurm"), "SLURM_NTASKS is `x`, which is not a valid number");
  EXPECT_EQ(tell(with(slurm, "SLURM_PROCID", "8"), "Slurm"), "process 8 of 8 does not exist");
  EXPECT_EQ(tell(with(with(slurm, "SLURM_NTASKS", "1"), "SLURM_PROCID", "0"), "Slurm"), "the step has one task");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", "gpu[7"), "Slurm"),
            "SLURM_STEP_NODELIST is `gpu[7`, which is not a list of hosts");
}

TEST(Cluster, OpenMpi) {
  Variables mpi{{"OMPI_MCA_orte_hnp_uri", "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"OMPI_COMM_WORLD_RANK", "2"},
                {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
  // 1531576320 / 4096 = 373920, and 373920 mod 4096 = 1184.
  EXPECT_EQ(tell(mpi, "Open MPI"), "10.96.0.1:62624 2/4 openmpi-1531576320");
  EXPECT_EQ(tell(with(mpi, "OMPI_MCA_orte_hnp_uri", "4096.0;tcp6://[fd00::7,fe80::1]:34911"), "Open MPI"),
            "[fd00::7]:61441 2/4 openmpi-4096");
  EXPECT_EQ(tell(with(mpi, "OMPI_MCA_orte_hnp_uri", "1.0;usock"), "Open MPI"),
            "OMPI_MCA_orte_hnp_uri is `1.0;usock`, which has no TCP address");
  // Open MPI 5: the name of the job contains host and process id of mpirun. 1000001 mod 4096 = 577.
  mpi.erase("OMPI_MCA_orte_hnp_uri");
  Variables five = with(mpi, "PMIX_NAMESPACE", "prterun-login-node-1000001@1");
  EXPECT_EQ(tell(five, "Open MPI"), "login-node:62017 2/4 openmpi-prterun-login-node-1000001@1");
  EXPECT_EQ(tell(with(five, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"), "Open MPI"),
            "login-node:62017 2/4 openmpi-prterun-login-node-1000001@1");
  EXPECT_EQ(tell(with(five, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"), "Open MPI"),
            "127.0.0.1:62017 2/4 openmpi-prterun-login-node-1000001@1");
  // Started by another program: the user has to give the address.
  for (const char *name : {"1759903745", "prterun-5@1", "prterun--5@1", "prterun-a-b@1", "prterun-a-5", "@", "-@"})
    EXPECT_EQ(tell(with(mpi, "PMIX_NAMESPACE", name), "Open MPI"), "- 2/4 -") << name;
  EXPECT_EQ(tell(mpi, "Open MPI"), "- 2/4 -");
  EXPECT_EQ(tell({}, "Open MPI"), "OMPI_COMM_WORLD_SIZE is not set");
}

TEST(Cluster, Mpich) {
  Variables mpich{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  EXPECT_EQ(tell(mpich, "MPICH"), "- 1/2 -");
  EXPECT_EQ(tell(with(mpich, "PMI_RANK", "2"), "MPICH"), "process 2 of 2 does not exist");
  EXPECT_EQ(tell({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}, "MPICH"), "the job has one process");
  EXPECT_EQ(tell({}, "MPICH"), "PMI_SIZE is not set");
}

TEST(Cluster, KubernetesTorchrunAndCloudTpu) {
  EXPECT_EQ(tell({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "5"}}, "Kubernetes"), "- 5/- -");
  EXPECT_EQ(tell({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, "Kubernetes"), "JOB_COMPLETION_INDEX is not set");
  EXPECT_EQ(tell(with(torchrun, "MASTER_ADDR", "fd00::1"), "torchrun"),
            "[fd00::1]:62268 1/2 -"); // 29500 mod 4096 = 828.
  EXPECT_EQ(tell(with(torchrun, "MASTER_PORT", "99999"), "torchrun"),
            "MASTER_PORT is `99999`, which is not a valid number");
  Variables tpu{{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "t0,t1"}};
  EXPECT_EQ(tell(tpu, "Cloud TPU"), "t0:8476 1/2 -");
  tpu.insert(
      {{"MEGASCALE_NUM_SLICES", "3"}, {"MEGASCALE_SLICE_ID", "2"}, {"MEGASCALE_COORDINATOR_ADDRESS", "s0:8080"}});
  EXPECT_EQ(tell(tpu, "Cloud TPU"), "s0:8476 5/6 -");
  EXPECT_EQ(tell(with(tpu, "TPU_WORKER_ID", "2"), "Cloud TPU"),
            "TPU_WORKER_ID is 2, but TPU_WORKER_HOSTNAMES has 2 hosts");
  Variables addresses{{"TPU_WORKER_ID", "1"}, {"TPU_PROCESS_ADDRESSES", "t5:8471,t6:8471,t7:8471"}};
  EXPECT_EQ(tell(addresses, "Cloud TPU"), "t5:8476 1/3 -");
  EXPECT_EQ(tell(with(addresses, "TPU_PROCESS_ADDRESSES", "[fd00::1]:8471,[fd00::2]:8471"), "Cloud TPU"),
            "[fd00::1]:8476 1/2 -");
  EXPECT_EQ(tell(with(addresses, "TPU_WORKER_HOSTNAMES", "t0,t1"), "Cloud TPU"), "t0:8476 1/2 -");
  EXPECT_EQ(tell(with(addresses, "TPU_WORKER_ID", "3"), "Cloud TPU"),
            "TPU_WORKER_ID is 3, but TPU_PROCESS_ADDRESSES has 3 hosts");
}

/// Returns `error: ...` or `warning: ...` for the variables, without the remedy.
std::string trouble(const Variables &variables) {
  Environment found = Environment::parse(from(variables));
  if (!found.clusterError.empty())
    return "error: " + found.clusterError.substr(0, found.clusterError.find(';'));
  if (!found.clusterWarning.empty())
    return "warning: " + found.clusterWarning.substr(0, found.clusterWarning.find(';'));
  return "";
}

// A process that is one of several but does not know its number must not work as if it were alone.
TEST(Cluster, OneOfSeveralWithoutANumber) {
  const std::string says = "'s variables say that this process is one of several, and are wrong: ";
  EXPECT_EQ(trouble(with(slurm, "SLURM_NTASKS", "4")),
            "error: Slurm" + says + "SLURM_STEP_NODELIST has 5 hosts, but SLURM_NTASKS is 4");
  EXPECT_EQ(trouble(with(slurm, "SLURM_STEP_NODELIST", "n[1-")),
            "error: Slurm" + says + "SLURM_STEP_NODELIST is `n[1-`, which is not a list of hosts");
  EXPECT_EQ(trouble(with(slurm, "SLURM_NTASKS", "x")),
            "error: Slurm" + says + "SLURM_NTASKS is `x`, which is not a valid number");
  EXPECT_EQ(trouble(with(slurm, "SLURM_LOCALID", "")), "error: Slurm" + says + "SLURM_LOCALID is not set");
  EXPECT_EQ(trouble(with(torchrun, "RANK", "3")), "error: torchrun" + says + "process 3 of 2 does not exist");
  EXPECT_EQ(trouble(with(torchrun, "MASTER_PORT", "70000")),
            "error: torchrun" + says + "MASTER_PORT is `70000`, which is not a valid number");
  EXPECT_EQ(trouble({{"OMPI_MCA_orte_hnp_uri", "garbage"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_RANK", "1"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
            "error: Open MPI" + says + "OMPI_MCA_orte_hnp_uri is `garbage`, which has no TCP address");
  EXPECT_EQ(trouble({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}}),
            "error: Open MPI" + says + "OMPI_COMM_WORLD_LOCAL_RANK is not set");
  EXPECT_EQ(trouble({{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}}), "error: MPICH" + says + "process 2 of 2 does not exist");
  EXPECT_EQ(trouble({{"TPU_WORKER_ID", "5"}, {"TPU_WORKER_HOSTNAMES", "a,b,c"}}),
            "error: Cloud TPU" + says + "TPU_WORKER_ID is 5, but TPU_WORKER_HOSTNAMES has 3 hosts");
}

// Complete explicit items suffice, and so does another cluster that is found.
TEST(Cluster, WhatReplacesAMissingNumber) {
  Variables wrong = with(slurm, "SLURM_NTASKS", "4");
  EXPECT_EQ(trouble(with(wrong, "SPMD_NUM_PROCESSES", "1")), "");
  EXPECT_EQ(Environment::parse(from(with(slurm, "SPMD_NUM_PROCESSES", "1"))).processId, std::nullopt);
  EXPECT_EQ(Environment::parse(from(slurm), nullptr, /*isAlone=*/true).processId, std::nullopt);
  Variables given = with(with(wrong, "SPMD_COORDINATOR_ADDRESS", "h:1"), "SPMD_PROCESS_ID", "0");
  EXPECT_NE(trouble(given), "");
  EXPECT_EQ(trouble(with(given, "SPMD_NUM_PROCESSES", "4")), "");
  wrong.insert(torchrun.begin(), torchrun.end());
  EXPECT_EQ(trouble(wrong), "");
  EXPECT_EQ(Environment::parse(from(wrong)).processId, 1);
}

// A process may work alone if the variables say so, or belong to other software.
TEST(Cluster, AloneInACluster) {
  Variables step = with(with(slurm, "SLURM_NTASKS", "1"), "SLURM_PROCID", "0");
  EXPECT_EQ(trouble(step), "");
  EXPECT_EQ(trouble(with(step, "SLURM_STEP_NODELIST", "n[1-")), "");
  // A batch script, the shell of an allocation, and the same within a step of its own.
  EXPECT_EQ(trouble(with(slurm, "SLURM_STEP_NODELIST", "")), "");
  EXPECT_EQ(trouble({{"SLURM_JOB_ID", "4097"}, {"SLURM_NTASKS", "8"}}), "");
  Variables shell =
      with(with(with(slurm, "SLURM_PROCID", "0"), "SLURM_STEP_NODELIST", "n1"), "SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(trouble(shell), "");
  EXPECT_EQ(Environment::parse(from(shell)).processId, std::nullopt);
  EXPECT_EQ(trouble({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), "");
  EXPECT_EQ(trouble({{"RANK", "3"}}), "");
  EXPECT_EQ(trouble({{"WORLD_SIZE", "8"}, {"MASTER_ADDR", "h"}}), "");
  EXPECT_EQ(trouble({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(trouble({{"TPU_WORKER_ID", "0"}, {"TPU_WORKER_HOSTNAMES", "localhost"}}), "");
  EXPECT_EQ(trouble({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "");
}

TEST(Cluster, PerhapsOneOfSeveral) {
  const std::string alone = "warning: this process runs alone, although it may be one of several: it has variables of ";
  Variables pod{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "3"}};
  EXPECT_EQ(trouble(pod), alone + "Kubernetes, but they do not say how many processes there are");
  EXPECT_EQ(trouble(with(pod, "JOB_COMPLETION_INDEX", "x")),
            alone + "Kubernetes, but JOB_COMPLETION_INDEX is `x`, which is not a valid number");
  EXPECT_EQ(trouble(with(pod, "SPMD_NUM_PROCESSES", "1")), "");
  EXPECT_EQ(trouble(with(torchrun, "LOCAL_RANK", "")), alone + "torchrun, but LOCAL_RANK is not set");
  EXPECT_EQ(trouble({{"OMPI_COMM_WORLD_SIZE", "4"}}), alone + "Open MPI, but OMPI_COMM_WORLD_RANK is not set");
  // torchrun in a pod of an indexed job: torchrun has the numbers.
  pod.insert(torchrun.begin(), torchrun.end());
  EXPECT_EQ(trouble(pod), "");
  EXPECT_EQ(Environment::parse(from(pod)).processId, 1);
}

// Explicit items have precedence, one by one.
TEST(Cluster, GivenVariablesWin) {
  Environment found = Environment::parse(from(slurm));
  EXPECT_EQ(found.coordinatorAddress, "gpu007-a:61441");
  EXPECT_EQ(found.numProcesses, 8);
  EXPECT_EQ(found.processId, 3);
  EXPECT_EQ(found.jobId, "slurm-4097");
  Environment given =
      Environment::parse(from(with(with(slurm, "SPMD_COORDINATOR_ADDRESS", "h:1"), "SPMD_JOB_ID", "j")));
  EXPECT_EQ(given.coordinatorAddress, "h:1");
  EXPECT_EQ(given.numProcesses, 8);
  EXPECT_EQ(given.jobId, "j");
  // A pod of an indexed job is alone unless its manifest says how many there are.
  Variables pod{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "5"}};
  EXPECT_EQ(Environment::parse(from(pod)).processId, std::nullopt);
  EXPECT_EQ(Environment::parse(from(with(pod, "SPMD_NUM_PROCESSES", "6"))).processId, 5);
}

} // namespace
