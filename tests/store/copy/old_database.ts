/** Databases of the versions 1 to 3, as earlier programs wrote them. */
import type { Database, Value } from "../../../src/store/database/database.ts";
import { scanId } from "../records.ts";
import first from "./migration1.sql" with { type: "text" };
import second from "./migration2.sql" with { type: "text" };
import third from "./migration3.sql" with { type: "text" };

const MIGRATIONS = [first, second, third];

/** Creates the tables of an old version. */
export async function createOldTables(database: Database, version: number): Promise<void> {
  await database.script("create table blocksweep_schema (version integer not null)");
  await database.run("insert into blocksweep_schema values (?)", [version]);
  for (const sql of MIGRATIONS.slice(0, version)) await database.script(sql);
}

/** Inserts a row. */
export async function insert(
  database: Database,
  table: string,
  row: Readonly<Record<string, Value>>,
): Promise<void> {
  const names = Object.keys(row);
  await database.run(
    `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
    Object.values(row),
  );
}

/** A row of an old table `servers`. */
export function oldServer(
  host: string,
  port: number,
  rest: Readonly<Record<string, Value>> = {},
): Record<string, Value> {
  return {
    id: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    host,
    port,
    protocol: "raknet",
    protocols: '["raknet"]',
    motd: "§aOld",
    flags: "[]",
    last_scan: scanId(1),
    content_hash: "0123456789abcdef",
    online: 1,
    failures: 0,
    first_seen: 1000,
    last_seen: 3000,
    last_online: 3000,
    ...rest,
  };
}

/** A row of an old table `observations`. */
export function oldObservation(
  server: string,
  at: number,
  rest: Readonly<Record<string, Value>> = {},
): Record<string, Value> {
  return {
    scan_id: scanId(1),
    server_id: server,
    round: 0,
    seen_at: at,
    online: 1,
    players_online: 3,
    players_max: 20,
    latency_ms: 1.5,
    content_hash: "0123456789abcdef",
    ...rest,
  };
}
