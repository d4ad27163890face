/**
 * The other tables of the versions 1 to 3, besides servers and scans: observations, shards,
 * attachments, opt-outs.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../../core/address.ts";
import type { ColumnDefinition, Database, Row } from "../database/database.ts";
import { storable, storableCount, storableTime } from "../rows/stored_values.ts";
import type { CopiedRow, CopiedTable } from "./copied_table.ts";
import { numberedServers, oldBatches, type OldQuery, type OldScans } from "./old_rows.ts";

/**
 * The tables other than those of servers and scans. Version 1 has no attachments, version 2 no
 * opt-outs.
 */
export async function otherOldTables(source: Database, scans: OldScans): Promise<CopiedTable[]> {
  const [{ version }] = await source.rows("select version from blocksweep_schema");
  return [
    shardsTable(source, scans),
    observationsTable(source, scans),
    ...(Number(version) >= 2 ? [iconsTable(source), repliesTable(source)] : []),
    ...(Number(version) >= 3 ? [optOutsTable(source)] : []),
  ];
}

/** A table whose rows are converted one by one. `convert` returns `undefined` for a row that is left out. */
function tableOf(
  source: Database,
  table: { readonly name: string; readonly columns: readonly ColumnDefinition[] },
  query: OldQuery,
  convert: (row: Row) => CopiedRow["values"] | undefined,
): CopiedTable {
  const read = oldBatches(source, query);
  const withPosition = (row: Row): CopiedRow | undefined => {
    const values = convert(row);
    return values && { values, position: query.key.map(([, name]) => row[name]) };
  };
  return { ...table, leftOut: read.leftOut, rows: (after) => read.batches(after, withPosition) };
}

/**
 * Whether a row is left out, because its server is missing, or the host of the server is not an
 * address.
 */
function hasNoAddress({ host }: Row): boolean {
  return host === null || parseAddress(String(host).split("%", 1)[0]) === undefined;
}

function shardsTable(source: Database, scans: OldScans): CopiedTable {
  const columns: readonly ColumnDefinition[] = [
    ["scan", "integer"],
    ["shard", "integer"],
    ["done_at", "timestamptz"],
    ["probes_sent", "bigint"],
    ["replies", "bigint"],
  ];
  const query: OldQuery = {
    from: "scan_shards",
    select: "*",
    key: [["scan_id", "scan_id", "text"], ["shard", "shard", "bigint"]],
  };
  return tableOf(source, { name: "scan_shards", columns }, query, (row) => {
    const scan = scans.numberOf(row.scan_id);
    if (scan === undefined) return undefined;
    return [scan, row.shard, storableTime(Number(row.done_at)) ?? 0, row.probes_sent, row.replies];
  });
}

function observationsTable(source: Database, scans: OldScans): CopiedTable {
  const columns: readonly ColumnDefinition[] = [
    ["at", "timestamptz"],
    ["server", "integer"],
    ["scan", "integer"],
    ["latency_ms", "double precision"],
    ["players_online", "integer"],
    ["players_max", "integer"],
    ["online", "boolean"],
    ["content", "bytea"],
  ];
  const query: OldQuery = {
    from: `observations o left join ${numberedServers(source)} n on n.old_id = o.server_id`,
    select: "n.number, n.host, o.*",
    key: [
      ["n.number", "number", "bigint"],
      ["o.seen_at", "seen_at", "bigint"],
      ["o.scan_id", "scan_id", "text"],
    ],
    // If a watch has several observations of a server at one time, the one with the highest `round`
    // is copied.
    where: "not exists (select 1 from observations p where p.server_id = o.server_id and " +
      "p.seen_at = o.seen_at and p.scan_id = o.scan_id and p.round > o.round)",
  };
  return tableOf(source, { name: "observations", columns }, query, (row) => {
    const [at, scan] = [storableTime(Number(row.seen_at)), scans.numberOf(row.scan_id)];
    if (at === null || scan === undefined || hasNoAddress(row)) return undefined;
    const [online, max] = [row.players_online, row.players_max].map((count) =>
      storableCount(count as number | null)
    );
    const content = String(row.content_hash);
    const hash = /^[0-9a-f]{16}$/.test(content) ? content : null;
    return [at, row.number, scan, row.latency_ms, online, max, row.online, hash];
  });
}

function iconsTable(source: Database): CopiedTable {
  const columns: readonly ColumnDefinition[] = [
    ["hash", "text"],
    ["data", "text"],
    ["first_seen", "timestamptz"],
  ];
  const query: OldQuery = { from: "favicons", select: "*", key: [["hash", "hash", "text"]] };
  return tableOf(source, { name: "favicons", columns }, query, (row) => [
    storable(String(row.hash)),
    storable(String(row.data)),
    storableTime(Number(row.first_seen)) ?? 0,
  ]);
}

function repliesTable(source: Database): CopiedTable {
  const columns: readonly ColumnDefinition[] = [
    ["server", "integer"],
    ["protocol", "text"],
    ["seen_at", "timestamptz"],
    ["size", "integer"],
    ["data", "text"],
  ];
  const query: OldQuery = {
    from: `replies r left join ${numberedServers(source)} n on n.old_id = r.server_id`,
    select: "n.number, n.host, r.*",
    key: [["n.number", "number", "bigint"], ["r.protocol", "protocol", "text"]],
  };
  return tableOf(source, { name: "replies", columns }, query, (row) => {
    if (hasNoAddress(row)) return undefined;
    const [protocol, data] = [storable(String(row.protocol)), storable(String(row.data))];
    return [row.number, protocol, storableTime(Number(row.seen_at)) ?? 0, row.size, data];
  });
}

function optOutsTable(source: Database): CopiedTable {
  const columns: readonly ColumnDefinition[] = [["address", "inet"], ["noted_at", "timestamptz"]];
  const query: OldQuery = { from: "opt_outs", select: "*", key: [["host", "host", "text"]] };
  return tableOf(source, { name: "opt_outs", columns }, query, (row) => {
    const address = parseAddress(String(row.host));
    if (address === undefined) return undefined;
    return [formatAddress(address), storableTime(Number(row.noted_at)) ?? 0];
  });
}
