#!/usr/bin/env bash
# A watched name moves to another address: its DNS record changes at a name server. The server keeps
# its history and stays one server. Two names of one address are two servers of a scan. Needs root.
# Runs in a network namespace that has only loopback, with an own /etc/resolv.conf.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

if [ "${1:-}" != inside ]; then exec unshare --net --mount "$0" inside; fi
ip link set lo up
folder=$(mktemp -d)
pids=()

clean() {
  for pid in "${pids[@]}"; do kill -INT "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  umount /etc/resolv.conf 2> /dev/null || true
  rm -rf "$folder"
}
trap clean EXIT
fail() {
  echo "FAILED: $1"
  cat "$folder/events" "$folder/printed" 2> /dev/null || true
  exit 1
}

echo "nameserver 127.123.0.53" > "$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
# records ADDRESS: the address of play.blocksweep.test. lobby.blocksweep.test stays.
records() {
  printf '%s\n' "play.blocksweep.test $1" "lobby.blocksweep.test 127.123.1.1" > "$folder/new"
  mv "$folder/new" "$folder/records"
}
records 127.123.1.1
deno run --no-prompt --allow-all tests/namespaces/name_server.ts "$folder/records" 127.123.0.53 &
pids+=($!)
# fleet RANGE FILE: a server on each address of a range.
fleet() {
  deno run --no-prompt --allow-all main.ts fleet --quiet --servers 1 --hostile 0 --range "$1" \
    --seed 5 --software bds --manifest "$2" &
  pids+=($!)
  until [ -s "$2" ]; do sleep 0.1; done
}
fleet 127.123.1.1/32 "$folder/first.ndjson"
old=$!
fleet 127.123.1.2/32 "$folder/second.ndjson"

program=(deno run --no-prompt --allow-all main.ts)
options=(--quiet --allow-private --opt-out-file "$folder/opt-out.txt")
"${program[@]}" scan play.blocksweep.test lobby.blocksweep.test -p 19132 --cooldown 1s \
  --checkpoint "$folder/checkpoint" "${options[@]}" -o "$folder/servers.db"
# keys: the servers of the database, their addresses and states.
keys() {
  deno eval "
    import { DatabaseSync } from 'node:sqlite';
    const database = new DatabaseSync('$folder/servers.db');
    const sql = 'select key, address, online, ' +
      '(select count(*) from observations o where o.server = s.id) > 1 as history ' +
      'from servers s join server_state on server = s.id order by key';
    for (const row of database.prepare(sql).all()) console.log(Object.values(row).join(' '));
  "
}
expected="lobby.blocksweep.test:19132 127.123.1.1 1 0
play.blocksweep.test:19132 127.123.1.1 1 0"
[ "$(keys)" = "$expected" ] || fail "the scan wrote: $(keys)"
echo "ok: two names of one address are two servers"

"${program[@]}" watch "$folder/servers.db" --interval 5s --down-after 3 --json "${options[@]}" \
  > "$folder/events" 2> "$folder/printed" &
watch=$!
pids+=("$watch")
seen() { grep -c "\"event\":\"$1\"" "$folder/events" || true; }
# until_seen EVENT NUMBER: waits for a number of events.
until_seen() {
  local start=$SECONDS
  until [ "$(seen "$1")" -ge "$2" ]; do
    [ $((SECONDS - start)) -le 120 ] || fail "there are $(seen "$1") events $1, not $2"
    sleep 0.2
  done
}
records 127.123.1.2
kill -INT "$old"
wait "$old" || true
until_seen offline 1 # lobby.blocksweep.test
start=$SECONDS
until grep -q "play.blocksweep.test moved from 127.123.1.1:19132 to 127.123.1.2:19132" "$folder/printed"; do
  [ $((SECONDS - start)) -le 120 ] || fail "the move is not reported"
  sleep 0.2
done
sleep 6 # one more poll
kill -INT "$watch"
wait "$watch" || [ $? -eq 130 ]
expected="lobby.blocksweep.test:19132 127.123.1.1 0 1
play.blocksweep.test:19132 127.123.1.2 1 1"
[ "$(keys)" = "$expected" ] || fail "after the move the database has: $(keys)"
[ "$(grep '"event":"offline"' "$folder/events" | grep -c play.blocksweep.test)" -eq 0 ] ||
  fail "the moved server was reported offline"
echo "ok: a name that moves to another address stays one server, with its history"
