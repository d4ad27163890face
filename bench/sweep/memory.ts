// deno-lint-ignore-file no-console
/**
 * Measures memory and processor time of sweeps of 2^16 to 2^24 addresses, with and without servers.
 * Memory is measured after a quarter, a half and three quarters of a sweep, and at its end.
 *
 * Each probe is really sent: one RakNet ping per address, without caps and retries, over a veth
 * pair into a network namespace. There bench/c/respond.c responds for the servers; `arrived` is the
 * number of datagrams that it received. Rows are written to a file. Sweeps of up to 2^18 addresses
 * have the rate `--slow`, because they would otherwise end before they can be measured.
 *
 * Memory is the resident memory of the scan's process, MiB; `peak` is its maximum. `CPU us` is its
 * user and system time per probe, start-up included. The progress of the scan is read from its
 * status file.
 */
import { joinNear, near } from "../shared/namespaces.ts";
import { bareScan, start, takenBy } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";
import { table } from "../shared/table.ts";
import type { Case } from "./case.ts";

const OPTIONS = {
  bits: "16,20,24",
  live: "0,1000",
  engines: "udp,portable",
  threads: "0",
  slow: "30000",
};
const FIRST = "10.0.0.0";
const PORT = 19132;
const SHARES = [0.25, 0.5, 0.75, 1];
/** Maximum size of sweeps with the rate `--slow`, bits. */
const SMALL = 18;
const HEAD = [
  "engine",
  "addresses",
  "live",
  ...SHARES.map((share) => `${100 * share} %`),
  "peak MiB",
  "CPU us",
  "arrived",
  "rows",
];

/** The parameters of one sweep. */
interface Sweep {
  readonly engine: string;
  readonly bits: number;
  readonly live: number;
}

export const memory: Case = {
  purpose: "memory and processor time of sweeps of 2^16 to 2^24 addresses",
  options: OPTIONS,
  async run(options, folder) {
    const program = await build("respond", folder);
    await using _ = await joinNear("10.0.0.0/8", true);
    const lines: (string | number)[][] = [];
    for (const sweep of sweeps(options)) {
      lines.push(await measure(sweep, options, program, folder));
      console.error(lines.at(-1)!.join(" "));
    }
    console.log(table(HEAD, lines));
    return true;
  },
};

function sweeps(options: Readonly<Record<string, string>>): Sweep[] {
  const [sizes, counts] = [options.bits, options.live].map((text) => text.split(",").map(Number));
  return options.engines.split(",").flatMap((engine) =>
    sizes.flatMap((bits) =>
      counts.filter((live) => live <= 2 ** bits).map((live) => ({ engine, bits, live }))
    )
  );
}

/** The proportion of a scan that is done; 0 before the first status. */
async function shareDone(statusFile: string): Promise<number> {
  const text = await Deno.readTextFile(statusFile).catch(() => "");
  if (text === "") return 0;
  const { visited, total } = JSON.parse(text);
  return total === 0 ? 0 : visited / total;
}

/** Runs one sweep. Returns a line of the table. */
async function measure(
  { engine, bits, live }: Sweep,
  { slow, threads }: Readonly<Record<string, string>>,
  program: string,
  folder: string,
): Promise<(string | number)[]> {
  const [rows, status] = [`${folder}/rows.ndjson`, `${folder}/status.json`];
  for (const file of [rows, status]) await Deno.remove(file).catch(() => {});
  const end = await respond(program, { first: FIRST, targets: 2 ** bits, live, port: PORT });
  const rate = bits <= SMALL ? slow : undefined;
  const scan = {
    range: `${FIRST}/${32 - bits}`,
    port: PORT,
    engine,
    threads,
    rate,
    cooldown: "2s",
  };
  const child = start(near(bareScan(scan, ["--output", rows, "--status-file", status])));
  let ended = false;
  void child.status.then(() => ended = true);
  const resident: number[] = [];
  let last = await takenBy(child.pid);
  for (const share of SHARES) {
    while (!ended && await shareDone(status) < share) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    last = await takenBy(child.pid);
    if (last === undefined) {
      throw new Error(`the scan ended before ${100 * share} % of it were measured`);
    }
    resident.push(last.resident);
  }
  const { success } = await child.status;
  if (!success) throw new Error("the scan failed");
  const { replied, withoutServer } = await end();
  const written = (await Deno.readTextFile(rows)).split("\n").length - 1;
  const { peak, cpu } = last!;
  const perProbe = cpu / 2 ** bits * 1e6;
  return [engine, `2^${bits}`, live, ...resident, peak, perProbe, replied + withoutServer, written];
}
