//===- ClusterTest.cpp - clusters by their own variables ------------------===//

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

/// `address id/count job`, or why not, of the cluster of that name.
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

Variables with(Variables variables, const std::string &name, const std::string &value) {
  variables[name] = value;
  return variables;
}

TEST(Cluster, Slurm) {
  EXPECT_EQ(tell(slurm, "Slurm"), "gpu007-a:61441 3/8 slurm-4097");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", ""), "Slurm"), "SLURM_STEP_NODELIST is not set");
  EXPECT_EQ(tell(with(slurm, "SLURM_NTASKS", "x"), "Slurm"),
            "SLURM_NTASKS is `x`, which is no number that it could be");
  EXPECT_EQ(tell(with(slurm, "SLURM_PROCID", "8"), "Slurm"), "process 8 of 8 does not exist");
  EXPECT_EQ(tell(with(with(slurm, "SLURM_NTASKS", "1"), "SLURM_PROCID", "0"), "Slurm"), "the step has one task");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", "gpu[7"), "Slurm"),
            "SLURM_STEP_NODELIST is `gpu[7`, which is no list of hosts");
}

TEST(Cluster, HostLists) {
  EXPECT_EQ(firstHostOf("node1"), "node1");
  EXPECT_EQ(firstHostOf("node1,node2"), "node1");
  EXPECT_EQ(firstHostOf("node[1-4]"), "node1");
  EXPECT_EQ(firstHostOf("node[001,004-006]"), "node001");
  EXPECT_EQ(firstHostOf("rack[2-3]node[07-09].example"), "rack2node07.example");
  EXPECT_EQ(firstHostOf("[3-4]x,y"), "3x");
  for (const char *wrong : {"", ",a", "a[", "a[]", "a[x]", "a]", "a[1;2]", "a[1"})
    EXPECT_EQ(firstHostOf(wrong), std::nullopt) << wrong;
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
            "OMPI_MCA_orte_hnp_uri is `1.0;usock`, which names no TCP address");
  // Open MPI 5: the address has to be given.
  mpi.erase("OMPI_MCA_orte_hnp_uri");
  EXPECT_EQ(tell(mpi, "Open MPI"), "- 2/4 -");
  EXPECT_EQ(tell({}, "Open MPI"), "OMPI_COMM_WORLD_SIZE is not set");
}

TEST(Cluster, KubernetesTorchrunAndCloudTpu) {
  EXPECT_EQ(tell({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"JOB_COMPLETION_INDEX", "5"}}, "Kubernetes"), "- 5/- -");
  EXPECT_EQ(tell({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, "Kubernetes"), "JOB_COMPLETION_INDEX is not set");
  Variables torchrun{
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "fd00::1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(tell(torchrun, "torchrun"), "[fd00::1]:62268 1/2 -"); // 29500 mod 4096 = 828.
  EXPECT_EQ(tell(with(torchrun, "MASTER_PORT", "99999"), "torchrun"),
            "MASTER_PORT is `99999`, which is no number that it could be");
  Variables tpu{{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "t0,t1"}};
  EXPECT_EQ(tell(tpu, "Cloud TPU"), "t0:8476 1/2 -");
  tpu.insert(
      {{"MEGASCALE_NUM_SLICES", "3"}, {"MEGASCALE_SLICE_ID", "2"}, {"MEGASCALE_COORDINATOR_ADDRESS", "s0:8080"}});
  EXPECT_EQ(tell(tpu, "Cloud TPU"), "s0:8476 5/6 -");
  EXPECT_EQ(tell(with(tpu, "TPU_WORKER_ID", "2"), "Cloud TPU"),
            "TPU_WORKER_ID is 2, but TPU_WORKER_HOSTNAMES has 2 hosts");
}

// What is given wins, item by item.
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
