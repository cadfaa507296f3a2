#!/usr/bin/env python3
"""A Slurm cluster of one's own on this host: munged, slurmctld and a slurmd per node, stopped again with everything they started.

usage: private_cluster.py [--nodes N] COMMAND [ARGUMENT ...]    runs COMMAND with SLURM_CONF set; its exit code is the command's, 77 without Slurm

A node is a mount, UTS and PID namespace: its own host name, /tmp and /dev/shm, as on a machine of its own. Every daemon and COMMAND has a PID namespace, whose end
ends all that runs in it, and ends with this program, even by SIGKILL. Where namespaces are not permitted, the nodes share the host's and that is said."""
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

UNAVAILABLE = 77  # ctest's SKIP_RETURN_CODE
START_LIMIT_S = 20
DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel")
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]
NAMESPACES = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]),
              "--mount", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

# The first process of a node: hides the host's /tmp and /dev/shm, but for the folders that the cluster shares, and reaps what loses its parent.
NODE = r"""
node=$1 home=$2; shift 2
hostname "$node"
for shared in "$@"; do
  [[ $shared == /tmp/* ]] || continue
  mkdir -p "$home/tmp${shared#/tmp}"
  mount --rbind "$shared" "$home/tmp${shared#/tmp}"
done
mount --rbind "$home/tmp" /tmp
mount -t tmpfs none /dev/shm
slurmd -D -N "$node" &
wait $!
"""

CONFIGURATION = """\
ClusterName=rollcall
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmdSpoolDir={folder}/%n/spool
TmpFS={tmp}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=2
SlurmdTimeout=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
{nodes}
{partitions}
"""
ONE_PARTITION = ("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE",)


class Unavailable(Exception):
    """Slurm cannot run here; the text says why."""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class PrivateCluster:
    """`with PrivateCluster() as cluster: cluster.run("sbatch", ...)`. `shared`: folders below /tmp that all nodes must see."""

    def __init__(self, nodes=2, cores_per_node=2, shared=(), partitions=ONE_PARTITION):
        missing = [name for name in DAEMONS if not shutil.which(name, path=PATH)]
        if missing:
            raise Unavailable(f"no {', '.join(missing)} (scripts/setup --tests installs slurm-wlm and munge)")
        self._names = [f"n{i + 1}" for i in range(nodes)]
        self._cores, self._partitions, self._shared, self._daemons = cores_per_node, partitions, list(map(str, shared)), {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm_"))
        self.isolated = subprocess.run([*NAMESPACES, "true"], capture_output=True, env=os.environ | {"PATH": PATH}).returncode == 0
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "PMIX_", "OMPI_COMM"))}
        # The nodes' only common network is the loopback, which Open MPI leaves out unless it is named.
        self.env |= {"PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf"), "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}
        if not self.isolated:
            self.env["OMPI_MCA_btl"] = "self,tcp"  # in one /dev/shm two nodes' segments have the same names
        self.env["OMPI_MCA_mpi_yield_when_idle"] = "1"  # each node counts this host's cores as its own, so MPI does not see that they are shared

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self, *command, timeout=30):
        """stdout of a Slurm command that must succeed"""
        done = subprocess.run(list(map(str, command)), env=self.env, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def contained(self, *command):
        """The command so that nothing of it outlives this program."""
        return [*WITH_PARENT, *(NAMESPACES if self.isolated else []), *command]

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.folder.glob("*.log")))

    def _start(self):
        for name in self._names:
            (self.folder / name / "spool").mkdir(parents=True)
            (self.folder / name / "tmp").mkdir()
        (self.folder / "state").mkdir()
        self._configure()
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        self._daemon("munged", "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                     f"--seed-file={self.folder}/munge.seed", f"--log-file={self.folder}/munged_own.log")
        self._until("munged listens", lambda: (self.folder / "munge.socket").exists())
        self._daemon("slurmctld", "slurmctld", "-D")
        for name in self._names:
            self.start_node(name)
        self._until("all nodes are idle", lambda: self._idle_nodes() == len(self._names))

    def start_node(self, name):
        if self.isolated:
            self._daemon(name, "bash", "-euc", NODE, "node", name, self.folder / name, self.folder, *self._shared)
        else:
            self._daemon(name, "slurmd", "-D", "-N", name)

    def kill(self, name):
        """A daemon, or a node as by a power cut: everything on an isolated one ends at once, and nobody is told."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def _configure(self):
        port, *ports = free_ports(1 + len(self._names))
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName={name} NodeHostname={name if self.isolated else host} NodeAddr=127.0.0.1 Port={port} CPUs={self._cores} State=UNKNOWN"
                          for name, port in zip(self._names, ports))
        tmp = "/tmp" if self.isolated else f"{self.folder}/%n/tmp"  # PMIx keeps sockets there, under names that two nodes of one host would share
        text = CONFIGURATION.format(host=host, port=port, user=getpass.getuser(), folder=self.folder, tmp=tmp, nodes=nodes, partitions="\n".join(self._partitions))
        (self.folder / "slurm.conf").write_text(text)
        # slurmd looks for a cgroup file system even where no plugin uses one; a named version and an empty folder let it start in a chroot too.
        (self.folder / "cgroup").mkdir()
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={self.folder}/cgroup\nCgroupAutomount=no\n")

    def _daemon(self, name, *command):
        with open(self.folder / f"{name}.log", "ab") as log:
            self._daemons[name] = subprocess.Popen(self.contained(*map(str, command)), env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   start_new_session=True)

    def _idle_nodes(self):
        found = subprocess.run(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"], env=self.env, capture_output=True, text=True)
        return len(set(found.stdout.split()))

    def _until(self, what, holds):
        end = time.monotonic() + START_LIMIT_S
        while not holds():
            ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise AssertionError(f"not so after {START_LIMIT_S} s: {what}; ended: {ended}\n{self.logs()}")
            time.sleep(0.1)

    def stop(self):
        """Namespaces end with all that runs in them; without them Slurm ends the jobs first."""
        if not self.isolated and self._daemons:
            subprocess.run(["scancel", f"--user={getpass.getuser()}"], env=self.env, capture_output=True)
            end = time.monotonic() + 10
            while self._idle_nodes() < len(self._names) and time.monotonic() < end:
                time.sleep(0.2)
        for name in reversed(list(self._daemons)):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)


def main(arguments):
    nodes = 2
    if arguments[:1] == ["--nodes"]:
        nodes, arguments = int(arguments[1]), arguments[2:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # through the `with`
    try:
        with PrivateCluster(nodes, shared=[os.getcwd()]) as cluster:
            if not cluster.isolated:
                print("private_cluster: namespaces are not permitted here, so the nodes share this host's /tmp and name", file=sys.stderr)
            return subprocess.run(cluster.contained(*arguments), env=cluster.env).returncode
    except Unavailable as reason:
        print(f"private_cluster: {reason}", file=sys.stderr)
        return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
