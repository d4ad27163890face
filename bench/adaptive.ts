// deno-lint-ignore-file no-console
/**
 * Scans crowded servers on loopback evenly and adaptively, and counts the datagrams of both scans
 * in a capture. Then it scans adaptively with limits per host and network: the capture has to keep
 * them.
 *
 *     deno run -A bench/adaptive.ts [--servers 800] [--range 127.16.0.0/12] [--seed 1]
 *         [--rate 5000] [--budget 60%] [--limited 200] [--net-rate 50] [--host-rate 5]
 *         [--net-budget 1000] [--engine portable]
 *
 * It needs root, iproute2 and tcpdump, and runs in a network namespace of its own. All scans are
 * RakNet scans with the same rate. The first two probe port 19132 of `--servers` servers. The third
 * probes 201 ports of `--limited` servers, of which one in 13 replies on every port.
 *
 * `to 50 %` and `to 90 %` are the datagrams that the scan had sent when half of the servers, or
 * nine of ten, had replied (0: never). `sent` are all of them. `found` is the number of endpoints
 * that replied, and `rows` the number of rows.
 *
 * The last table compares the limited scan with its limits and with its plan (`--dry-run`). `sent`
 * are the maximum numbers of datagrams to one /24 or host. In a pass they are those of the pass that
 * came closest to its limit: the cap, multiplied by the planned duration of the pass. Canary probes
 * go to servers that have replied, and belong to no pass.
 *
 * Exits with 1 when a limit is exceeded, a row is wrong or missing although the server replied, or
 * the even scan lacks a server. It fails when the capture lacks datagrams that the system counted.
 */
import { countOf } from "../src/core/quantities.ts";
import { readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import type { ManifestEntry } from "../src/fleet/manifest.ts";
import {
  captured,
  type Datagram,
  mostPerSecond,
  mostTo,
  passesOf,
  sentUntil,
  SERVER_PORTS,
} from "./adaptive/capture.ts";
import { beFarEnd, system } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, startFleet } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions("an even and an adaptive scan of crowded servers, and its limits", {
  servers: "800",
  range: "127.16.0.0/12",
  seed: "1",
  rate: "5000",
  budget: "60%",
  limited: "200",
  "net-rate": "50",
  "host-rate": "5",
  "net-budget": "1000",
  engine: "portable",
});
await beFarEnd(import.meta.url);
const RATE = Number(options.rate);
const NET_RATE = Number(options["net-rate"]);
const HOST_RATE = Number(options["host-rate"]);
const NET_BUDGET = Number(options["net-budget"]);
/** The time between two passes. A cap stops a pass for at most a second. */
const PAUSE_SECONDS = 2;
/** The number of probes of a pass, as docs/reach.md describes it. */
const passSize = (spent: number) => Math.ceil(Math.max(0.05 * spent, 5 * RATE));
/** The least limits of a pass for one /24 and one host. */
const [MIN_PER_NET, MIN_PER_HOST] = [64, 16];
const [NET, HOST] = [256, 1];
const folder = await Deno.makeTempDir({ prefix: "blocksweep-adaptive-" });
const faults: string[] = [];

/** Ports of an adaptive scan without `-p`: those around the usual one. */
const WINDOW = Array.from(
  { length: SERVER_PORTS.last - SERVER_PORTS.first + 1 },
  (_, i) => SERVER_PORTS.first + i,
);

/** The arguments of a scan. */
function wordsOf(more: readonly string[]): string[] {
  const { range, rate, seed } = options;
  const words = `--protocol raknet --no-follow --cooldown ${PAUSE_SECONDS}s --rate ${rate}`;
  return [range, ...words.split(" "), "--seed", seed, ...more];
}

/** Scans in a capture, and checks the rows. Returns the datagrams and the number of rows. */
async function scan(
  name: string,
  entries: readonly ManifestEntry[],
  ports: readonly number[],
  more: readonly string[],
): Promise<{ readonly datagrams: readonly Datagram[]; readonly rows: number }> {
  const output = `${folder}/${name}.ndjson`;
  const words = scanCommand([...wordsOf(more), "-o", output], options.engine);
  const datagrams = await captured(async () => void await runTimed(words));
  const rows = readNdjson(await Deno.readTextFile(output));
  const selection = { protocols: ["raknet"], ports: () => ports, follow: false };
  const verdict = verifyAgainstManifest(entries, rows, selection, "ndjson");
  const isWrong = (fault: string) => name === "even" || !/: missing \(\w+\)$/.test(fault);
  faults.push(...verdict.faults.filter(isWrong).map((fault) => `${name}: ${fault}`));
  return { datagrams, rows: rows.length };
}

/** Scans evenly and adaptively, and prints what both sent. */
async function compare(): Promise<void> {
  const { servers, range, seed, budget } = options;
  const more = ["--crowded", "--seed", seed];
  await using fleet = await startFleet({
    ...{ servers: Number(servers), software: "bds", range, folder, more },
  });
  const ways = { even: ["--retries", "0"], adaptive: ["--adaptive", "--budget", budget] };
  const lines: (string | number)[][] = [];
  for (const [name, words] of Object.entries(ways)) {
    const ports = ["-p", "19132"];
    const { datagrams, rows } = await scan(name, fleet.entries, [19132], [...ports, ...words]);
    const { until, sent, found } = sentUntil(datagrams, fleet.entries.length, [0.5, 0.9]);
    if (found !== rows) faults.push(`${name}: ${found} servers replied, and ${rows} have a row`);
    lines.push([name, ...until, sent, found, rows]);
  }
  console.log(table(["scan", "to 50 %", "to 90 %", "sent", "found", "rows"], lines));
}

/** Scans adaptively with limits, and compares the capture with the limits and the plan. */
async function limit(): Promise<void> {
  const { limited, range, seed } = options;
  const more = ["--crowded", "--seed", seed];
  await using fleet = await startFleet({
    ...{ servers: Number(limited), software: "bds,bdsEveryPort", range, folder, more },
  });
  const names = ["budget", "net-rate", "host-rate", "net-budget"] as const;
  const words = ["--adaptive", ...names.flatMap((name) => [`--${name}`, options[name]])];
  const dry = scanCommand([...wordsOf(words), "--dry-run", "--json"], options.engine);
  const { adaptive: plan } = JSON.parse(await system(dry.join(" ")));
  const { datagrams } = await scan("limited", fleet.entries, WINDOW, words);
  const sent = datagrams.filter(({ isReply }) => !isReply);
  const planned = sent.filter(({ isRepeated }) => !isRepeated);
  const passes = passesOf(planned, 0.75 * PAUSE_SECONDS);
  /** The pass that came closest to its limit for one network. */
  const inPass = (size: number, rate: number, least: number) => {
    let spent = 0;
    const all = passes.map((pass) => {
      const most = Math.min(passSize(spent), plan.budget - spent);
      spent += pass.length;
      return [mostTo(pass, size), Math.max(least, rate * most / RATE)] as const;
    });
    return all.reduce((worst, one) => one[0] / one[1] > worst[0] / worst[1] ? one : worst);
  };
  const limits: readonly (readonly [what: string, sent: number, limit: number])[] = [
    ["/24, in any second", mostPerSecond(sent, NET), NET_RATE],
    ["host, in any second", mostPerSecond(sent, HOST), HOST_RATE],
    ["/24, in any pass", ...inPass(NET, NET_RATE, MIN_PER_NET)],
    ["host, in any pass", ...inPass(HOST, HOST_RATE, MIN_PER_HOST)],
    ["/24, in all passes", mostTo(planned, NET), NET_BUDGET],
    ["/24, by the plan", mostTo(planned, NET), plan.max_per_network],
    ["host, in all passes", mostTo(planned, HOST), WINDOW.length],
    ["probes, by the plan", planned.length, plan.budget],
  ];
  console.log(table(["limited scan", "sent", "limit"], limits));
  const canaries = sent.filter(({ isRepeated }) => isRepeated);
  console.log(
    `${countOf(passes.length, "pass", "passes")} (${plan.passes} by the plan), and ` +
      `${countOf(canaries.length, "canary probe")}, at most ${mostTo(canaries, NET)} to a /24: ` +
      "the limits per second include them",
  );
  for (const [what, sent, limit] of limits) {
    if (sent > limit) faults.push(`${what}: ${sent}, and the limit is ${limit}`);
  }
}

try {
  await system("ip link set lo up");
  await compare();
  await limit();
} finally {
  await Deno.remove(folder, { recursive: true });
}
for (const fault of faults.slice(0, 20)) console.error(fault);
Deno.exit(faults.length === 0 ? 0 : 1);
