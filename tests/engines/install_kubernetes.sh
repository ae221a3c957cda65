#!/usr/bin/env bash
# Gets what tests/engines/kubernetes_here.py needs, as root on a Debian 12: install_kubernetes.sh FOLDER
#
# containerd, runc, etcd and the like come by apt; the programs of Kubernetes itself, which Debian has the source of, are
# built into FOLDER, which takes some ten minutes and 3 GB below /tmp. Then: KUBERNETES_PROGRAMS=FOLDER make test-engines
set -euo pipefail

folder=$(realpath -m "${1:?install_kubernetes.sh FOLDER}")
programs="kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl"
mkdir -p "$folder"

export DEBIAN_FRONTEND=noninteractive
# Nothing is started by the installation: the tests start what they need.
policy=/usr/sbin/policy-rc.d
work=$(mktemp -d)
ends() { rm -rf "$work"; [ -z "${made:-}" ] || rm -f "$policy"; }
trap ends EXIT
if [ ! -e "$policy" ]; then
    made=yes
    printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
fi
packages="containerd runc etcd-server containernetworking-plugins busybox-static iproute2 openssl procps golang-1.19-go"
# shellcheck disable=SC2086
apt-get install -qq -y --no-install-recommends $packages >/dev/null ||
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends $packages >/dev/null; }

missing=""
for program in $programs; do
    [ -x "$folder/$program" ] || missing="$missing $program"
done
[ -n "$missing" ] || exit 0

# The list of sources, in a place of its own: the system's may have packages alone.
echo "deb-src https://deb.debian.org/debian bookworm main" > "$work/sources"
mkdir -p "$work/lists/partial"
options=(-o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists")
cd "$work"
apt-get "${options[@]}" update -qq
apt-get "${options[@]}" source -qq --download-only kubernetes
mkdir -p go/src/k8s.io/kubernetes
tar -xf kubernetes_*.orig.tar.gz --strip-components 1 -C go/src/k8s.io/kubernetes
tar -xf kubernetes_*.debian.tar.xz
cd go/src/k8s.io/kubernetes
while read -r patch; do
    patch -s -p1 < "$work/debian/patches/$patch"
done < "$work/debian/patches/series"
export PATH=/usr/lib/go-1.19/bin:$PATH GOPATH=$work/go GOCACHE=${GOCACHE:-$work/cache} GO111MODULE=off CGO_ENABLED=0

# The description of the API is made from the types, and is not among the sources.
go build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
tagged() { grep -rl --include='*.go' '^// +k8s:openapi-gen=true' "$1" | grep -v '_examples\|sample-apiserver'; }
packages=$({ tagged pkg; tagged staging/src | sed 's#^staging/src/#vendor/#'; } | xargs -n 1 dirname | sort -u |
    sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
"$work/openapi-gen" -i "$packages" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -o "$work/made" \
    -h hack/boilerplate/boilerplate.generatego.txt -r "$work/report"
find "$work/made" -name '*.go' -exec cp {} pkg/generated/openapi \;
version=k8s.io/component-base/version
number=$(sed -n 's/^Version: .*really\([0-9.]*\)-.*/\1/p' "$work"/kubernetes_*.dsc)
for program in $missing; do
    go build -trimpath -ldflags "-s -w -X $version.gitVersion=v$number" -o "$folder/$program" "./cmd/$program"
done
