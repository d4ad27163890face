// deno-lint-ignore-file no-console
/**
 * Measures the time from the start of the process to the first probe of a scan. The target is a socket
 * of this program on loopback.
 *
 *     deno run -A bench/start.ts [--rounds 9] [--base ../base/main.ts]
 *
 * With `--base`, the program of another folder runs in turn with this one, with the same flags. `ms` is
 * the median, `least` the minimum: on a busy machine most runs wait for a processor. `deno` is the time
 * that `deno eval 1` takes, from its start to its end: no program of Deno starts faster. `above deno` is
 * the least time of a scan beyond that. `to base` is the median divided by that of the base.
 */
import { readOptions } from "./shared/options.ts";
import { bareScan, start } from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions("the time from the start of the process to the first probe", {
  rounds: "9",
  base: "",
});
const MAIN = new URL("../main.ts", import.meta.url).pathname;
const FLOOR = "deno";
const BASE = "base, ";
/** The engines, and the numbers of their sender threads. */
const SENDERS = { "portable": 0, "udp": 0, "udp, 1 thread": 1 };

/** The time of a process, milliseconds: to its end, or to the first probe that arrives. */
async function timeOf(name: string): Promise<number> {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  const command = commandOf(name, port);
  const begun = performance.now();
  await using child = start(command);
  if (name === FLOOR) await child.status;
  else await Promise.race([socket.receive(), child.status.then(failed)]);
  const ms = performance.now() - begun;
  if (name !== FLOOR) child.kill("SIGKILL");
  socket.close();
  return ms;
}

function failed(): never {
  throw new Error("a scan ended without a probe");
}

function commandOf(name: string, port: number): string[] {
  if (name === FLOOR) return ["deno", "eval", "1"];
  const sender = name.replace(BASE, "") as keyof typeof SENDERS;
  const [engine] = sender.split(",");
  const scan = bareScan({ range: "127.0.0.1", port, engine, threads: SENDERS[sender] }, []);
  return scan.map((word) => word === MAIN && name.startsWith(BASE) ? options.base : word);
}

const senders = Object.keys(SENDERS);
const based = options.base === "" ? [] : senders.map((name) => BASE + name);
const names = [FLOOR, ...senders, ...based];
for (const name of names) await timeOf(name); // fills the caches
const runs = await inTurns(names, Number(options.rounds), timeOf);
const ms = (name: string) => median(runs.get(name)!);
const least = (name: string) => Math.min(...runs.get(name)!);
console.log(table(
  ["program", "ms", "least", "above deno", "to base"],
  names.map((name) => [name, ms(name), least(name), least(name) - least(FLOOR), ratio(name)]),
));

function ratio(name: string): string {
  return runs.has(BASE + name) ? (ms(name) / ms(BASE + name)).toFixed(2) : "";
}
