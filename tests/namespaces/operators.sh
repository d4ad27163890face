#!/usr/bin/env bash
# Compares docs/operators.md with a capture: every packet of a scan of all protocols with the default
# limits, of a scan with --verify and of lan has to be one of those in the document, and each of the
# document's packets has to be sent. In the first scan, no host may get more packets in a second than
# the document says, and silent hosts no more in all. The other namespace contains simulated servers,
# hosts without them, and a range whose packets it drops.
# Needs root, iproute2 and tcpdump. The namespaces have no route to other networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=bs$$
folder=$(mktemp -d)
fleet=
pids=()
clean() {
  for pid in "${pids[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
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
ip -n "$id-here" addr add 10.80.0.1/16 broadcast + dev eth0
ip -n "$id-there" addr add 10.80.0.2/16 broadcast + dev eth0
for name in here there; do ip -n "$id-$name" link set eth0 up; done
ip -n "$id-there" route add local 10.80.1.0/25 dev lo
ip -n "$id-here" route add 10.80.1.0/24 via 10.80.0.2
silent=10.80.1.128/28

# serve NAME RANGE COUNT SOFTWARE: simulates servers, each of the software in turn.
serve() {
  ip netns exec "$id-there" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
    --servers "$3" --range "$2" --software "$4" --seed 2 --manifest "$folder/$1.json" &
  pids+=($!)
}
serve servers 10.80.1.0/26 48 \
  bdsNetherNet,cloudburstTls,bdsAdvertises,bdsBans,nukkit,fullLost,tokensOnly,kicksOnly,disconnects,wantsProtocol,quarry,vanillaOld
serve sqp 10.80.1.64/29 2 sqpFull,sqpSample
for name in servers sqp; do until [ -s "$folder/$name.json" ]; do sleep 0.1; done; done

tcpdump=(tcpdump -i eth0 -Q out -n -U --immediate-mode -Z root -w "$folder/capture.pcap")
ip netns exec "$id-here" "${tcpdump[@]}" "udp or tcp" 2>"$folder/tcpdump.err" &
capture=$!
pids+=("$capture")
until grep -qs listening "$folder/tcpdump.err"; do sleep 0.1; done

# blocksweep ARGUMENT...: runs a command in the scanner's namespace.
blocksweep() {
  XDG_CONFIG_HOME=$folder ip netns exec "$id-here" deno run --quiet --no-prompt --allow-net --allow-read --allow-write \
    --allow-sys=networkInterfaces --allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE \
    main.ts "$@" --quiet
}
blocksweep scan 10.80.1.0/26 "$silent" -o "$folder/servers.csv"
cp "$folder/capture.pcap" "$folder/scan.pcap"
blocksweep scan 10.80.1.64/29 --protocol sqp -p U:9000 -o "$folder/sqp.csv"
blocksweep scan 10.80.1.0/26 --protocol raknet --verify --cooldown 1s -o "$folder/verified.csv"
java=$(grep -m 1 '"software":"vanillaOld"' "$folder/servers.json" | sed -E 's/.*"host":"([^"]*)".*/\1/')
blocksweep query "$java:25565" -o "$folder/query.csv" >"$folder/query.txt"
blocksweep lan --once 2 --no-sweep -o "$folder/lan.csv" >"$folder/lan.txt"
kill -INT "$capture"
wait "$capture" || true
deno run --no-prompt --allow-read tests/namespaces/check_packets.ts "$folder/capture.pcap" \
  docs/operators.md "$folder/scan.pcap" "$silent"
