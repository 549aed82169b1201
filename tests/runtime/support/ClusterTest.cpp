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
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", ""), "Slurm"),
            "SLURM_STEP_NODELIST is not set: processes of a job are started with srun");
  EXPECT_EQ(tell(with(with(slurm, "SLURM_NTASKS", "4"), "SLURM_PROCID", "0"), "Slurm"),
            "SLURM_STEP_NODELIST has 5 hosts, but SLURM_NTASKS is 4");
  EXPECT_EQ(tell(with(slurm, "SLURM_NTASKS", "x"), "Slurm"),
            "SLURM_NTASKS is `x`, which is no number that it could be");
  EXPECT_EQ(tell(with(slurm, "SLURM_PROCID", "8"), "Slurm"), "process 8 of 8 does not exist");
  EXPECT_EQ(tell(with(with(slurm, "SLURM_NTASKS", "1"), "SLURM_PROCID", "0"), "Slurm"), "the step has one task");
  EXPECT_EQ(tell(with(slurm, "SLURM_STEP_NODELIST", "gpu[7"), "Slurm"),
            "SLURM_STEP_NODELIST is `gpu[7`, which is no list of hosts");
}

/// The hosts, separated by blanks; `none` where it is no list.
std::string expand(const std::string &list, size_t limit = 65536) {
  auto hosts = expandHostList(list, limit);
  if (!hosts)
    return "none";
  std::string text;
  for (const std::string &host : *hosts)
    text += (text.empty() ? "" : " ") + host;
  return text;
}

// As `scontrol show hostnames` has them; what stands behind brackets is known to newer Slurms only.
TEST(Cluster, HostLists) {
  EXPECT_EQ(expand("node1"), "node1");
  EXPECT_EQ(expand("node1,node2"), "node1 node2");
  EXPECT_EQ(expand("node[01-03,7],gpu-a[1-2]b"), "node01 node02 node03 node7 gpu-a1b gpu-a2b");
  EXPECT_EQ(expand("node[001,004-006]"), "node001 node004 node005 node006");
  EXPECT_EQ(expand("node[8-11]"), "node8 node9 node10 node11");
  EXPECT_EQ(expand("node[098-101]"), "node098 node099 node100 node101");
  EXPECT_EQ(expand("rack[2-3]node[07-08].example"),
            "rack2node07.example rack2node08.example rack3node07.example rack3node08.example");
  EXPECT_EQ(expand("[3-4]x,y"), "3x 4x y");
  EXPECT_EQ(expand("n[5-5]"), "n5");
  for (const char *wrong : {"",
                            ",a",
                            "a,",
                            "a,,b",
                            "a[",
                            "a[]",
                            "a[x]",
                            "a]",
                            "a[1;2]",
                            "a[1",
                            "a[2-1]",
                            "a[1-]",
                            "a[-1]",
                            "a[1,]",
                            "a[[1]]",
                            "a b",
                            "a/b",
                            "a[1-2-3]",
                            "a[1234567890123456789]",
                            "a\n"})
    EXPECT_EQ(expand(wrong), "none") << wrong;
}

// A list is short and may stand for more hosts than fit into memory.
TEST(Cluster, HostListsAreBounded) {
  EXPECT_EQ(expandHostList("n[1-65536]")->size(), 65536u);
  EXPECT_EQ(expand("n[1-65537]"), "none");
  EXPECT_EQ(expand("n[0-999999999999999999]"), "none");
  EXPECT_EQ(expand("a[1-999]b[1-999]c[1-999]d[1-999]e[1-999]f[1-999]"), "none");
  EXPECT_EQ(expand("n[1-4],m", 4), "none");
  EXPECT_EQ(expand("n[1-3],m", 4), "n1 n2 n3 m");
  EXPECT_EQ(expand(std::string(300, 'n')), "none");
  EXPECT_EQ(expand(std::string(2'000'000, ',')), "none");
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
  // Open MPI 5: host and process id of mpirun stand in the name of the job. 1000001 mod 4096 = 577.
  mpi.erase("OMPI_MCA_orte_hnp_uri");
  Variables five = with(mpi, "PMIX_NAMESPACE", "prterun-login-node-1000001@1");
  EXPECT_EQ(tell(five, "Open MPI"), "login-node:62017 2/4 openmpi-prterun-login-node-1000001@1");
  EXPECT_EQ(tell(with(five, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"), "Open MPI"),
            "login-node:62017 2/4 openmpi-prterun-login-node-1000001@1");
  EXPECT_EQ(tell(with(five, "OMPI_COMM_WORLD_LOCAL_SIZE", "4"), "Open MPI"),
            "127.0.0.1:62017 2/4 openmpi-prterun-login-node-1000001@1");
  // Started by something else: the address has to be given.
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
