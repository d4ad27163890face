#!/usr/bin/env bash
# chaos.sh [one|three|large]: a campaign whose workers, collectors, NATS servers and database fail
# while it runs, in a network namespace of its own. one (the default): one NATS server; three: a
# cluster of three; large: the same with 5,000 servers in 512 parts. Every part has to end, every
# server has to be in both databases once, and the capture of all packets has to keep the limits.
# Needs root, iproute2, tcpdump, nats-server and PostgreSQL.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1
exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh \
  deno run --no-prompt --allow-all tests/campaign/chaos.ts "${1:-one}"
