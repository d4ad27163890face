// deno-lint-ignore-file no-console
/**
 * Measures the cost of polls and observations in a database.
 *
 *     deno run -A bench/store_polls.ts [--servers 20000] [--rounds 5] [--engines sqlite,postgres]
 *
 * For PostgreSQL it starts a server of its own with the default settings (fsync and
 * full_page_writes are on). Polls are written as in a watch (`writePolls`, 1,000 servers per
 * transaction). The amount of WAL per poll is the difference of two LSNs, divided by the number of
 * polls. After a checkpoint, PostgreSQL logs the whole page at the first change of each page. A
 * checkpoint comes before the first round: `first` is that round alone, and `mean` all rounds. In
 * the round `other players`, the number of players of every server changes, with an observation
 * each. `HOT` is the share of updates that changed no index. The bytes per observation are the size
 * of the table with its index, divided by the number of observations. There are five observations
 * of each server for each of the `--rounds`, written in the order of time.
 */
import { emptyRecord, type ServerRecord } from "../src/core/record.ts";
import type { Database, Value } from "../src/store/database/database.ts";
import { UnconfirmedEvents } from "../src/store/writers/poll_events.ts";
import { writePolls } from "../src/store/writers/poll_writer.ts";
import { identityOf } from "../src/store/rows/identity.ts";
import { INSERT_OBSERVATION } from "../src/store/writers/observation_rows.ts";
import { newEventId } from "../src/store/rows/uuid.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { onEmptyDatabases } from "./shared/empty_databases.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";

const BATCH = 1000;
const WATCH = "00000000-0000-7000-8000-000000000001";
const START = 1_700_000_000_000;

const options = readOptions("bytes per poll and per observation", {
  servers: "20000",
  rounds: "5",
  engines: "sqlite,postgres",
});
const servers = Number(options.servers);
const rounds = Number(options.rounds);

/** The reply of a server to a poll. */
function reply(i: number, at: number, players: number): ServerRecord {
  return {
    ...emptyRecord({ address: 0x0a000000 + i, port: 19132 }, at),
    protocol: "raknet",
    protocols: ["raknet", "query"],
    edition: "bedrock",
    software: "PocketMine-MP 5.21.0",
    name: `Server number ${i}`,
    motd: `§aServer number ${i}`,
    motd_plain: `Server number ${i}`,
    version: "1.21.50",
    players_online: players,
    players_max: 100,
    latency_ms: 10 + (i * at) % 1000 / 100,
    extras: { raknet: { some: "facts" }, query: { more: "facts" } },
    scan_id: WATCH,
  };
}

/** Polls all servers once. */
async function poll(database: Database, round: number, players: number): Promise<void> {
  for (let first = 0; first < servers; first += BATCH) {
    const at = START + 60_000 * round + first;
    const records = Array.from(
      { length: Math.min(BATCH, servers - first) },
      (_, i) => reply(first + i, at, players),
    );
    const polled = records.map((record) => {
      const { host, port, name } = record;
      const subject = { host, port, requested_as: null, scan_id: WATCH, name };
      return {
        identity: identityOf(record)!,
        subject,
        record,
        outage: undefined,
        at,
        candidates: [],
      };
    });
    const isObserved = round === 0 || players > 0;
    const observations = isObserved
      ? polled.map((one) => ({ ...one, polls: 1, scanId: WATCH }))
      : [];
    const none = { writableSince: 0, optOuts: [], dropped: [], watcherEvents: [] };
    const polls = { scanId: WATCH, servers: polled, observations, ...none };
    await writePolls(database, polls, {
      allProtocols: PROTOCOLS,
      newEventId,
      unconfirmed: new UnconfirmedEvents(),
    });
  }
}

async function lsn(database: Database): Promise<number> {
  const [{ bytes }] = await database.rows(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as bytes",
  );
  return Number(bytes);
}

async function updates(database: Database): Promise<{ all: number; hot: number }> {
  await database.rows("select pg_stat_force_next_flush()").catch(() => []);
  await database.rows("select pg_stat_clear_snapshot()");
  const [{ n, hot }] = await database.rows(
    "select n_tup_upd as n, n_tup_hot_upd as hot from pg_stat_user_tables " +
      "where relname = 'server_state'",
  );
  return { all: Number(n), hot: Number(hot) };
}

/** Writes polls into PostgreSQL, and returns the lines about WAL. */
async function pollPostgres(database: Database): Promise<(string | number)[][]> {
  await poll(database, 0, 0);
  await database.script("vacuum analyze");
  await database.script("checkpoint");
  const before = await updates(database);
  const marks = [await lsn(database)];
  for (let round = 1; round <= rounds; round++) {
    await poll(database, round, 0);
    marks.push(await lsn(database));
  }
  const unchanged = await updates(database);
  await poll(database, rounds + 1, 1);
  const changed = await lsn(database);
  const share = (unchanged.hot - before.hot) / (unchanged.all - before.all);
  const bytes = (from: number, to: number, polls: number) => ((to - from) / polls).toFixed(1);
  return [
    ["WAL per unchanged poll, bytes, mean", bytes(marks[0], marks[rounds], rounds * servers)],
    ["WAL per unchanged poll, bytes, first", bytes(marks[0], marks[1], servers)],
    ["WAL per poll with other players, bytes", bytes(marks[rounds], changed, servers)],
    ["HOT updates of unchanged polls, %", (100 * share).toFixed(2)],
  ];
}

/** Writes observations of all servers in turn, and returns the size of one observation, bytes. */
async function observationBytes(database: Database): Promise<string> {
  await database.script("delete from observations");
  if (database.engine === "postgres") await database.script("vacuum full observations");
  else await database.script("vacuum");
  const size = async () => {
    const [{ bytes }] = await database.rows(
      database.engine === "postgres"
        ? "select pg_total_relation_size('observations')::bigint as bytes"
        : "select sum(pgsize) as bytes from dbstat where name = 'observations'",
    );
    return Number(bytes);
  };
  const before = await size();
  let count = 0;
  for (let round = 0; round < 5 * rounds; round++) {
    for (let first = 0; first < servers; first += BATCH) {
      const rows = Array.from({ length: Math.min(BATCH, servers - first) }, (_, i): Value[] => {
        const at = START + 60_000 * round + first + i;
        return [first + i + 1, at, 1, 1, i % 100, 100, 12.5 + i / 1000, "0123456789abcdef"];
      });
      count += rows.length;
      await database.transaction(() => database.bulk(INSERT_OBSERVATION, rows));
    }
  }
  return ((await size() - before) / count).toFixed(1);
}

async function measure(database: Database): Promise<void> {
  await createTables(database);
  const lines = database.engine === "postgres"
    ? await pollPostgres(database)
    : (await poll(database, 0, 0), []);
  lines.push(["bytes per observation", await observationBytes(database)]);
  console.log(table([database.engine, ""], lines));
}

await onEmptyDatabases(options.engines, measure);
