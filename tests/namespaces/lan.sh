#!/usr/bin/env bash
# Two hosts with simulated servers and one that looks for them, in network namespaces of their own,
# joined by a bridge. Needs root and iproute2. Nothing leaves the namespaces: they have no way out.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=bs$$
folder=$(mktemp -d)
pids=()

clean() {
  for pid in "${pids[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for name in bridge look one two; do ip netns delete "$id-$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

# host NAME ADDRESS: a namespace with one interface on the bridge.
host() {
  ip netns add "$id-$1"
  ip -n "$id-$1" link set lo up
  ip -n "$id-bridge" link add "port-$1" type veth peer name eth0 netns "$id-$1"
  ip -n "$id-bridge" link set "port-$1" master bridge0 up
  ip -n "$id-$1" addr add "$2/24" broadcast + dev eth0
  ip -n "$id-$1" link set eth0 up
}

ip netns add "$id-bridge"
ip -n "$id-bridge" link add bridge0 type bridge
ip -n "$id-bridge" link set bridge0 up
host look 10.77.0.1
host one 10.77.0.2
host two 10.77.0.3

# serve NAME ADDRESS SOFTWARE: a simulated server that hears broadcasts. Reading the routing table,
# to be sure that there is no way out, needs --allow-all.
serve() {
  ip netns exec "$id-$1" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
    --servers 1 --range "$2" --software "$3" --seed "$4" --manifest "$folder/$1.json" \
    --log "$folder/$1.log" &
  pids+=($!)
  until [ -s "$folder/$1.json" ]; do sleep 0.1; done
}
serve one 10.77.0.2 bds 1
serve two 10.77.0.3 pocketmine 2

ip netns exec "$id-look" deno run --no-prompt --allow-net --allow-sys=networkInterfaces \
  main.ts lan --json | tee "$folder/found.ndjson"
for pid in "${pids[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
wait || true

found=$(grep -o '"host":"10\.77\.0\.[0-9]*"' "$folder/found.ndjson" | sort | tr '\n' ' ')
echo "found: $found"
echo "pings that reached one: $(grep -c '"way":"in".*"hex":"01' "$folder/one.log")"
[ "$found" = '"host":"10.77.0.2" "host":"10.77.0.3" ' ] && echo "both, each once"
