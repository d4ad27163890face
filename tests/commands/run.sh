#!/usr/bin/env bash
# Runs the commands of the documents as a reader does, and compares what they print with the outputs
# that the documents show. Each document has a network namespace with simulated servers on the addresses
# that the examples name; nothing leaves it. Needs root, iproute2, util-linux, jq, curl, openssl and
# nats-server. With names of documents, only those: tests/commands/run.sh README.md docs/reach.md
set -uo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1

if [ "${1:-}" = inside ]; then
  set -e
  ip link set lo up
  ip link add bs0 type veth peer name bs1
  ip link set bs0 up && ip link set bs1 up
  ip addr add 192.168.1.5/24 broadcast + dev bs0
  # 5.9.9.0/24: a name must not point to a private address.
  for range in 10.0.0.0/8 172.16.0.0/12 192.168.1.0/24 192.0.2.0/24 5.9.9.0/24; do
    ip route add local "$range" dev lo
  done
  mount -t tmpfs tmpfs /mnt
  # What the examples write into the system is gone at the end.
  for folder in /etc /opt /usr/local; do
    mkdir -p "/mnt$folder/new" "/mnt$folder/work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=/mnt$folder/new,workdir=/mnt$folder/work" \
      "$folder"
  done
  echo "nameserver 127.0.0.53" >/mnt/resolv.conf
  mount --bind /mnt/resolv.conf /etc/resolv.conf
  exec deno run --quiet --no-check --allow-all tests/commands/run_document.ts "$2"
fi

documents=("$@")
[ $# -gt 0 ] || mapfile -t documents < <(grep -lE '^ *```sh|^\$ ' ./*.md docs/*.md docs/guide/*.md)
# The namespaces cannot download packages, and have other home folders.
deno install --quiet
DENO_DIR=$(deno info --json | jq -r .denoDir)
export DENO_DIR
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT
export outputs
printf '%s\n' "${documents[@]#./}" | xargs -P 4 -I {} bash -c '
  name=$(tr / _ <<<"{}")
  unshare --net --mount "$0" inside "{}" >"$outputs/$name" 2>&1 || touch "$outputs/failed"
  cat "$outputs/$name"' "$0"
[ ! -e "$outputs/failed" ]
