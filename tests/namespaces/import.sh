#!/usr/bin/env bash
# Imports files that masscan and zmap write. Both scan the ports of a fleet over a link between two
# network namespaces. Needs root, iproute2, masscan and zmap. The namespaces have no route to other
# networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

id=bi$$
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
ip -n "$id-here" addr add 10.79.0.1/16 dev eth0
ip -n "$id-there" addr add 10.79.255.254/16 dev eth0
for name in here there; do ip -n "$id-$name" link set eth0 up; done
ip -n "$id-there" route add local 10.79.1.0/24 dev lo
# Both programs send to a gateway: the other namespace, which forwards nothing.
ip -n "$id-here" route add default via 10.79.255.254
router=$(ip -n "$id-there" -o link show eth0 | sed -E 's/.*link\/ether ([0-9a-f:]+).*/\1/')
ip -n "$id-here" neigh replace 10.79.255.254 lladdr "$router" dev eth0

ip netns exec "$id-there" deno run --no-prompt --allow-all main.ts fleet --lab --quiet \
  --servers 40 --hostile 0 --range 10.79.1.0/24 --seed 3 --software vanilla,waterfall,kicksOnly \
  --manifest "$folder/truth.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done
sed -E 's/.*"host":"([^"]+)","port":([0-9]+).*/\1:\2/' "$folder/truth.ndjson" | sort > "$folder/truth.txt"

# check FILE [OPTIONS OF IMPORT...]: imports a file. The imported servers must be those in FILE.plain,
# which other programs have extracted from the file, and must be servers of the fleet. (The scanners
# may miss some servers.)
check() {
  local file=$1
  shift
  deno run --no-prompt --allow-read --allow-write --allow-env=INIT_CWD,HOME main.ts import \
    "$folder/$file.db" "$folder/$file" "$@"
  deno run --no-prompt --allow-read --allow-env=INIT_CWD,HOME main.ts export "$folder/$file.db" \
    --format hostport --quiet | sort > "$folder/$file.txt"
  sort "$folder/$file.plain" | diff - "$folder/$file.txt"
  comm -13 "$folder/truth.txt" "$folder/$file.txt" | diff /dev/null -
  [ -s "$folder/$file.txt" ]
  echo "ok: $(wc -l < "$folder/$file.txt") of $(wc -l < "$folder/truth.txt") servers, as in $file"
}

inside() { ip netns exec "$id-here" "$@" 2> "$folder/errors" || { cat "$folder/errors"; return 1; }; }

for form in J L G X; do
  inside masscan 10.79.1.0/24 -p25565 --rate 1000 --retries 2 --wait 2 --interface eth0 --adapter-ip 10.79.0.1 \
    --router-mac "${router//:/-}" "-o$form" "$folder/masscan.$form"
done
# Debian's list of ranges that are never scanned contains 10.0.0.0/8.
zmap() {
  inside /usr/sbin/zmap -p 25565 -r 1000 -c 2 -i eth0 -G "$router" -b /dev/null -q -e 1 "$@" 10.79.1.0/24
}
zmap -o "$folder/zmap.lines"
zmap -O csv -f saddr,sport,success,timestamp-ts -o "$folder/zmap.csv"
cd "$folder"
sed -nE 's/.*"ip": "([^"]+)".*"port": ([0-9]+),.*/\1:\2/p' masscan.J | sort -u > masscan.J.plain
awk '/^open tcp/ { print $4 ":" $3 }' masscan.L | sort -u > masscan.L.plain
sed -nE 's/.*Host: ([^ ]+) .*Ports: ([0-9]+)\/open.*/\1:\2/p' masscan.G | sort -u > masscan.G.plain
sed -nE 's/.*addr="([^"]+)".*portid="([0-9]+)".*/\1:\2/p' masscan.X | sort -u > masscan.X.plain
sed 's/$/:25565/' zmap.lines > zmap.lines.plain
awk -F, '$3 == 1 { print $1 ":" $2 }' zmap.csv | sort -u > zmap.csv.plain
cd - > /dev/null
check masscan.J
check masscan.L
check masscan.G
check masscan.X
check zmap.lines --port 25565
check zmap.csv
