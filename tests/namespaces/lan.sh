#!/usr/bin/env bash
# Two hosts with simulated servers (Bedrock, a Java world that is open to LAN, a NetherNet world, a
# dedicated Java server), a third that speaks IPv6 alone, a fourth that opted out, and one that looks
# for them and runs a dedicated Java server itself, in network namespaces of their own, joined by a
# bridge. Needs root, iproute2 and tcpdump. Nothing leaves the namespaces: they have no way out.
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

# host NAME [ADDRESS]: a namespace with one interface on the bridge. Its link-local address is there
# at once, where there is IPv6 at all: nobody else can have it.
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
# Without a querier that asks who listens, a bridge that snoops may keep a multicast to itself.
ip -n "$id-bridge" link add bridge0 type bridge mcast_snooping 0 ||
  ip -n "$id-bridge" link add bridge0 type bridge # a kernel that does not snoop
ip -n "$id-bridge" link set bridge0 up
host look 10.77.0.1
host one 10.77.0.2
host two 10.77.0.3
host six
host four 10.77.0.4
# A network that is too large to sweep, and one of containers.
for link in "large 10.78.0.1/16" "docker0 172.17.0.1/24"; do
  read -r name network <<<"$link"
  ip -n "$id-look" link add "$name" type veth peer name "$name-end"
  ip -n "$id-look" link set "$name-end" up
  ip -n "$id-look" addr add "$network" dev "$name"
  ip -n "$id-look" link set "$name" up
done
# A tunnel, where the kernel has one to offer.
tunnel=0
if ip -n "$id-look" tuntap add wg0 mode tun 2>/dev/null; then
  ip -n "$id-look" addr add 10.79.0.1/24 dev wg0
  ip -n "$id-look" link set wg0 up
  tunnel=1
fi
speaks_ipv6=$(ip -n "$id-look" -6 addr show dev eth0 scope link 2>/dev/null | grep -c inet6 || true)

# serve NAME ADDRESS SOFTWARE SEED: a simulated server that hears broadcasts. Reading the routing
# table, to be sure that there is no way out, needs --allow-all.
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
# await COMMAND...: until it succeeds, half a minute at the most.
await() {
  for _ in $(seq 300); do
    if "$@"; then return; fi
    sleep 0.1
  done
  echo "waited in vain: $*"
  exit 1
}
for file in one-{bds,openToLan,netherNet6,paper} two-{pocketmine,openToLan,netherNet7} \
  {look,four}-paper; do
  await [ -s "$folder/$file.json" ]
done

ip netns exec "$id-look" tcpdump -i eth0 -n -l udp or igmp or tcp >"$folder/capture.txt" 2>"$folder/tcpdump.err" &
pids+=($!)
await grep -q listening "$folder/tcpdump.err"

# Two at once: they share the port of the announcements, as each does with a running game.
echo 10.77.0.4 >"$folder/opt-out.txt"
look() {
  ip netns exec "$id-look" deno run --no-prompt --allow-net --allow-sys=networkInterfaces \
    --allow-read --allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE \
    main.ts lan --json --opt-out-file "$folder/opt-out.txt" "$@"
}
look >"$folder/found.ndjson" 2>"$folder/found.err" &
first=$!
look >"$folder/second.ndjson"
wait "$first"
look --once 1 >"$folder/once.ndjson" 2>"$folder/once.err"
stop

failed=0
# check WHAT COMMAND...: says whether it holds.
check() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failed=1; fi
}
# sent PATTERN LEAST: how often the searching host sent such a packet.
sent() {
  local count
  count=$(grep -cE "$1" "$folder/capture.txt" || true)
  echo "    $count of: $1"
  [ "$count" -ge "$2" ]
}

# servers FILE: host, port and protocol of each row.
servers() {
  sed -nE 's/.*"host":"([^"]*)","port":([0-9]+),"protocol":"([a-z]+)".*/\1 \2 \3/p' "$1" |
    sed 's/^fe80:[^ ]*/fe80::/' | sort
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
  [ "$speaks_ipv6" -eq 0 ] || echo "fe80:: 19133 raknet"
} | sort >"$folder/wanted.txt"
check "all are found, each once" diff "$folder/wanted.txt" <(servers "$folder/found.ndjson")
check "by two that look at once" diff "$folder/wanted.txt" <(servers "$folder/second.ndjson")
check "PocketMine is asked by Query too" grep -q '"protocols":\["raknet","query"\]' "$folder/found.ndjson"
check "Java worlds are asked for their status" grep -q '"protocols":\["slp","lan"\]' "$folder/found.ndjson"
check "over TCP" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.[23]\.51234: Flags \[S\]' 2
# connects ADDRESS: how often the searching host began a connection to port 25565 of such an address.
connects() {
  grep -oE "10\.77\.0\.1\.[0-9]+ > $1\.25565: Flags \[S\]" "$folder/capture.txt" | sort -u | wc -l
}
check "dedicated Java servers are asked by Query too" grep -q '"host":"10.77.0.2","port":25565.*"protocols":\["slp","query"\]' "$folder/found.ndjson"
check "an address that opted out gets no connection" [ "$(connects '10\.77\.0\.4')" -eq 0 ]
check "nor does the broadcast address" [ "$(connects '10\.77\.0\.255')" -eq 0 ]
check "a large network is skipped" grep -q '^blocksweep: not swept for Java servers: large 10.78.0.0/16: larger than /22' "$folder/found.err"
check "so is one of containers" grep -q 'docker0 172.17.0.0/24: a network of containers' "$folder/found.err"
[ "$tunnel" -eq 0 ] ||
  check "so is a tunnel" grep -q 'wg0 10.79.0.0/24: a tunnel' "$folder/found.err"
check "--once ends the sweep, which is said" grep -q 'hosts not swept for Java servers' "$folder/once.err"
check "a ping to everybody" sent '10\.77\.0\.1\.[0-9]+ > 255\.255\.255\.255\.19132: UDP, length 33' 3
check "a ping to the network" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.255\.19132: UDP, length 33' 3
check "a request for NetherNet to everybody" sent '10\.77\.0\.1\.[0-9]+ > 255\.255\.255\.255\.7551: UDP, length 64' 2
check "a request for NetherNet to the network" sent '10\.77\.0\.1\.[0-9]+ > 10\.77\.0\.255\.7551: UDP, length 64' 2
check "the group of Java worlds is joined" sent 'igmp' 1
check "Java worlds announce themselves" sent '10\.77\.0\.[23]\.[0-9]+ > 224\.0\.2\.60\.4445: UDP' 2
[ "$speaks_ipv6" -eq 0 ] ||
  check "a ping to all nodes of the link" sent 'fe80:[^ ]* > ff02::1\.19133: UDP, length 33' 3
check "pings reach a server" grep -q '"way":"in".*"hex":"01' "$folder/one-bds.log"
[ "$failed" -eq 0 ] || cat "$folder/found.ndjson" "$folder/capture.txt"
exit "$failed"
