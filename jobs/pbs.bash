# shellcheck shell=bash
# What launch.bash asks Slurm for, under PBS. Not tried on a PBS server: written from qsub(1B), qrerun(1B) and pbs_resources(7B) of OpenPBS.

this_job() { echo "${PBS_JOBID:-}"; }
job_end() { echo "${SLURM_JOB_END_TIME:-}"; }

# qrerun needs an operator, so a job whose run is not done submits its script again.
requeue_job() { qsub "${job_script:?}"; }

# begin_pbs_job WALL_S SIGNAL_S RANKS CORES_PER_RANK: says what Slurm would say, in the variables that the program reads, and signals this shell before the end.
begin_pbs_job() {
  SLURM_JOB_END_TIME=$(($(date +%s) + $1))
  SLURM_CPUS_PER_TASK=$4
  export SLURM_JOB_END_TIME SLURM_CPUS_PER_TASK
  # shellcheck disable=SC2034  # launch.bash reads it
  launcher_options="-n $3 -machinefile ${PBS_NODEFILE:-}"  # Open MPI and Hydra both know these
  (
    sleep $(($1 - $2)) &
    trap 'kill $! 2>/dev/null; exit' TERM
    wait $! && kill -USR1 $$
  ) &
  # shellcheck disable=SC2064  # the number of this child
  trap "kill $! 2>/dev/null" EXIT
}
