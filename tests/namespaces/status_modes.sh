#!/usr/bin/env bash
# The modes of the status API: hostile addresses and names cause no packet, which a capture shows, and
# a server that may be probed is. All addresses lead to loopback, where a server replies on each one.
# Needs root, tcpdump and curl. Runs in a network namespace, with an own /etc/resolv.conf.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

if [ "${1:-}" != inside ]; then exec unshare --net --mount "$0" inside; fi
ip link set lo up
ip route add local 0.0.0.0/0 dev lo
ip -6 route add local ::/0 dev lo
folder=$(mktemp -d)
pids=()

clean() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  umount /etc/resolv.conf 2> /dev/null || true
  rm -rf "$folder"
}
trap clean EXIT
fail() {
  echo "FAILED: $1"
  cat "$folder/printed" 2> /dev/null || true
  exit 1
}

printf 'nameserver 127.123.0.53\nsearch corp.example\n' > "$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
deno run --no-prompt --allow-all tests/namespaces/status_network.ts > "$folder/network" &
pids+=($!)
until grep -q ready "$folder/network"; do sleep 0.1; done
program=(deno run --no-prompt --allow-all main.ts)
"${program[@]}" scan 127.0.0.9/32 -p T:25565 -o "$folder/servers.db" --quiet --cooldown 500ms

# check MODE OPTIONS...: requests of the status API in a mode, and what they send
check() {
  local mode=$1 capture="$folder/$1.pcap" served dump
  "${program[@]}" serve "$folder/servers.db" --port 8421 --status-api "$@" > "$folder/printed" 2>&1 &
  served=$!
  pids+=("$served")
  until grep -q Ctrl-C "$folder/printed"; do sleep 0.1; done
  tcpdump -i lo -n -U -w "$capture" 'not (host 127.0.0.1 and port 8421)' 2> "$folder/dump" &
  dump=$!
  until grep -q listening "$folder/dump"; do sleep 0.1; done
  deno run --no-prompt --allow-all tests/namespaces/status_client.ts "$mode" || fail "$mode"
  sleep 1 # tcpdump writes what it has captured
  kill -INT "$dump" "$served"
  wait "$dump" "$served" || true
  tcpdump -n -r "$capture" > "$folder/packets" 2> /dev/null
  deno run --no-prompt --allow-all tests/namespaces/status_client.ts "$mode" "$folder/packets" ||
    fail "$mode"
}
opt_outs=(--opt-out-file "$folder/opt-out.txt")
check database
check allow --probe-allow 45.33.32.1 "${opt_outs[@]}"
check open --i-have-permission --contact abuse@example.org --exclude 45.33.32.66 \
  --trusted-proxy 127.0.0.1 "${opt_outs[@]}"
