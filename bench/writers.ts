// deno-lint-ignore-file no-console
/**
 * Many processes write to one database while simulated servers stop, restart and change at known
 * times: 2 scans, 4 rescans and 2 watches into PostgreSQL, 1 of each into SQLite. It shows that no
 * process fails, that the tables contain the truth, and that each change has one event.
 *
 *     deno run -A bench/writers.ts [--minutes 2] [--cases direct,pooled,sqlite] [--servers 120]
 *         [--round 60] [--rate 500] [--protocol raknet] [--kills 50] [--away 20]
 *
 * `direct` is PostgreSQL, `pooled` is PostgreSQL through PgBouncer in transaction mode, where all
 * processes share three connections. The benchmark starts both (Debian's `postgresql` and
 * `pgbouncer`). No other program may use the addresses from 127.60.0.0 to 127.60.0.255.
 *
 * A quarter of the servers never changes. A quarter changes its MOTD and its players at the start
 * of each round of `--round` seconds. A quarter stops there, and starts again after half of the
 * round. A quarter does the same, and starts with another GUID, MOTD and players. Scans and rescans
 * are repeated until the end. A `history --events --follow` reads the events meanwhile.
 *
 * `killed` is PostgreSQL with two watches that have one webhook. It is killed `--kills` times, at random
 * moments of the whole time, and started again after up to `--away` seconds. Both watches report what
 * they see during a long outage: the receiver may then get a change twice. Each stored event and each
 * true change has to reach the receiver, and the last events have to agree with the servers:
 *
 *     deno run -A bench/writers.ts --cases killed --minutes 9 --servers 40
 *
 * With `--protocol raknet,query`, a server may stop between its replies in the two protocols. The
 * columns of Query then stay, and no event reports a change. A server may also change between them:
 * the content of such observations is not compared.
 *
 * Exits with 1 when a process fails or writes to standard error, a row is wrong, an observation
 * has a state that its server did not have at that time, or an event is missing, duplicate or
 * invented: in the table, in the output of the watches, or in that of the reader.
 */
import { formatAddress } from "../src/core/address.ts";
import { openFleet } from "../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../src/net/clock.ts";
import type { Database } from "../src/store/database/database.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { startPgBouncer } from "../tests/postgres/pgbouncer.ts";
import { type Server, startPostgres } from "../tests/postgres/server.ts";
import { connect } from "../tests/store/databases.ts";
import { BEHAVIOURS, ChangingServer } from "./shared/changing_servers.ts";
import { judgeDatabase, judgeReceived, type PrintedEvent } from "./shared/judge_writers.ts";
import { readOptions } from "./shared/options.ts";
import { programWords } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions("many processes that write to one database", {
  minutes: "2",
  cases: "direct,pooled,sqlite",
  servers: "120",
  round: "60",
  rate: "500",
  protocol: "raknet",
  kills: "50",
  away: "20",
});
const FIRST = 0x7f3c0000;
const ROUND_MS = 1000 * Number(options.round);
const ROUNDS = Math.max(1, Math.floor(60_000 * Number(options.minutes) / ROUND_MS));
/** Pause of a process between two scans, and time for the last changes to be written. */
const [PAUSE_MS, SETTLE_MS] = [1000, 25_000];
const POOL_SIZE = 3;

/** A database, and the processes that write to it. */
interface Case {
  readonly scans: number;
  readonly rescans: number;
  readonly watches: number;
  /** The database on the command line. */
  readonly path: string;
  readonly open: () => Promise<Database>;
  /** The server that is killed, while a webhook receives the events. Default: no server is killed. */
  readonly killed?: Server;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The processes of one case. */
class Writers {
  /** The errors that were found. */
  readonly faults: string[] = [];
  /** Number of finished scans and rescans. */
  finished = 0;
  #stopped = false;

  constructor(private readonly folder: string, private readonly areErrorsExpected: boolean) {}

  /** Runs a command to its end, or until it is stopped. Returns its standard output. */
  async run(name: string, args: readonly string[], stop?: Promise<void>): Promise<string> {
    const [program, ...words] = [...programWords(), ...args];
    const env = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
    const child = new Deno.Command(program, {
      args: words,
      env,
      cwd: this.folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    void stop?.then(() => child.kill("SIGINT"));
    const { code, stdout, stderr } = await child.output();
    const [printed, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    const expected = stop === undefined ? 0 : 130;
    if (code !== expected) this.faults.push(`${name} ended with ${code}: ${errors}`);
    else if (errors !== "" && !this.areErrorsExpected) {
      this.faults.push(`${name}: ${errors.trim()}`);
    }
    return printed;
  }

  /** Repeats a scan until {@linkcode stop}. */
  async repeat(name: string, args: readonly string[]): Promise<void> {
    while (!this.#stopped) {
      await this.run(name, args);
      this.finished++;
      await wait(PAUSE_MS);
    }
  }

  /** Ends the repetitions after their current scans. */
  stop(): void {
    this.#stopped = true;
  }
}

/** Lets the servers change in each round. Returns the longest delay of a change, milliseconds. */
async function playRounds(servers: readonly ChangingServer[]): Promise<number> {
  const begun = Date.now();
  let latest = 0;
  for (let half = 0; half < 2 * ROUNDS; half++) {
    const due = begun + half * ROUND_MS / 2;
    await wait(Math.max(0, due - Date.now()));
    const [now, round] = [Date.now(), 1 + Math.floor(half / 2)];
    latest = Math.max(latest, now - due);
    for (const server of servers) {
      if (half % 2 === 0) server.begin(round, now);
      else server.resume(round, now);
    }
  }
  await wait(ROUND_MS / 2);
  return latest;
}

/** Kills a database at random moments of all rounds. */
async function killAgain(server: Server): Promise<void> {
  const kills = Number(options.kills);
  const [begun, partMs] = [Date.now(), ROUNDS * ROUND_MS / kills];
  for (let kill = 0; kill < kills; kill++) {
    const awayMs = Math.min(1000 * Number(options.away), 0.9 * partMs) * Math.random();
    const due = begun + kill * partMs + (0.95 * partMs - awayMs) * Math.random();
    await wait(Math.max(0, due - Date.now()));
    await server.stop("immediate");
    await wait(awayMs);
    await server.start();
  }
}

/** Receives the events of webhooks. */
function receive() {
  const events: PrintedEvent[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    events.push(...await one.json() as PrintedEvent[]);
    return new Response("");
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  return { events, url, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** The objects of output in JSON lines. */
function linesOf<T>(outputs: readonly string[]): T[] {
  return outputs.join("").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

async function runCase(
  name: string,
  { scans, rescans, watches, path, open, killed }: Case,
  folder: string,
) {
  const now = Date.now();
  const servers = Array.from(
    { length: Number(options.servers) },
    (_, i) => new ChangingServer(FIRST + 1 + 2 * i, BEHAVIOURS[i % BEHAVIOURS.length], now),
  );
  await using _fleet = await openFleet(servers.map(({ host }) => host), {
    clock: systemClock,
    seed: 1,
  });
  await using receiver = killed === undefined ? undefined : receive();
  const writers = new Writers(folder, killed !== undefined);
  const common = ["--quiet", "--opt-out-file", `${folder}/out.txt`];
  const writing = [...common, "--rate", options.rate, "-o", path];
  const range = `${formatAddress(FIRST)}/24`;
  const scan = (
    i: number,
  ) => [
    "scan",
    range,
    "--protocol",
    options.protocol,
    "--checkpoint",
    `${folder}/${i}`,
    ...writing,
  ];
  const rescan = (
    i: number,
  ) => [
    "scan",
    "--rescan",
    path,
    "--protocol",
    options.protocol,
    "--checkpoint",
    `${folder}/r${i}`,
    ...writing,
  ];
  const times = (n: number) => Array.from({ length: n }, (_, i) => i);
  // The first scans create the tables at the same time.
  await Promise.all(times(Math.max(1, scans)).map((i) => writers.run(`scan ${i}`, scan(i))));
  const { promise: end, resolve: stop } = Promise.withResolvers<void>();
  const { promise: readEnd, resolve: stopReading } = Promise.withResolvers<void>();
  const polling = ["--json", "--names", "--interval", "5s", "--down-after", "2", ...common];
  const hook = (i: number) =>
    receiver === undefined ? [] : [
      ...["--webhook", receiver.url, "--webhook-outbox", `${folder}/outbox${i}`],
      ...["--webhook-events", "online,offline,changed,restarted"],
    ];
  const repeated = [
    ...times(scans).map((i) => writers.repeat(`scan ${i}`, scan(i))),
    ...times(rescans).map((i) => writers.repeat(`rescan ${i}`, rescan(i))),
  ];
  const watching = times(watches).map((i) =>
    writers.run(`watch ${i}`, ["watch", path, ...polling, ...hook(i)], end)
  );
  const follow = ["history", path, "--events", "--follow", "--json", "--after", "0-0"];
  const reading = killed === undefined ? writers.run("history", follow, readEnd) : undefined;
  await wait(5000);
  const begun = performance.now();
  const [latest] = await Promise.all([playRounds(servers), killed && killAgain(killed)]);
  await wait(SETTLE_MS);
  writers.stop();
  await Promise.all(repeated);
  stop();
  const printed = linesOf<PrintedEvent>(await Promise.all(watching));
  await wait(SETTLE_MS / 5);
  stopReading();
  const read = linesOf<{ id: string }>([await reading ?? ""]);
  await using database = await open();
  const protocols = options.protocol.split(",");
  const judged = receiver === undefined
    ? await judgeDatabase(database, servers, printed, read, protocols)
    : await judgeReceived(database, servers, receiver.events, protocols);
  const faults = [...writers.faults, ...judged.faults];
  console.log(table(["writers", name], [
    ["scans, rescans, watches at the same time", `${scans}, ${rescans}, ${watches}`],
    ["minutes, rounds", `${((performance.now() - begun) / 60_000).toFixed(1)}, ${ROUNDS}`],
    ["scans and rescans finished", String(writers.finished + scans)],
    ["true changes, events stored", `${judged.changes}, ${judged.events}`],
    ["events printed by watches, read by history", `${printed.length}, ${read.length}`],
    ...judged.lines,
    ["latest change of a server", `${latest} ms`],
    ...database.engine === "postgres" ? await activityOf(database) : [],
    ["faults", String(faults.length)],
  ]));
  console.log();
  for (const fault of faults.slice(0, 20)) console.error(`  ${fault}`);
  return faults.length === 0;
}

/** What PostgreSQL counted. */
async function activityOf(database: Database): Promise<[string, string][]> {
  const [row] = await database.rows(
    "select xact_commit as commits, xact_rollback as rollbacks, deadlocks, " +
      "pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal from pg_stat_database " +
      "where datname = current_database()",
  );
  return [
    ["transactions committed, rolled back", `${row.commits}, ${row.rollbacks}`],
    ["deadlocks", String(row.deadlocks)],
    ["WAL of the server, MiB", (Number(row.wal) / 2 ** 20).toFixed(0)],
  ];
}

async function start(name: string): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-writers-" });
  try {
    if (name === "sqlite") {
      const path = `${folder}/servers.db`;
      const open = () => Promise.resolve(openSqlite(path, { readOnly: true }));
      return await runCase(name, { scans: 1, rescans: 1, watches: 1, path, open }, folder);
    }
    await using server = await startPostgres();
    await using pooler = name === "pooled" ? await startPgBouncer(server, POOL_SIZE) : undefined;
    const path = `${(pooler ?? server).url}postgres`;
    const open = () => connect(`${server.url}postgres`);
    const isRight = await runCase(
      name,
      name === "killed"
        ? { scans: 0, rescans: 0, watches: 2, path, open, killed: server }
        : { scans: 2, rescans: 4, watches: 2, path, open },
      folder,
    );
    const log = await Deno.readTextFile(server.log);
    for (const [detail] of log.matchAll(/deadlock detected\n(.*\n){1,8}/g)) console.error(detail);
    return isRight;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

let right = true;
for (const name of options.cases.split(",")) right = await start(name) && right;
Deno.exit(right ? 0 : 1);
