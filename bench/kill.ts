// deno-lint-ignore-file no-console
/**
 * Kills a scan into CSV, NDJSON and SQLite with SIGKILL again and again, goes on with it each time,
 * and shows that every server is in all three, once, and every row right.
 *
 *     deno run --allow-read --allow-write --allow-run bench/kill.ts [--moments 20] [--seed 1]
 *         [--range 127.16.0.0/12] [--servers 2000] [--protocol raknet,slp,query] [--rate 100k]
 *         [--lived 8000] [--engine portable] [--last RATE]
 *
 * It needs Linux, and nobody else on the usual ports of loopback. The moments are drawn by seed: some
 * are times, some are things that happen to a file (as inotify tells): a row is written, the list or
 * the database's log grows, the next checkpoint is made, is written, takes its place. What does not
 * happen within twice `--lived` is not waited for. `lived` is how long that part of the scan did,
 * start-up included; `listed` the rows that the list holds then; `behind` those that CSV, NDJSON and
 * the database hold and the list does not; `gone` listed rows that one of them lacks; `udp` and `tcp`
 * are pass and position of the checkpoint; `--last` is the rate of the last part. Exits with 1 when a
 * listed row is gone, or a server is missing, twice, or wrong.
 */
import { Random } from "../src/fleet/random.ts";
import { readCsv, readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { serverId } from "../src/core/record.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";
import { usualPorts } from "../src/protocols/usual_ports.ts";
import {
  after,
  fileEvent,
  listed,
  marksOf,
  type Moment,
  textOf,
  within,
} from "./shared/moments.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, start, startFleet } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions({
  moments: "20",
  seed: "1",
  range: "127.16.0.0/12",
  servers: "2000",
  software: "bds,pocketmine,paper,vanilla",
  protocol: "raknet,slp,query",
  rate: "100k",
  lived: "8000",
  engine: "portable",
  last: "",
});
const random = new Random(Number(options.seed));
const folder = await Deno.makeTempDir({ prefix: "blocksweep-kill-" });
const [csv, ndjson] = [`${folder}/rows.csv`, `${folder}/rows.ndjson`];
const database = `${folder}/servers.db`;
const checkpoint = `${csv}.checkpoint`;
const list = `${checkpoint}.list`;

const EVENTS: readonly [name: string, kind: Deno.FsEvent["kind"], path: string][] = [
  ["a row is written", "modify", ndjson],
  ["the list grows", "modify", list],
  ["the database's log grows", "modify", `${database}-wal`],
  ["the next checkpoint is made", "create", `${checkpoint}.part`],
  ["the next checkpoint is written", "modify", `${checkpoint}.part`],
  ["the next checkpoint takes its place", "rename", checkpoint],
];

/** A moment that something happens at, for the n-th time. */
function event(index: number): Moment {
  const [name, kind, path] = EVENTS[index % EVENTS.length];
  const nth = 1 + random.below(kind === "modify" && path !== `${checkpoint}.part` ? 60 : 6);
  return fileEvent({ name, folder, kind, path, nth });
}

/** Whole lines: a kill may have torn the last one. */
const wholeLines = (text: string) => text.slice(0, text.lastIndexOf("\n") + 1);

/** The servers that each output holds. */
async function held(): Promise<Set<string>[]> {
  const csvText = wholeLines(await textOf(csv));
  await using db = openSqlite(database);
  const rows = await db.rows("select id from servers").catch(() => []); // killed before it was made
  return [
    new Set(csvText === "" ? [] : readCsv(csvText).map(serverId)),
    new Set(readNdjson(wholeLines(await textOf(ndjson))).map(serverId)),
    new Set(rows.map(({ id }) => String(id))),
  ];
}

/** What is wrong with the database at the end; nothing where it holds what the files do. */
async function databaseFaults(ids: readonly string[]): Promise<string[]> {
  await using db = openSqlite(database);
  const one = async (sql: string) => (await db.rows(sql))[0];
  const there = (await db.rows("select id from servers")).map(({ id }) => String(id));
  const seen = await one(
    "select count(*) as n, count(distinct server_id) as servers, count(distinct scan_id) as scans " +
      "from observations",
  );
  const { integrity_check: integrity } = await one("pragma integrity_check");
  const counted = [seen.n, seen.servers, seen.scans].join();
  const wanted = [ids.length, ids.length, 1].join();
  return [
    ...there.toSorted().join() === ids.toSorted().join() ? [] : ["SQLite holds other servers"],
    ...counted === wanted ? [] : [`observations, servers, scans: ${counted}, not ${wanted}`],
    ...integrity === "ok" ? [] : [`integrity ${integrity}`],
  ];
}

const begin = [
  ...[options.range, "--protocol", options.protocol, "--rate", options.rate],
  ...["-o", csv, "-o", ndjson, "-o", database],
];
const lines: (string | number)[][] = [];
let wrong = false;
let goneRows = 0;
try {
  await using fleet = await startFleet({
    servers: Number(options.servers),
    software: options.software,
    range: options.range,
    folder,
  });
  let begun = false;
  for (let i = 0; i < Number(options.moments); i++) {
    const ms = 200 + random.below(Number(options.lived));
    const moment = i % 2 === 0 ? after(ms) : within(2 * Number(options.lived), event(i >> 1));
    const coming = moment.come();
    const from = performance.now();
    const child = start(scanCommand(begun ? ["--resume", checkpoint] : begin, options.engine));
    const ended = await Promise.race([coming.then(() => false), child.status.then(() => true)]);
    if (ended) throw new Error(`the scan ended before moment ${i + 1}: lower --rate or --lived`);
    child.kill("SIGKILL");
    const lived = performance.now() - from;
    await child.status;
    const saved = await textOf(checkpoint);
    const known = listed(await textOf(list));
    const outputs = await held();
    const behind = outputs.map(({ size }) => size - known.length).join(" ");
    const gone = known.filter((id) => outputs.some((one) => !one.has(id))).length;
    goneRows += gone;
    begun = saved !== "";
    lines.push([
      ...[i + 1, moment.name, Math.round(lived), known.length, behind, gone],
      ...(begun ? marksOf(saved) : ["none", "none"]),
    ]);
  }
  const { elapsed } = await runTimed(
    scanCommand(
      [
        ...begun ? ["--resume", checkpoint] : begin,
        ...options.last ? ["--rate", options.last] : [],
      ],
      options.engine,
    ),
  );
  const rows = readNdjson(await Deno.readTextFile(ndjson));
  const ports = usualPorts(PROTOCOLS);
  const protocols = options.protocol.split(",");
  const selection = { protocols, ports: (name: string) => ports(name, 4), follow: true };
  const verdict = verifyAgainstManifest(fleet.entries, rows, selection, "ndjson");
  const csvIds = readCsv(await Deno.readTextFile(csv)).map(serverId);
  const ids = rows.map(serverId);
  const same = csvIds.join() === ids.join();
  const twice = ids.length - new Set(ids).size;
  const faults = [...verdict.faults, ...await databaseFaults(ids)];
  const left = (await Promise.all([checkpoint, list].map(textOf))).join("");
  if (left !== "") faults.push("the checkpoint or its list was left behind");
  console.log(
    table(["moment", "killed", "lived", "listed", "behind", "gone", "udp", "tcp"], lines),
  );
  console.log(
    `killed ${lines.length} times, then to the end in ${
      elapsed.toFixed(1)
    } s: ${verdict.found} of ` +
      `${verdict.expected} servers found, ${twice} twice, ${verdict.right} right in every field, ` +
      `${faults.length} faults, ${goneRows} listed rows gone; CSV and NDJSON hold ${
        same ? "the same" : "DIFFERENT"
      } rows`,
  );
  for (const fault of faults.slice(0, 10)) console.error(`  ${fault}`);
  wrong = verdict.found !== verdict.expected || twice > 0 || !same || faults.length > 0 ||
    goneRows > 0;
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(wrong ? 1 : 0);
