#!/usr/bin/env bash
# Scans whose disk is full after some rows: each ends with exit code 1 and the command that continues
# it, and after space is free the resumed scan has each server once. Needs root and
# iproute2: the disks are tmpfs in a mount namespace, and the servers are on its loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1
if [ "${1:-}" != inside ]; then exec unshare --mount --net --propagation private "$0" inside; fi

folder=$(mktemp -d)
disk=$folder/disk
fleet=

clean() {
  [ -z "$fleet" ] || kill -INT "$fleet" 2>/dev/null || true
  wait 2>/dev/null || true
  umount "$disk" 2>/dev/null || true
  rm -rf "$folder"
}
trap clean EXIT

ip link set lo up
mkdir "$disk"
program=(deno run --quiet --no-prompt --allow-all main.ts)
"${program[@]}" fleet --quiet --servers 400 --hostile 0 --range 127.40.0.0/22 --seed 5 \
  --manifest "$folder/truth.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done
options=(--protocol raknet --cooldown 500ms --retries 0 --seed 3 --rate 2000
  --opt-out-file "$folder/opt-out.txt")
"${program[@]}" scan 127.40.0.0/22 "${options[@]}" --quiet -o "$folder/all.txt"
sort "$folder/all.txt" > "$folder/expected.txt"

# full SIZE FILE: scans into a file on a disk of this size, and resumes the scan on a larger one.
full() {
  local code=0
  mount -t tmpfs -o "size=$1" none "$disk"
  "${program[@]}" scan 127.40.0.0/22 "${options[@]}" -o "$disk/$2" 2> "$folder/errors.txt" || code=$?
  tail -n 3 "$folder/errors.txt"
  [ "$code" -eq 1 ]
  grep -q "^blocksweep: Cannot write to \"$disk/$2\": .*\(No space left on device\|disk is full\)" \
    "$folder/errors.txt"
  grep -q "^continue with: blocksweep scan --resume $disk/$2.checkpoint$" "$folder/errors.txt"
  mount -o remount,size=64m "$disk"
  "${program[@]}" scan --resume "$disk/$2.checkpoint" --quiet
  rm -f "$folder/list.db"
  case $2 in
    *.db) cp "$disk/$2" "$folder/list.db" ;;
    *) "${program[@]}" import "$folder/list.db" "$disk/$2" --quiet ;;
  esac
  "${program[@]}" export "$folder/list.db" --quiet -o "$folder/found.txt"
  diff "$folder/expected.txt" <(sort "$folder/found.txt")
  [[ $2 != *.csv ]] || [ "$(wc -l < "$disk/$2")" -eq $(($(wc -l < "$folder/expected.txt") + 1)) ]
  umount "$disk"
  echo "$2 on a disk of $1: resumed, $(wc -l < "$folder/found.txt") servers"
}

full 48k servers.csv
full 96k servers.ndjson
full 1200k servers.db
