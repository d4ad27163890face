/**
 * Reads rows of the old tables in batches, with the numbers that servers and scans get in the target.
 *
 * @module
 */
import type { Database, Row, Value } from "../database/database.ts";
import { storableTime, storableUuid } from "../rows/stored_values.ts";
import { canonicalValue, type CopiedTable, type Position } from "./copied_table.ts";

/** Rows per batch. The widest rows have replies of 43 KB. */
const BATCH = 500;

/** A query of an old table. */
export interface OldQuery {
  readonly from: string;
  readonly select: string;
  /** The key by which the rows are ordered: SQL, name in the result, type in PostgreSQL. */
  readonly key: readonly (readonly [sql: string, name: string, type: "bigint" | "text"])[];
  /** SQL of a condition. Default: all rows. */
  readonly where?: string;
}

/** A value that was read, and its place. */
interface Reader {
  /** Number of rows that were left out since the last read from the start. */
  readonly leftOut: () => number;
  /** Reads rows; `convert` returns `undefined` for a row that is left out. */
  readonly batches: <T>(
    after: Position | undefined,
    convert: (row: Row) => T | undefined,
  ) => AsyncIterable<readonly T[]>;
}

/** SQL that orders text by code point. */
export function byCodePoint({ engine }: Database, sql: string): string {
  return engine === "postgres" ? `${sql} collate "C"` : sql;
}

/** SQL of the old servers with their numbers in the target: `number`, `old_id` and `host`. */
export function numberedServers(source: Database): string {
  return "(select id as old_id, host, row_number() over " +
    `(order by coalesce(last_online, 0) desc, ${
      byCodePoint(source, "id")
    }) as number from servers)`;
}

/** Reads the rows of a query in batches. */
export function oldBatches(source: Database, { from, select, key, where }: OldQuery): Reader {
  const ordered = key.map(([sql, , type]) => type === "text" ? byCodePoint(source, sql) : sql);
  const parameters = key.map(([, , type]) => source.engine === "postgres" ? `?::${type}` : "?");
  const isAfter = `(${ordered.join(", ")}) > (${parameters.join(", ")})`;
  let leftOut = 0;
  return {
    leftOut: () => leftOut,
    async *batches<T>(after: Position | undefined, convert: (row: Row) => T | undefined) {
      leftOut = 0;
      const conditions = [where, after && isAfter].filter((one) => one !== undefined);
      const filter = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
      const sql = `select ${select} from ${from}${filter} order by ${ordered.join(", ")}`;
      let batch: T[] = [];
      for await (const row of source.stream(sql, after)) {
        const converted = convert(row);
        if (converted === undefined) leftOut++;
        else if (batch.push(converted) >= BATCH) {
          yield batch;
          batch = [];
        }
      }
      if (batch.length > 0) yield batch;
    },
  };
}

/** The scans of an old database: those with a row, and those that other rows refer to. */
export class OldScans {
  private constructor(private readonly numbers: ReadonlyMap<string, number>) {}

  /** Reads the identities of all scans. */
  static async read(source: Database): Promise<OldScans> {
    const rows = await source.rows(
      "select id from scans union select scan_id from observations union select last_scan from servers",
    );
    const uuids = rows.map(({ id }) => id === null ? null : String(id))
      .filter((id) => id !== null && storableUuid(id) === id);
    return new OldScans(new Map(uuids.sort().map((uuid, i) => [uuid!, i + 1])));
  }

  /** `scans.id` in the target; `undefined` for an identity that is not a UUID. */
  numberOf(uuid: Value): number | undefined {
    return this.numbers.get(String(uuid));
  }

  /** The table `scans`. */
  table(source: Database): CopiedTable {
    const { numbers } = this;
    return {
      name: "scans",
      columns: [
        ["id", "integer"],
        ["uuid", "uuid"],
        ["kind", "text"],
        ["state", "text"],
        ["started_at", "timestamptz"],
        ["finished_at", "timestamptz"],
        ["shards", "integer"],
        ["config", "jsonb"],
        ["probes_sent", "bigint"],
        ["replies", "bigint"],
        ["found", "bigint"],
      ],
      leftOut: () => 0,
      async *rows(after) {
        const rows = await source.rows("select * from scans");
        const known = new Map(rows.map((row) => [String(row.id), row]));
        const all = [...numbers].map(([uuid, number]) => ({
          position: [number],
          values: scanValues(number, uuid, known.get(uuid)),
        }));
        yield all.filter(({ position: [number] }) => number > Number(after?.[0] ?? 0));
      },
    };
  }
}

function scanValues(number: number, uuid: string, row: Row | undefined): Value[] {
  if (row === undefined) {
    return [number, uuid, "import", "finished", null, null, 1, "{}", 0, 0, 0];
  }
  return [
    number,
    uuid,
    row.kind,
    row.state,
    storableTime(Number(row.started_at)),
    row.finished_at === null ? null : storableTime(Number(row.finished_at)),
    row.shards,
    canonicalValue(["config", "jsonb"], row.config, "scans"),
    row.probes_sent,
    row.replies,
    row.found,
  ];
}
