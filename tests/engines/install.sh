#!/usr/bin/env bash
# Installs Slurm with munge, and OpenSSH with iproute2, for the tests beside this file, if this is root on a system with
# apt, as a container is. Where they cannot be had it says so: the tests are skipped then, or fail if they are asked to.
set -uo pipefail

wanted() { # wanted NAME PROGRAMS PACKAGES
    local program
    for program in $2; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null && continue
        if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
            echo "$1 is not here, and cannot be installed without root and apt." >&2
        else
            names+=("$1")
            read -ra more <<<"$3"
            packages+=("${more[@]}")
        fi
        return
    done
}

names=()
packages=()
wanted Slurm "munged slurmctld slurmd sbatch" "munge slurmctld slurmd slurm-client"
wanted "A server of ssh" "sshd ssh ssh-keygen ip" "openssh-server openssh-client iproute2"
[ "${#packages[@]}" != 0 ] || exit 0
export DEBIAN_FRONTEND=noninteractive
# Nothing is started by the installation: the tests start what they need.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
install() { apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; } || printf '%s cannot be installed here.\n' "${names[@]}" >&2
exit 0
