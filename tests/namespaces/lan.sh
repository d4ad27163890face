#!/usr/bin/env bash
# Tests the command lan. Five hosts, each in a network namespace of its own, are joined by a bridge:
# two hosts with simulated servers (Bedrock, a Java world that is open to LAN, a NetherNet world, a
# dedicated Java server), a host with only IPv6 (Bedrock, a modded Java world), a host that opted out,
# and the searching host, which runs a dedicated Java server too. Needs root, iproute2 and tcpdump. The
# namespaces have no route to other networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=bs$$
folder=$(mktemp -d)
pids=()

stop() {
  for pid in "${pids[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
  pids=()
  wait 2>/dev/null || true
}

clean() {
  stop
  for name in bridge look one two six four; do ip netns delete "$id-$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

# host NAME [ADDRESS]: creates a namespace with one interface on the bridge. Duplicate address
# detection is off, so that the link-local address (if there is IPv6) can be used at once.
host() {
  ip netns add "$id-$1"
  for file in /proc/sys/net/ipv6/conf/{all,default}/accept_dad; do
    ip netns exec "$id-$1" sh -c "echo 0 > $file" 2>/dev/null || true
  done
  ip -n "$id-$1" link set lo up
  ip -n "$id-bridge" link add "port-$1" type veth peer name eth0 netns "$id-$1"
  ip -n "$id-bridge" link set "port-$1" master bridge0 up
  [ -z "${2:-}" ] || ip -n "$id-$1" addr add "$2/24" broadcast + dev eth0
  ip -n "$id-$1" link set eth0 up
}

ip netns add "$id-bridge"
# Without an IGMP querier, a bridge with multicast snooping may drop multicast packets.
ip -n "$id-bridge" link add bridge0 type bridge mcast_snooping 0 ||
  ip -n "$id-bridge" link add bridge0 type bridge # a kernel without multicast snooping
ip -n "$id-bridge" link set bridge0 up
host look 10.77.0.1
host one 10.77.0.2
host two 10.77.0.3
host six
host four 10.77.0.4
# A network that is too large to sweep, and a network of containers.
for link in "large 10.78.0.1/16" "docker0 172.17.0.1/24"; do
  read -r name network <<<"$link"
  ip -n "$id-look" link add "$name" type veth peer name "$name-end"
  ip -n "$id-look" link set "$name-end" up
  ip -n "$id-look" addr add "$network" dev "$name"
  ip -n "$id-look" link set "$name" up
done
# A tunnel, if the kernel supports TUN devices.
tunnel=0
if ip -n "$id-look" tuntap add wg0 mode tun 2>/dev/null; then
  ip -n "$id-look" addr add 10.79.0.1/24 dev wg0
  ip -n "$id-look" link set wg0 up
  tunnel=1
fi
speaks_ipv6=$(ip -n "$id-look" -6 addr show dev eth0 scope link 2>/dev/null | grep -c inet6 || true)

# serve NAME ADDRESS SOFTWARE SEED: starts a simulated server that receives broadcasts. It needs
# --allow-all, because it checks in the routing table that there is no default route.
serve() {
  ip netns exec "$id-$1" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
    --servers 1 --range "$2" --software "$3" --seed "$4" --manifest "$folder/$1-$3.json" \
    --log "$folder/$1-$3.log" &
  pids+=($!)
}
serve one 10.77.0.2 bds 1
serve one 10.77.0.2 openToLan 2
serve one 10.77.0.2 netherNet6 3
serve two 10.77.0.3 pocketmine 4
serve two 10.77.0.3 openToLan 5
serve two 10.77.0.3 netherNet7 6
serve one 10.77.0.2 paper 7
serve look 10.77.0.1 paper 8
serve four 10.77.0.4 paper 9
ip netns exec "$id-six" deno run --no-prompt --allow-net tests/namespaces/bedrock6.ts &
pids+=($!)
# await COMMAND...: repeats the command until it succeeds, for at most 30 s.
await() {
  for _ in $(seq 300); do
    if "$@"; then return; fi
    sleep 0.1
  done
  echo "did not succeed within 30 s: $*"
  exit 1
}
for file in one-{bds,openToLan,netherNet6,paper} two-{pocketmine,openToLan,netherNet7} \
  {look,four}-paper; do
  await [ -s "$folder/$file.json" ]
done

ip netns exec "$id-look" tcpdump -i eth0 -n -l udp or igmp or tcp >"$folder/capture.txt" 2>"$folder/tcpdump.err" &
pids+=($!)
await grep -q listening "$folder/tcpdump.err"

# Two discoveries at once share the port of the announcements, as one does with a running game.
echo 10.77.0.4 >"$folder/opt-out.txt"
discover() {
  ip netns exec "$id-look" deno run --no-prompt --allow-net --allow-sys=networkInterfaces \
    --allow-read --allow-write --allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE \
    main.ts lan --json --opt-out-file "$folder/opt-out.txt" "$@"
}
discover >"$folder/found.ndjson" 2>"$folder/found.err" &
first=$!
discover >"$folder/second.ndjson"
wait "$first"
discover --once 1 -o "$folder/once.csv" >"$folder/once.ndjson" 2>"$folder/once.err"
# A service: it runs until SIGINT, and its database has what it found.
stored() {
  ip netns exec "$id-look" deno run --no-prompt --allow-read --allow-env main.ts \
    servers "$folder/party.db" --format ndjson >"$folder/stored.ndjson" 2>/dev/null &&
    [ "$(wc -l <"$folder/stored.ndjson")" -eq "$(wc -l <"$folder/found.ndjson")" ]
}
ip netns exec "$id-look" deno run --no-prompt --allow-all main.ts lan --continuous \
  --opt-out-file "$folder/opt-out.txt" -o "$folder/party.db" 2>"$folder/service.err" &
service=$!
await stored
kill -INT "$service"
wait "$service" || true
deno run --no-prompt --allow-read --allow-env main.ts scans "$folder/party.db" --json >"$folder/scans.ndjson"
# query HOST PORT: queries a server by the host of its row.
query() {
  ip netns exec "$id-look" deno run --no-prompt --allow-all main.ts query "[$1]:$2" --json
}
six=$(sed -nE 's/.*"host":"(fe80:[^"]*)","port":19133,.*/\1/p' "$folder/found.ndjson")
for port in 19133 51234; do
  [ "$speaks_ipv6" -eq 0 ] || query "$six" "$port" || true
done >"$folder/queried.ndjson"
stop

failed=0
# check WHAT COMMAND...: prints whether the command succeeds.
check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failed=1; fi
}
# sent PATTERN LEAST: whether the searching host sent at least this number of matching packets.
sent() {
  local count
  count=$(grep -cE "$1" "$folder/capture.txt" || true)
  echo "    $count of: $1"
  [ "$count" -ge "$2" ]
}

# servers FILE: host, port and protocol of each row.
servers() {
  sed -nE 's/.*"host":"([^"]*)","port":([0-9]+),"protocol":"([a-z]+)".*/\1 \2 \3/p' "$1" |
    sed 's/^fe80:[^ ]*%eth0 /fe80::%eth0 /' | sort
}
{
  echo "10.77.0.1 25565 slp"
  echo "10.77.0.2 19132 raknet"
  echo "10.77.0.2 25565 slp"
  echo "10.77.0.2 51234 slp"
  echo "10.77.0.2 7551 nethernet"
  echo "10.77.0.3 19132 raknet"
  echo "10.77.0.3 51234 slp"
  echo "10.77.0.3 7551 nethernet"
  [ "$speaks_ipv6" -eq 0 ] || printf '%s\n' "fe80::%eth0 19133 raknet" "fe80::%eth0 51234 slp"
} | sort >"$folder/wanted.txt"
check "all servers are found, each once" diff "$folder/wanted.txt" <(servers "$folder/found.ndjson")
check "two discoveries at once find the same servers" diff "$folder/wanted.txt" <(servers "$folder/second.ndjson")
rows() { sed -nE "$2" "$folder/$1" | sort; }
check "-o writes the servers that --json prints" diff \
  <(rows once.ndjson 's/.*"host":"([^"]*)","port":([0-9]+),.*/\1 \2/p') \
  <(rows once.csv '2,$s/^([^,]*),([0-9]+),.*/\1 \2/p')
check "a database has the servers that lan finds" diff "$folder/wanted.txt" <(servers "$folder/stored.ndjson")
check "a run in a database is of the kind lan, and finished at Ctrl-C" \
  grep -q '"kind":"lan","state":"finished"' "$folder/scans.ndjson"
check "PocketMine is queried by Query too" grep -q '"protocols":\["raknet","query"\]' "$folder/found.ndjson"
check "Java worlds are queried for their status" grep -q '"protocols":\["slp","lan"\]' "$folder/found.ndjson"
check "Java worlds are queried over TCP" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.[23]\.51234: Flags \[S\]' 2
# connects ADDRESS: the number of connections that the searching host started to port 25565 there.
connects() {
  grep -oE "10\.77\.0\.1\.[0-9]+ > $1\.25565: Flags \[S\]" "$folder/capture.txt" | sort -u | wc -l
}
check "dedicated Java servers are queried by Query too" grep -q '"host":"10.77.0.2","port":25565.*"protocols":\["slp","query"\]' "$folder/found.ndjson"
check "an address that opted out gets no connection" [ "$(connects '10\.77\.0\.4')" -eq 0 ]
check "the broadcast address gets no connection" [ "$(connects '10\.77\.0\.255')" -eq 0 ]
check "a large network is skipped" grep -q '^blocksweep: not swept for dedicated servers: large 10.78.0.0/16: larger than /22' "$folder/found.err"
check "a network of containers is skipped" grep -q 'docker0 172.17.0.0/24: a network of containers' "$folder/found.err"
[ "$tunnel" -eq 0 ] ||
  check "a tunnel is skipped" grep -q 'wg0 10.79.0.0/24: a tunnel' "$folder/found.err"
check "--once ends the sweep, and a line reports it" grep -q 'connections of the sweep not made' "$folder/once.err"
check "a ping is sent to the limited broadcast address" sent '10\.77\.0\.1\.[0-9]+ > 255\.255\.255\.255\.19132: UDP, length 33' 3
check "a ping is sent to the directed broadcast address" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.255\.19132: UDP, length 33' 3
check "a NetherNet request is sent to the limited broadcast address" sent '10\.77\.0\.1\.[0-9]+ > 255\.255\.255\.255\.7551: UDP, length 64' 2
check "a NetherNet request is sent to the directed broadcast address" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.255\.7551: UDP, length 64' 2
check "the group of Java worlds is joined" sent 'igmp' 1
check "Java worlds announce themselves" sent '10\.77\.0\.[23]\.[0-9]+ > 224\.0\.2\.60\.4445: UDP' 2
[ "$speaks_ipv6" -eq 0 ] || check "link-local servers are reached by the zones of their rows" \
  diff <(servers "$folder/found.ndjson" | grep ^fe80) <(servers "$folder/queried.ndjson")
[ "$speaks_ipv6" -eq 0 ] ||
  check "a ping is sent to all nodes of the link" sent 'fe80:[^ ]* > ff02::1\.19133: UDP, length 33' 3
check "pings reach a server" grep -q '"way":"in".*"hex":"01' "$folder/one-bds.log"
[ "$failed" -eq 0 ] || cat "$folder/found.ndjson" "$folder/capture.txt"
exit "$failed"
