#!/usr/bin/env bash
# Runs the commands of the README's section "Set up" as a new user, then others of a clone: in a fresh
# clone, with only Node in the PATH, and with empty caches and an empty home folder. CI runs the command
# of the tests; tests/npm/ runs the npm package. Prints the duration of each step. All traffic stays on
# loopback.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
export DENO_DIR=$folder/cache DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 HOME=$folder/home
export NPM_CONFIG_CACHE=$folder/npm_cache NPM_CONFIG_PREFIX=$folder/npm
fleet=
clean() {
  [ -z "$fleet" ] || kill -INT "$fleet" 2>/dev/null || true
  rm -rf "$folder"
}
trap clean EXIT

# Node is copied, because npx adds the folder of its program to the PATH: Deno may be there too.
mkdir "$folder/home" "$folder/only_node"
cp "$(node -p process.execPath)" "$folder/only_node/node"
for name in npx npm sh env git; do ln -s "$(command -v "$name")" "$folder/only_node/$name"; done
node_only() { env "PATH=$folder/only_node" "$@"; }
deno() { node_only npx -y deno@2.9.6 "$@"; }

# set_up: the commands of the README's section "Set up", without their comments.
set_up() {
  sed -nE '/^## Set up$/,/^## Tasks$/s/^(npx [^#]*[^# ]) *(#.*)?$/\1/p' "$source/README.md"
}

# set_up_of TASK: the command that runs the task.
set_up_of() {
  set_up | grep -E " task $1( |$)"
}

# step NAME COMMAND...: runs the command, and prints its duration.
step() {
  local name=$1 start=$EPOCHREALTIME
  shift
  "$@"
  awk -v a="$start" -v b="$EPOCHREALTIME" -v n="$name" 'BEGIN { printf "-- %s: %.1f s\n", n, b - a }'
}

# refused EXPECTED COMMAND...: the command has to end with exit code 2 and a line that contains EXPECTED.
refused() {
  local expected=$1 code=0 printed
  shift
  printed=$("$@" 2>&1 >"$folder/stdout" | grep '^blocksweep:') || true
  "$@" >/dev/null 2>&1 || code=$?
  [ "$code" -eq 2 ] && [ ! -s "$folder/stdout" ] && [[ $printed == *"$expected"* ]] || {
    echo "expected exit code 2 and \"$expected\"; got $code and \"$printed\""
    return 1
  }
  echo "$printed"
}

git clone --quiet "$source" "$folder/blocksweep"
cd "$folder/blocksweep"
test "$(set_up | sed 's/.* task //' | xargs)" = "demo scan RANGE test" || {
  echo "Set up in the README has other commands than demo, scan and test:"
  set_up
  exit 1
}
demo=$(set_up_of demo)
scan=$(set_up_of scan)
if script --version >/dev/null 2>&1; then
  step "first demo, nothing cached" \
    script -qec "stty cols 80 rows 24; PATH=$folder/only_node; $demo" "$folder/first.txt"
  step "no line about downloads in the first demo" \
    awk '/main\.ts demo/ { on = 1 } on && /Download/ { bad = 1 } END { exit bad || !on }' "$folder/first.txt"
else
  echo "script of util-linux is not installed: the first demo has no terminal"
  # shellcheck disable=SC2086
  step "first demo, nothing cached" node_only $demo
fi
# A task downloads every package of the lock file; a program downloads only the packages that it loads.
DENO_DIR=$folder/bare deno run --no-prompt main.ts --help >/dev/null
step "help loads only the standard library, Hono and uPlot" \
  test "$(ls "$folder"/bare/npm/* | xargs)" = "deno-std hono uplot"
# shellcheck disable=SC2086
step "second demo" node_only $demo 2>&1 | tee "$folder/second.txt"
step "the demo names commands that work without Deno" \
  grep -qF "next: npx -y deno@2.9.6 task lan" "$folder/second.txt"
step "help" deno task scan --help
step "a mistyped flag" refused "did you mean --rate?" deno task scan --raet 5 127.0.0.1
step "a mistyped range" refused "the prefix must be 0 to 32" deno task scan 10.0.0.0/33
step "a public address" refused "--i-have-permission" deno task scan 8.8.8.8
step "the commands of campaigns" deno task campaign --help
step "no NATS server" refused "nats-server -js" deno task campaign list --nats nats://127.0.0.1:1
step "a dry run" deno task scan 172.16.0.0/24 --dry-run

# The fleet is started by Deno's binary, because npx does not pass signals on.
"$(deno eval 'console.log(Deno.execPath())')" run --no-prompt --allow-net=127.0.0.0/8 \
  --allow-write="$folder" main.ts fleet --quiet --servers 50 --range 127.40.0.0/22 --manifest "$folder/truth.ndjson" &
fleet=$!
until [ -s "$folder/truth.ndjson" ]; do sleep 0.1; done
# shellcheck disable=SC2086
step "the scan of Set up" node_only ${scan/RANGE/127.40.0.0/24} >"$folder/scan.txt"
tail -n 1 "$folder/scan.txt"
step "it prints servers" grep -q '"host":"127.40.0' "$folder/scan.txt"
step "a scan into files" deno task scan 127.40.0.0/22 -o "$folder/a.csv" -o "$folder/a.ndjson"
step "the check" deno task fleet --manifest "$folder/truth.ndjson" \
  --check "$folder/a.csv" --check "$folder/a.ndjson"
server=$(grep -o '"host":"[^"]*","port":19132' "$folder/a.ndjson" | head -n 1 | cut -d'"' -f4)
step "one server" deno task query "$server:19132"
step "the example program" deno run --no-prompt --allow-net=127.0.0.0/8,0.0.0.0 \
  --allow-read --allow-env=HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE \
  examples/busiest.ts 127.40.0.0/22
deno run --no-prompt main.ts completions bash > "$folder/complete.bash"
bash -n "$folder/complete.bash"
export DENO_INSTALL_ROOT=$folder/installed
step "install without Deno" refused "npm install -g deno@2.9.6" deno task install
step "Deno" node_only npm install --silent -g deno@2.9.6
unset -f deno
export PATH=$folder/npm/bin:$PATH
step "install" deno task install 2>&1 | tee "$folder/install.txt"
installed=$(sed -nE 's/^(\/.*\/blocksweep)$/\1/p' "$folder/install.txt" | head -n 1)
(cd / && "$installed" scan 127.40.0.0/28 --quiet --cooldown 100ms -o "$folder/b.csv" && wc -l < "$folder/b.csv")
step "uninstall" deno task uninstall
echo "all commands of the README work"
