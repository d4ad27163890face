// deno-lint-ignore-file no-console
/**
 * Watches a list of simulated servers on one core, kills and revives some of them, and shows how
 * late polls begin, what it costs, and that every transition is reported once and none is invented.
 *
 *     deno run -A bench/watch.ts [--servers 10000] [--mortal 200] [--interval 10s] [--minutes 10]
 *         [--cases raknet,query] [--rescans no]
 *
 * It needs Linux with `taskset` and two cores: the watch has the first, all else the second; and
 * no other program on the usual ports of loopback. The list is that of a scan, in SQLite, and kept up to
 * date. `raknet` loses nothing; `query` are servers that speak nothing else, and 2 % of all
 * datagrams are lost, each way. `mortal` servers stand in a process of their own, which is killed
 * after a third of the time and started anew after two thirds. `mixed` are servers of all kinds, over
 * UDP and TCP. With `--rescans yes` a scan probes the servers of the database again each minute and
 * writes into it too, which shows whether the memory of the watch stays flat beside another writer:
 *
 *     deno run -A bench/watch.ts --cases mixed --servers 2000 --interval 60s --minutes 30 --rescans yes
 *
 * Lateness is from `--metrics`: up to
 * the upper bound of a bucket. Exits with 1 when an event is missing or invented, or the 99th
 * percentile is a second or more.
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
/** A fleet of more servers would have one socket for all, and no room for another fleet. */
const MOST = 3500;

/** An event, as the watch prints it. */
interface Told {
  readonly event: string;
  readonly at: number;
  readonly host: string;
  readonly port: number;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The values of a page of numbers. */
async function numbers(): Promise<Map<string, number>> {
  const page = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text();
  return new Map(
    page.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** The upper bound of the bucket in which a share of the polls is reached, milliseconds. */
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
  const told: Told[] = [];
  const reading = (async () => {
    let rest = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop()!;
      told.push(...lines.map((line) => JSON.parse(line)));
    }
  })();
  return { child, told, reading };
}

/** Compares the reported transitions with the real ones; returns the differences. */
function judge(
  told: readonly Told[],
  mortal: readonly string[],
  killed: number,
  revived: number,
): string[] {
  const faults: string[] = [];
  const events = Map.groupBy(
    told.filter(({ event }) => event === "online" || event === "offline"),
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
  const asked = port === undefined ? [] : ["--protocol", name, "-p", port];
  const found = ["-iL", `${folder}/targets.txt`, ...asked, "-o", list];
  await runTimed(scanCommand([...found, "--retries", "3", "--rate", "20k"]));
  const rescan = scanCommand(["--rescan", list, ...asked, "-o", list, "--rate", "20k", "--quiet"]);
  const { child, told, reading } = startWatch(list);
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
    await wait(Math.max(0, begun + 60_000 * minute - performance.now())); // a rescan may take a minute
    memory.push((await takenBy(child.pid))!.resident);
    if (options.rescans === "yes") await runTimed(rescan);
  }
  await deeds;
  const values = await numbers();
  const last = (await takenBy(child.pid))!;
  const seconds = (performance.now() - begun) / 1000;
  child.kill("SIGINT");
  await Promise.all([child.status, reading]);
  const faults = judge(told, ids, killed, revived);
  const delays = (event: string, since: number) =>
    told.filter((one) => one.event === event && ids.includes(serverId(one)))
      .map(({ at }) => (at - since) / 1000);
  const [down, up] = [delays("offline", killed), delays("online", revived)];
  const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)];
  const value = (series: string) => values.get(`blocksweep_${series}`)!;
  console.log(table(["watch", name], [
    ["servers, each every", `${targets.length}, ${options.interval}`],
    ["polls, with a reply", `${value("polls_total")}, ${value("polls_replied_total")}`],
    [
      "late, p50 and p99 at most, worst",
      `${p50} ms, ${p99} ms, ${(1000 * value("poll_delay_max_seconds")).toFixed(0)} ms`,
    ],
    ["of one core", `${(100 * (last.cpu - first.cpu) / seconds).toFixed(0)} %`],
    ["memory at each minute, MiB", memory.map((one) => one.toFixed(0)).join(" ")],
    ["killed: told after, median and last", `${spread(down)}`],
    ["revived: told after, median and last", `${spread(up)}`],
    [
      "observations written, lost",
      `${value("observations_written_total")}, ${value("observations_lost_total")}`,
    ],
    ["transitions missing or invented", `${faults.length} of ${2 * ids.length}`],
    ["events besides", besides(told)],
  ]));
  console.log();
  for (const fault of faults.slice(0, 10)) console.error(`  ${fault}`);
  return faults.length === 0 && p99 < 1000;
}

/** The events that are not transitions, each with its content. */
function besides(told: readonly Told[]): string {
  const others = told.filter(({ event }) => event !== "online" && event !== "offline");
  const shown = others.slice(0, 3).map((one) => JSON.stringify(one)).join(" ");
  return others.length === 0 ? "none" : `${others.length}: ${shown}`;
}

function spread(seconds: readonly number[]): string {
  if (seconds.length === 0) return "nothing";
  return `${median(seconds).toFixed(1)} s, ${Math.max(...seconds).toFixed(1)} s`;
}

// All that is started from here on has the second core, unless another one is given.
await new Deno.Command("taskset", { args: ["-acp", "1", String(Deno.pid)] }).output();
let right = true;
for (const name of options.cases.split(",")) right = await run(name) && right;
Deno.exit(right ? 0 : 1);
