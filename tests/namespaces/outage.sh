#!/usr/bin/env bash
# outage.sh [OUTAGE [INTERVAL]]: a watch of 200 servers across a link between two network namespaces.
# Servers are added to its database, and the link is down for OUTAGE seconds (default 35). The watch
# polls each server every INTERVAL seconds (default 10). After the outage, every server has to reply
# to a poll within one interval. Needs root and iproute2. The namespaces have no route to other
# networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=bo$$
outage=${1:-35}
interval=${2:-10}
folder=$(mktemp -d)
fleet=
watch=

clean() {
  for pid in $watch $fleet; do kill -INT "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for name in here there; do ip netns delete "$id-$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT
fail() {
  echo "FAILED: $1"
  cat "$folder/events" "$folder/printed"
  exit 1
}

for name in here there; do
  ip netns add "$id-$name"
  ip -n "$id-$name" link set lo up
done
ip -n "$id-here" link add eth0 type veth peer name eth0 netns "$id-there"
ip -n "$id-here" addr add 10.81.0.1/16 dev eth0
ip -n "$id-there" addr add 10.81.255.254/16 dev eth0
for name in here there; do ip -n "$id-$name" link set eth0 up; done
ip -n "$id-there" route add local 10.81.1.0/24 dev lo

ip netns exec "$id-there" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
  --servers 200 --hostile 0 --range 10.81.1.0/24 --seed 5 --software bds,geyser,nukkit \
  --manifest "$folder/truth.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done

here=(ip netns exec "$id-here" deno run --no-prompt --allow-net --allow-read --allow-write
  --allow-env=INIT_CWD,HOME main.ts)
found() {
  "${here[@]}" scan "$1" --quiet --net-rate off --cooldown 1s --opt-out-file "$folder/opt-out.txt" \
    -o "$folder/servers.db" "${@:2}"
}
# metric NAME: the sum of the series of a metric of the watch.
metric() {
  ip netns exec "$id-here" deno eval \
    'console.log(await (await fetch("http://127.0.0.1:9150/metrics")).text())' |
    awk -v name="$1" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'
}
seen() { grep -c "\"event\":\"$1\"" "$folder/events" || true; }

found 10.81.1.0/24 --exclude 10.81.1.0/28
"${here[@]}" watch "$folder/servers.db" --interval "${interval}s" --json --metrics 9150 \
  --opt-out-file "$folder/opt-out.txt" > "$folder/events" 2> "$folder/printed" &
watch=$!
until [ "$(metric 'blocksweep_servers{state="online"}' 2> /dev/null)" -gt 150 ] 2> /dev/null; do sleep 1; done
before=$(metric 'blocksweep_servers{')

found 10.81.1.0/28
added=$(($(wc -l < "$folder/truth.ndjson") - before))
[ "$added" -gt 0 ] || fail "there was no server to add"
start=$SECONDS
until [ "$(metric 'blocksweep_servers{')" -eq $((before + added)) ]; do
  [ $((SECONDS - start)) -le 60 ] || fail "an added server is not watched after a minute"
  sleep 1
done
echo "ok: $added added servers are watched after $((SECONDS - start)) s"
sleep $((interval * 13 / 10)) # every server is polled once more

echo "the link is down for $outage s; the interval is $interval s"
ip -n "$id-here" link set eth0 down
sleep "$outage"
up=$(date +%s%3N)
ip -n "$id-here" link set eth0 up
start=$SECONDS
until [ "$(seen watcher_online)" -eq 1 ]; do
  [ $((SECONDS - start)) -le "$interval" ] || fail "the watch is not online one interval after the link is up"
  sleep 0.2
done
echo "ok: the watch is online $(($(date +%s%3N) - up)) ms after the link is up"
sleep "$(deno eval "console.log(Math.max(0, $up + $interval * 1000 - Date.now()) / 1000)")"
kill -INT "$watch"
wait "$watch" || [ $? -eq 130 ]
watch=
# The watch writes the times of all last replies when it ends.
resumed=$(deno eval "
  import { DatabaseSync } from 'node:sqlite';
  const database = new DatabaseSync('$folder/servers.db');
  const sql = 'select count(*) as n, max(replied_at) - $up as ms from server_state where replied_at >= $up';
  const { n, ms } = database.prepare(sql).get();
  console.log(n, ms);
")
[ "$(seen offline)" -eq 0 ] || fail "a server was reported offline"
[ "$(seen watcher_offline)" -eq 1 ] || fail "the watch was not reported offline once"
grep -q '"reason":"no_route"' "$folder/events" || fail "the reason is not no_route"
[ "${resumed% *}" -eq $((before + added)) ] ||
  fail "only ${resumed% *} of $((before + added)) servers replied within one interval after the link was up"
echo "ok: no server of $((before + added)) offline; 1 event watcher_offline; all replied to a poll within ${resumed#* } ms after the link was up"
