#!/usr/bin/env bash
# Tests the engines that write frames over a veth pair. Needs root and iproute2. Both ends of the
# pair are in one network namespace without a route to other networks. Frames leave by one end, and
# arrive at the other as if they came from another host.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

if [ -z "${BLOCKSWEEP_INSIDE:-}" ]; then
  deno check tests/namespaces/raw/*.ts # downloads missing packages while there is a network
  BLOCKSWEEP_INSIDE=1 exec unshare --net "$0" "$@"
fi
# IPv6 would send datagrams of its own.
for name in all default; do sysctl -qw "net.ipv6.conf.$name.disable_ipv6=1"; done
sysctl -qw net.ipv6.conf.lo.disable_ipv6=0
ip link set lo up
ip link add near0 address 02:00:00:00:00:01 numtxqueues 2 numrxqueues 2 \
  type veth peer name far0 address 02:00:00:00:00:fe numtxqueues 2 numrxqueues 2
ip address add 10.79.0.1/24 dev near0
for name in near0 far0; do
  # Accepts packets from the wire whose source is an address of this host.
  for key in accept_local=1 rp_filter=0; do sysctl -qw "net.ipv4.conf.$name.$key"; done
  ip link set "$name" up
done
sysctl -qw net.ipv4.conf.all.rp_filter=0
ip neighbour add 10.79.0.254 lladdr 02:00:00:00:00:fe dev near0
ip route add default via 10.79.0.254
# Routes of every kind: the program has to choose the same next hops as the kernel.
ip route add 10.80.0.0/12 via 10.79.0.254 metric 7
ip route add blackhole 10.81.0.0/16
ip route add 10.81.2.0/23 via 10.79.0.254
ip route add 10.82.0.0/16 dev near0
ip route add 10.82.7.0/24 via 10.79.0.254 src 10.79.0.1
ip route add 10.83.0.0/16 via 10.79.0.253
ip route add unreachable 10.84.0.0/30
ip route add 10.85.0.0/16 nexthop via 10.79.0.254 nexthop via 10.79.0.253

deno test --no-prompt --allow-net --allow-read --allow-write --allow-ffi --allow-run --allow-env \
  tests/namespaces/raw
