#!/usr/bin/env bash
# Installs Slurm and munge for tests/engines/test_slurm.py, if this is root on a system with apt, as a container is.
# Where they cannot be had it says so: the tests are skipped then, or fail if they are asked to.
set -uo pipefail

for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || missing=1
done
[ -n "${missing-}" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Slurm is not here, and cannot be installed without root and apt." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# Nothing is started by the installation: the tests start what they need.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
install() { apt-get install -qq -y --no-install-recommends munge slurmctld slurmd slurm-client >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; } || echo "Slurm cannot be installed here." >&2
exit 0
