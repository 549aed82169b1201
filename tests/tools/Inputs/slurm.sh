#!/bin/bash
# Brings up a real Slurm of one node for one command, as root, in namespaces of its own, so that nothing of it is left:
#
#     slurm.sh COMMAND...        such as slurm.sh srun -n 4 --overcommit spmdc run P.spmd
#
# Needs slurmctld, slurmd, srun and munged (Debian: slurmctld slurmd slurm-client munge).
if [ -z "$SPMD_TEST_SLURM" ]; then
  export SPMD_TEST_SLURM=1
  exec unshare --mount --pid --fork --kill-child --mount-proc --net --uts "$0" "$@"
fi
hostname loopnode
ip link set lo up
# Slurm does not take loopback for a network.
ip link add v0 type veth peer name v1
ip addr add 10.99.0.1/24 dev v0
ip link set v0 up
ip link set v1 up

mount --make-rprivate /
for folder in /etc/slurm /etc/munge /run /var/log /var/spool /var/lib/munge; do
  mkdir -p $folder && mount -t tmpfs tmpfs $folder
done
mkdir -p /run/munge /run/slurm /var/log/munge /var/log/slurm /var/spool/slurmctld /var/spool/slurmd
head -c 32 /dev/urandom >/etc/munge/munge.key
chmod 400 /etc/munge/munge.key
chown -R munge /etc/munge /run/munge /var/log/munge /var/lib/munge
chmod 700 /etc/munge /var/lib/munge
printf '127.0.0.1 localhost\n10.99.0.1 loopnode\n' >/run/hosts
touch /etc/hosts
mount --bind /run/hosts /etc/hosts
echo CgroupPlugin=cgroup/v1 >/etc/slurm/cgroup.conf
cat >/etc/slurm/slurm.conf <<C
ClusterName=loop
SlurmctldHost=loopnode(10.99.0.1)
AuthType=auth/munge
SlurmUser=root
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=loopnode NodeAddr=10.99.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
C
setpriv --reuid munge --regid munge --clear-groups munged --force && slurmctld -c && slurmd -c || exit 1
for ((i = 0; i != 100; ++i)); do
  sinfo --noheader --format %t 2>/dev/null | grep -q idle && break
  sleep 0.1
done
timeout --signal KILL 60 "$@"
status=$?
[ $status = 0 ] || tail -n 5 /var/log/slurm/*.log >&2
exit $status
