#!/usr/bin/env bash
# Scans a private range with the default limits over a link between two network namespaces. Every
# server must be found, and the datagrams that arrive must keep the caps. Needs root and iproute2.
# The argument is the engine: portable (default), udp, packet or xdp. The namespaces have no route to
# other networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

engine=${1:-portable}
grants="--allow-net --allow-read --allow-write --allow-env=INIT_CWD"
[ "$engine" = portable ] || grants="$grants --allow-ffi"
id=bs$$
folder=$(mktemp -d)
fleet=

clean() {
  [ -z "$fleet" ] || kill -INT "$fleet" 2>/dev/null || true
  wait 2>/dev/null || true
  for name in here there; do ip netns delete "$id-$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

for name in here there; do
  ip netns add "$id-$name"
  ip -n "$id-$name" link set lo up
done
ip -n "$id-here" link add eth0 type veth peer name eth0 netns "$id-there"
ip -n "$id-here" addr add 10.78.0.1/16 dev eth0
ip -n "$id-there" addr add 10.78.255.254/16 dev eth0
for name in here there; do ip -n "$id-$name" link set eth0 up; done
# All addresses of 10.78.1.0/24 belong to the other namespace, with and without a server.
ip -n "$id-there" route add local 10.78.1.0/24 dev lo
ip -n "$id-here" route add 10.78.1.0/24 via 10.78.255.254

ip netns exec "$id-there" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
  --servers 40 --hostile 10 --range 10.78.1.0/24 --seed 3 \
  --manifest "$folder/truth.ndjson" --log "$folder/log.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done

# shellcheck disable=SC2086 # the variable contains several words
ip netns exec "$id-here" deno run --no-prompt $grants main.ts scan 10.78.1.0/24 \
  --engine "$engine" --exclude 10.78.1.0/28 --cooldown 1s \
  --opt-out-file "$folder/opt-out.txt" -o "$folder/servers.csv" -o "$folder/servers.ndjson"
kill -INT "$fleet"
wait "$fleet" || [ $? -eq 130 ] # a fleet runs until it is interrupted
fleet=
echo "addresses in the opt-out file: $(wc -l < "$folder/opt-out.txt" 2>/dev/null || echo 0)"

# Servers in the excluded part of the range are not expected; the log must not contain them either.
grep -v '"host":"10\.78\.1\.\([0-9]\|1[0-5]\)"' "$folder/truth.ndjson" > "$folder/expected.ndjson"
deno run --no-prompt --allow-read="$folder" main.ts fleet --manifest "$folder/expected.ndjson" \
  --check "$folder/servers.csv" --check "$folder/servers.ndjson"
deno run --no-prompt --allow-read="$folder" tests/namespaces/check_log.ts "$folder/log.ndjson" \
  --host-rate 5 --net-rate 50 --exclude 10.78.1.0/28
