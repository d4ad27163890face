// deno-lint-ignore-file no-console
/**
 * Watches simulated servers on one core, and stops and restarts some of them. It measures how late
 * polls begin and what they cost, and shows that every transition is reported once, and no other
 * transition is.
 *
 *     deno run -A bench/watch.ts [--servers 10000] [--mortal 200] [--interval 10s] [--minutes 10]
 *         [--cases raknet,query] [--rescans no]
 *
 * It needs Linux with `taskset` and two cores: the watch runs on the first core, all other programs
 * on the second. No other program may use the usual ports of loopback. A scan fills the database of
 * the watch, in SQLite, and the watch updates it. `raknet` servers lose no datagrams. `query`
 * servers support only Query, and lose 2 % of all datagrams in each direction. `mixed` are servers
 * of all kinds, over UDP and TCP. `--mortal` servers run in a process of their own, which is killed
 * after a third of the time and restarted after two thirds. With `--rescans yes`, a scan probes the
 * servers of the database again each minute and writes into the database. That shows whether the
 * memory of the watch stays constant beside another writer:
 *
 *     deno run -A bench/watch.ts --cases mixed --servers 2000 --interval 60s --minutes 30 --rescans yes
 *
 * Delays come from `--metrics`: each is the upper bound of its bucket. Exits with 1 when an event
 * is missing or invented, or the 99th percentile of the delay is a second or more.
 */
import { serverId } from "../src/core/record.ts";
import { readOptions } from "./shared/options.ts";
import {
  type RunningFleet,
  runTimed,
  scanCommand,
  startFleet,
  takenBy,
} from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";

const options = readOptions("how late polls are, and which events are reported", {
  servers: "10000",
  mortal: "200",
  interval: "10s",
  minutes: "10",
  cases: "raknet,query",
  rescans: "no",
});
const CASES: Record<string, { software: string; loss?: number; port?: string; tcp?: boolean }> = {
  raknet: { software: "bds", port: "19132" },
  query: { software: "vanilla", loss: 2, port: "25565" },
  mixed: { software: "bds,pocketmine,geyser,raknetNode,paper,vanilla,velocity", tcp: true },
};
const MAIN = new URL("../main.ts", import.meta.url).pathname;
const PORT = 9150;
/**
 * Maximum number of servers of a fleet. A larger fleet would use one socket for all addresses of a
 * port, and no other fleet could then use that port.
 */
const MOST = 3500;

/** An event in the output of the watch. */
interface WatchEvent {
  readonly event: string;
  readonly at: number;
  readonly host: string;
  readonly port: number;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The values of the page of metrics. */
async function numbers(): Promise<Map<string, number>> {
  const page = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text();
  return new Map(
    page.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/**
 * The upper bound of the bucket that contains a percentile of the delays of polls, milliseconds.
 */
function percentile(values: ReadonlyMap<string, number>, share: number): number {
  const name = "blocksweep_poll_delay_seconds";
  const all = values.get(`${name}_count`)!;
  for (const [series, below] of values) {
    const [, bound] = /_delay_seconds_bucket\{le="(.*)"\}$/.exec(series) ?? [];
    if (bound !== undefined && below >= share * all) return 1000 * Number(bound);
  }
  return Infinity;
}

/** Starts the watch, and collects its events. */
function startWatch(list: string) {
  const child = new Deno.Command("taskset", {
    args: [
      ...["-c", "0", "deno", "run", "--no-prompt", "--allow-net", "--allow-read"],
      ...["--allow-write", "--allow-env=INIT_CWD,HOME", MAIN, "watch", list, "--json"],
      ...["--interval", options.interval, "--metrics", String(PORT)],
    ],
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reported: WatchEvent[] = [];
  const reading = (async () => {
    let rest = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop()!;
      reported.push(...lines.map((line) => JSON.parse(line)));
    }
  })();
  return { child, reported, reading };
}

/** Compares the reported transitions with the real ones; returns the differences. */
function judge(
  reported: readonly WatchEvent[],
  mortal: readonly string[],
  killed: number,
  revived: number,
): string[] {
  const faults: string[] = [];
  const events = Map.groupBy(
    reported.filter(({ event }) => event === "online" || event === "offline"),
    serverId,
  );
  for (const id of mortal) {
    const of = events.get(id) ?? [];
    const kinds = of.map(({ event }) => event).join();
    if (kinds !== "offline,online") faults.push(`${id}: ${kinds || "nothing"}`);
    else if (of[0].at < killed || of[1].at < revived) faults.push(`${id}: too early`);
    events.delete(id);
  }
  for (const [id, of] of events) faults.push(`${id}: ${of.map(({ event }) => event).join()}`);
  return faults;
}

async function run(name: string): Promise<boolean> {
  const { software, loss, port, tcp } = CASES[name];
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-watch-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const begin = (servers: number, number: number) =>
    startFleet({ servers, software, loss, tcp, range: `127.${16 + number}.0.0/16`, folder });
  const mortals = Number(options.mortal);
  const targets: string[] = [];
  for (let left = Number(options.servers) - mortals, number = 1; left > 0; left -= MOST) {
    const fleet = stack.use(await begin(Math.min(left, MOST), number++));
    targets.push(...fleet.entries.map(serverId));
  }
  let mortal: RunningFleet | undefined = await begin(mortals, 0);
  stack.defer(() => mortal?.[Symbol.asyncDispose]());
  const ids = mortal.entries.map(serverId);
  targets.push(...ids);
  await Deno.writeTextFile(`${folder}/targets.txt`, targets.join("\n"));
  const list = `${folder}/list.db`;
  const queried = port === undefined ? [] : ["--protocol", name, "-p", port];
  const found = ["-iL", `${folder}/targets.txt`, ...queried, "-o", list];
  await runTimed(scanCommand([...found, "--retries", "3", "--rate", "20k"]));
  const rescan = scanCommand([
    "--rescan",
    list,
    ...queried,
    "-o",
    list,
    "--rate",
    "20k",
    "--quiet",
  ]);
  const { child, reported, reading } = startWatch(list);
  const minutes = Number(options.minutes);
  const [killAt, reviveAt] = [minutes / 3, 2 * minutes / 3].map((part) => 60_000 * part);
  await wait(3000);
  const begun = performance.now();
  const first = (await takenBy(child.pid))!;
  const memory: number[] = [first.resident];
  let [killed, revived] = [0, 0];
  const deeds = (async () => {
    await wait(killAt);
    killed = Date.now();
    await mortal[Symbol.asyncDispose]();
    mortal = undefined;
    await wait(reviveAt - killAt);
    revived = Date.now();
    mortal = await begin(mortals, 0);
  })();
  for (let minute = 1; minute <= minutes; minute++) {
    // no wait if the rescan took a minute
    await wait(Math.max(0, begun + 60_000 * minute - performance.now()));
    memory.push((await takenBy(child.pid))!.resident);
    if (options.rescans === "yes") await runTimed(rescan);
  }
  await deeds;
  const values = await numbers();
  const last = (await takenBy(child.pid))!;
  const seconds = (performance.now() - begun) / 1000;
  child.kill("SIGINT");
  await Promise.all([child.status, reading]);
  const faults = judge(reported, ids, killed, revived);
  const delays = (event: string, since: number) =>
    reported.filter((one) => one.event === event && ids.includes(serverId(one)))
      .map(({ at }) => (at - since) / 1000);
  const [down, up] = [delays("offline", killed), delays("online", revived)];
  const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)];
  const value = (series: string) => values.get(`blocksweep_${series}`)!;
  console.log(table(["watch", name], [
    ["servers, and interval of polls", `${targets.length}, ${options.interval}`],
    ["polls, and polls with a reply", `${value("polls_total")}, ${value("polls_replied_total")}`],
    [
      "delay: upper bounds of p50 and p99, maximum",
      `${p50} ms, ${p99} ms, ${(1000 * value("poll_delay_max_seconds")).toFixed(0)} ms`,
    ],
    ["processor time, % of one core", `${(100 * (last.cpu - first.cpu) / seconds).toFixed(0)} %`],
    ["memory at each minute, MiB", memory.map((one) => one.toFixed(0)).join(" ")],
    ["killed: reported after, median and last", `${spread(down)}`],
    ["restarted: reported after, median and last", `${spread(up)}`],
    [
      "observations written, lost",
      `${value("observations_written_total")}, ${value("observations_lost_total")}`,
    ],
    ["transitions missing or invented", `${faults.length} of ${2 * ids.length}`],
    ["other events", besides(reported)],
  ]));
  console.log();
  for (const fault of faults.slice(0, 10)) console.error(`  ${fault}`);
  return faults.length === 0 && p99 < 1000;
}

/** The number of events that are not transitions, and the first three events. */
function besides(reported: readonly WatchEvent[]): string {
  const others = reported.filter(({ event }) => event !== "online" && event !== "offline");
  const shown = others.slice(0, 3).map((one) => JSON.stringify(one)).join(" ");
  return others.length === 0 ? "none" : `${others.length}: ${shown}`;
}

function spread(seconds: readonly number[]): string {
  if (seconds.length === 0) return "nothing";
  return `${median(seconds).toFixed(1)} s, ${Math.max(...seconds).toFixed(1)} s`;
}

// Programs that are started from here on run on the second core, unless they are given another one.
await new Deno.Command("taskset", { args: ["-acp", "1", String(Deno.pid)] }).output();
let right = true;
for (const name of options.cases.split(",")) right = await run(name) && right;
Deno.exit(right ? 0 : 1);
