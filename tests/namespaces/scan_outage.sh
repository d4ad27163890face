#!/usr/bin/env bash
# scan_outage.sh: scans of 400 servers whose network fails on the way. A router between two
# network namespaces drops packets without a reply (silent), its link to the scan goes down (link),
# or the scan's route is removed (route); each returns after some seconds, or does not. The fleet's
# manifest is the truth: a scan has to find every server, or to end with exit code 1 and a checkpoint
# from which the rest is found. No known server may be marked as missed. Needs root and iproute2. The
# namespaces have no route to other networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=so$$
folder=$(mktemp -d)
fleet=
scan=
passed=0
failed=0

clean() {
  for pid in $scan $fleet; do kill -INT "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for name in here way there; do ip netns delete "$id-$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

for name in here way there; do
  ip netns add "$id-$name"
  ip -n "$id-$name" link set lo up
done
ip -n "$id-here" link add eth0 type veth peer name eth0 netns "$id-way"
ip -n "$id-there" link add eth0 type veth peer name eth1 netns "$id-way"
ip -n "$id-here" addr add 10.81.0.1/24 dev eth0
ip -n "$id-way" addr add 10.81.0.2/24 dev eth0
ip -n "$id-way" addr add 10.82.0.2/24 dev eth1
ip -n "$id-there" addr add 10.82.0.1/24 dev eth0
for link in here:eth0 way:eth0 way:eth1 there:eth0; do ip -n "$id-${link%:*}" link set "${link#*:}" up; done
router() { ip netns exec "$id-way" sysctl -qw "net.ipv4.ip_forward=$1"; }
router 1
add_route() { ip -n "$id-here" route replace 10.83.0.0/20 via 10.81.0.2; }
add_route
ip -n "$id-way" route add 10.83.0.0/20 via 10.82.0.1
ip -n "$id-there" route add 10.81.0.0/24 via 10.82.0.2
ip -n "$id-there" route add local 10.83.0.0/20 dev lo

fail_network() {
  case $1 in
    silent) router 0 ;;
    link) ip -n "$id-here" link set eth0 down ;;
    route) ip -n "$id-here" route del 10.83.0.0/20 ;;
  esac
}
repair_network() {
  router 1
  ip -n "$id-here" link set eth0 up
  add_route
}

ip netns exec "$id-there" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
  --servers 400 --hostile 0 --range 10.83.0.0/20 --seed 5 --software bds,geyser,nukkit,paper,velocity \
  --manifest "$folder/truth.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done

here=(ip netns exec "$id-here" deno run --no-prompt --allow-net --allow-read --allow-write
  --allow-env=INIT_CWD,HOME main.ts)
# begin NAME OPTION...: starts a scan into NAME.db and NAME.ndjson.
begin() {
  local name=$1
  shift
  "${here[@]}" scan 10.83.0.0/20 --seed 7 --rate 1000 --net-rate off --cooldown 3s \
    --opt-out-file "$folder/opt-out.txt" -o "$folder/$name.ndjson" "$@" 2> "$folder/$name.log" &
  scan=$!
  begun=$(date +%s%3N)
}
# end: waits for the scan; its exit code is in code, its duration in took.
end() {
  code=0
  wait "$scan" || code=$?
  scan=
  took=$(($(date +%s%3N) - begun))
}
# check CASE OK TEXT: counts and prints a result.
check() {
  if [ "$2" = yes ]; then
    passed=$((passed + 1))
    echo "ok: $1: $3"
  else
    failed=$((failed + 1))
    echo "FAILED: $1: $3"
    cat "$folder/$1.log"
  fi
}
# verdict NAME OPTION...: what `fleet --check` says about the rows.
verdict() {
  local name=$1
  shift
  deno run --no-prompt --allow-all main.ts fleet --check "$folder/$name.ndjson" \
    --manifest "$folder/truth.ndjson" "$@" 2>&1 | tail -1 | sed 's|^.*ndjson: ||' || true
}
is() { "$@" > /dev/null && echo yes || echo no; }

# returns CASE FAILURE AFTER LASTS OPTION...: a scan whose network fails after AFTER seconds, and returns
# after LASTS more. It has to find every server.
returns() {
  local name=$1 failure=$2 after=$3 lasts=$4 at noticed
  shift 4
  begin "$name" "$@"
  sleep "$after"
  fail_network "$failure"
  at=$(date +%s%3N)
  until grep -q 'waits for the network' "$folder/$name.log" || [ $(($(date +%s%3N) - at)) -gt 20000 ]; do
    sleep 0.1
  done
  noticed=$(($(date +%s%3N) - at))
  sleep "$(deno eval "console.log(Math.max(0, $lasts * 1000 - $noticed) / 1000)")"
  repair_network
  end
  local result all=" rows right in every field, 0 faults"
  result=$(verdict "$name" "${compared[@]}")
  check "$name" "$(is test "$code $(grep -c 'works again' "$folder/$name.log")" = "0 1" -a -z "${result##*"$all"*}")" \
    "exit $code after $((took / 1000)) s; noticed after $noticed ms; $result"
}

# stays CASE FAILURE AFTER OPTION...: a scan whose network fails for good, and that --max-runtime or
# Ctrl-C ends. It has to fail, and the scan that resumes it has to find the rest.
stays() {
  local name=$1 failure=$2 after=$3
  shift 3
  begin "$name" --checkpoint "$folder/$name.checkpoint" --max-runtime "$((after + 20))s" "$@"
  sleep "$after"
  fail_network "$failure"
  end
  repair_network
  local first="exit $code after $((took / 1000)) s with $(wc -l < "$folder/$name.ndjson") rows" is_first=$code
  code=0
  "${here[@]}" scan --resume "$folder/$name.checkpoint" --opt-out-file "$folder/opt-out.txt" \
    2>> "$folder/$name.log" || code=$?
  local result all=" rows right in every field, 0 faults"
  result=$(verdict "$name" "${compared[@]}")
  check "$name" "$(is test "$is_first $code" = "1 0" -a -z "${result##*"$all"*}")" "$first; resumed: exit $code, $result"
}

compared=(--protocol raknet,slp,query)
both=(--protocol raknet,slp,query)
returns silent silent 6 20 "${both[@]}"
returns link link 6 20 "${both[@]}"
returns route route 6 20 "${both[@]}"
stays silent-for-good silent 6 "${both[@]}"
stays route-for-good route 6 "${both[@]}"
compared=(--protocol slp)
returns tcp-silent silent 3 15 --protocol slp
returns tcp-route route 3 15 --protocol slp
compared=("${both[@]}")

# A scan of known servers, half of it in an outage: none may be marked as missed.
database=(-o "$folder/servers.db")
begin known "${both[@]}" "${database[@]}"
end
begin again "${both[@]}" "${database[@]}" --down-after 1 --max-runtime 25s
sleep 6
fail_network silent
end
repair_network
offline=$(deno eval "
  import { DatabaseSync } from 'node:sqlite';
  const database = new DatabaseSync('$folder/servers.db');
  const sql = \"select count(*) as n from events where kind = 'offline'\";
  console.log(database.prepare(sql).get().n);
")
check again "$(is test "$code $offline" = "1 0")" "exit $code, $offline events offline"

# Without a route from the start, no output is complete, also if --max-runtime ends the scan.
fail_network route
for runtime in 2s 60s; do
  begin "no-route-$runtime" --protocol slp,raknet --max-runtime "$runtime"
  end
  check "no-route-$runtime" "$(is test "$code" = 1)" "exit $code after $((took / 1000)) s"
done
repair_network

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
