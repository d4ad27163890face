// deno-lint-ignore-file no-console
/**
 * Kills a scan into a list with SIGKILL again and again, goes on with it each time, and shows that
 * every server is in the list, once, and seen once.
 *
 *     deno run -A bench/kill_lists.ts [--engines sqlite,postgres] [--moments 10] [--seed 1]
 *         [--range 127.16.0.0-127.17.134.159] [--servers 2000] [--protocol raknet,query]
 *         [--rate 25k] [--lived 2500]
 *
 * It needs Linux, nobody else on the usual ports of loopback, and Debian's `postgresql`, of which it
 * starts a server of its own, with the usual settings. The moments are drawn by seed: every second
 * one is a time, the others are borders of commits: SQLite's log grows, or PostgreSQL is within a
 * transaction of ours. `lived` is how long that part of the scan did, start-up included; `listed` the
 * rows that the checkpoint's list holds then, which were all acknowledged, and `held` those of the
 * list in the database. Exits with 1 when an acknowledged row is gone, a server is missing, twice or
 * wrong, or SQLite's `integrity_check` is not ok.
 */
import { Random } from "../src/fleet/random.ts";
import { verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { serverId } from "../src/core/record.ts";
import { recordOf } from "../src/store/server_columns.ts";
import type { Database } from "../src/store/database/database.ts";
import { openPostgres } from "../src/store/database/postgres.ts";
import { parsePostgres } from "../src/store/database/postgres_url.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";
import { usualPorts } from "../src/protocols/usual_ports.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { after, fileEvent, listed, marksOf, type Moment, textOf } from "./shared/moments.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, start, startFleet } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions({
  engines: "sqlite,postgres",
  moments: "10",
  seed: "1",
  range: "127.16.0.0-127.17.134.159",
  servers: "2000",
  software: "bds,pocketmine,paper,vanilla",
  protocol: "raknet,query",
  rate: "25k",
  lived: "2500",
});
const random = new Random(Number(options.seed));
const folder = await Deno.makeTempDir({ prefix: "blocksweep-kill-" });

/** A list that a scan writes into. */
interface Place {
  readonly name: "sqlite" | "postgres";
  /** What `-o` is given. */
  readonly output: string;
  /** Opens it, to look. */
  readonly open: () => Promise<Database>;
  /** A border of a commit. */
  readonly border: () => Moment;
}

function sqlitePlace(): Place {
  const path = `${folder}/list.db`;
  return {
    name: "sqlite",
    output: path,
    open: () => Promise.resolve(openSqlite(path)),
    border: () => {
      const nth = 1 + random.below(60);
      return fileEvent({ name: "its log grows", folder, kind: "modify", path: `${path}-wal`, nth });
    },
  };
}

function postgresPlace(url: string): Place {
  const place = parsePostgres(url);
  const open = () => openPostgres(place, "the server", place.password);
  const within = "select count(*) as n from pg_stat_activity where pid <> pg_backend_pid() and " +
    "application_name = 'blocksweep' and (state = 'idle in transaction' or query = 'commit')";
  return {
    name: "postgres",
    output: url,
    open,
    border: () => {
      const nth = 1 + random.below(20);
      return {
        name: `within a transaction (${nth})`,
        async come() {
          await using database = await open();
          for (let seen = 0; seen < nth;) {
            const [{ n }] = await database.rows(within);
            seen += Number(n);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        },
      };
    },
  };
}

/** The ids of servers that are in a list; none where there is no list yet. */
async function held({ open }: Place): Promise<Set<unknown>> {
  await using database = await open();
  const rows = await database.rows("select id from servers").catch(() => []);
  return new Set(rows.map(({ id }) => id));
}

/** Kills, resumes, and says whether all is as it should be. */
async function run(
  place: Place,
  entries: Parameters<typeof verifyAgainstManifest>[0],
): Promise<boolean> {
  const checkpoint = `${folder}/${place.name}.checkpoint`;
  const begin = [
    ...[options.range, "--protocol", options.protocol, "--rate", options.rate],
    ...["-o", place.output, "--checkpoint", checkpoint],
  ];
  const lines: (string | number)[][] = [];
  let gone = 0;
  let begun = false;
  // A password in the URL is not kept: it is said again.
  const again = ["--resume", checkpoint, ...["-o", place.output]];
  for (let i = 0; i < Number(options.moments); i++) {
    const moment = i % 2 === 0 ? after(300 + random.below(Number(options.lived))) : place.border();
    const coming = moment.come();
    const from = performance.now();
    const child = start(scanCommand(begun ? again : begin));
    const ended = await Promise.race([coming.then(() => false), child.status.then(() => true)]);
    if (ended) throw new Error(`the scan ended before moment ${i + 1}: lower --rate or --lived`);
    child.kill("SIGKILL");
    await child.status;
    const saved = await textOf(checkpoint);
    const known = listed(await textOf(`${checkpoint}.list`));
    const there = await held(place);
    gone += known.filter((id) => !there.has(id)).length;
    begun = saved !== "";
    lines.push([
      ...[i + 1, moment.name, Math.round(performance.now() - from), known.length, there.size],
      begun ? marksOf(saved)[0] : "none",
    ]);
  }
  const { elapsed } = await runTimed(scanCommand(begun ? again : begin));
  console.log(table([place.name, "killed", "lived", "listed", "held", "stands at"], lines));
  return await judge(place, entries, gone, elapsed);
}

async function judge(
  place: Place,
  entries: Parameters<typeof verifyAgainstManifest>[0],
  gone: number,
  elapsed: number,
): Promise<boolean> {
  await using database = await place.open();
  const one = async (sql: string) => (await database.rows(sql))[0];
  const rows = (await database.rows("select * from servers")).map(recordOf);
  const ports = usualPorts(PROTOCOLS);
  const selection = {
    protocols: options.protocol.split(","),
    ports: (name: string) => ports(name, 4),
    follow: true,
  };
  const verdict = verifyAgainstManifest(entries, rows, selection, "ndjson");
  const { n, servers, scans } = await one(
    "select count(*) as n, count(distinct server_id) as servers, count(distinct scan_id) as scans " +
      "from observations",
  );
  const finished = await one("select count(*) as n from scans where state = 'finished'");
  const integrity = place.name === "sqlite"
    ? String((await one("pragma integrity_check")).integrity_check)
    : "ok";
  console.log(
    `killed ${options.moments} times, then to the end in ${elapsed.toFixed(1)} s: ` +
      `${verdict.found} of ${verdict.expected} servers, ${verdict.right} right in every field, ` +
      `${verdict.faults.length} faults; ${n} observations of ${servers} servers in ${scans} scan, ` +
      `${finished.n} finished; ${gone} acknowledged rows gone; integrity ${integrity}\n`,
  );
  for (const fault of verdict.faults.slice(0, 10)) console.error(`  ${fault}`);
  const ids = new Set(rows.map(serverId));
  return verdict.found === verdict.expected && verdict.faults.length === 0 && gone === 0 &&
    ids.size === rows.length && n === rows.length && servers === rows.length && scans === 1 &&
    finished.n === 1 && integrity === "ok";
}

let right = true;
try {
  await using fleet = await startFleet({
    servers: Number(options.servers),
    software: options.software,
    range: options.range,
    folder,
  });
  for (const engine of options.engines.split(",")) {
    if (engine === "sqlite") right = await run(sqlitePlace(), fleet.entries) && right;
    else {
      await using server = await startPostgres("on");
      right = await run(postgresPlace(`${server.url}postgres`), fleet.entries) && right;
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(right ? 0 : 1);
