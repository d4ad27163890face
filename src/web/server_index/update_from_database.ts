/**
 * Makes the server index of a database, and keeps it up to date.
 *
 * @module
 */
import {
  type Database,
  isInList,
  listValue,
  type Row,
  timeParameter,
  type Value,
} from "../../store/database/database.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import { newServerIndex, type ServerIndexMemory } from "./server_index.ts";
import {
  INDEXED_STATE_COLUMNS,
  indexedServerColumns,
  ServerIndexWriter,
} from "./server_index_writer.ts";

/** Number of servers that are read at once. Between two reads, other work of the thread runs. */
const PAGE = 200;
/** Number of states that are read at once. */
const STATES = 2000;
/** A server index has room for this many further servers, and for a quarter more. */
const SPARE = 20_000;
/**
 * Changes are read again for this long: a transaction may commit later than its time, and clocks
 * of programs differ.
 */
const OVERLAP_MS = 5_000;

const FROM = "from servers s join server_state t on t.server = s.id";

/** The server index of a database. */
export class DatabaseIndex {
  /** The newest `servers.changed_at` that was read. */
  #changedAt = 0;

  private constructor(private readonly writer: ServerIndexWriter) {}

  /** Makes the server index of a database that has an identity. */
  static async of(
    database: Database,
    geoipOf: GeoipLookup,
    identity: string,
  ): Promise<DatabaseIndex> {
    const [{ n }] = await database.rows("select count(*) as n from server_state");
    const capacity = Math.ceil(1.25 * Number(n)) + SPARE;
    const serverIndex = new DatabaseIndex(
      new ServerIndexWriter(newServerIndex(identity, capacity), geoipOf),
    );
    await serverIndex.readAll(database);
    return serverIndex;
  }

  get memory(): ServerIndexMemory {
    return this.writer.memory;
  }

  /** Whether there is no room: a new server index has to be made. */
  get isFull(): boolean {
    return this.writer.isFull;
  }

  async readAll(database: Database): Promise<void> {
    for (let last = 0;;) {
      // PostgreSQL merges both tables by their keys, and would read the states from the first one
      // on.
      const isLater = `s.id > ? and t.server > ? order by s.id limit ${PAGE}`;
      const rows = await this.#read(database, isLater, [last, last]);
      if (rows.length < PAGE) break;
      last = Number(rows.at(-1)!.id);
    }
  }

  /** Reads the servers that changed since the last call. */
  async readChanges(database: Database): Promise<void> {
    const time = timeParameter(database);
    let [at, id] = [Math.max(0, this.#changedAt - OVERLAP_MS), 0];
    for (;;) {
      const rows = await this.#read(
        database,
        `(s.changed_at, s.id) > (${time}, ?) order by s.changed_at, s.id limit ${PAGE}`,
        [at, id],
      );
      if (rows.length < PAGE) break;
      [at, id] = [Number(rows.at(-1)!.changed_at), Number(rows.at(-1)!.id)];
    }
  }

  /**
   * Reads the states of all servers, and the servers that are new; marks those that were removed.
   */
  async readStates(database: Database): Promise<void> {
    const { writer } = this;
    for (let last = 0;;) {
      const rows = await database.rows(
        `select t.server as id, ${INDEXED_STATE_COLUMNS} from server_state t where t.server > ? ` +
          `order by t.server limit ${STATES}`,
        [last],
      );
      const isEnd = rows.length < STATES;
      const end = isEnd ? Infinity : Number(rows.at(-1)!.id);
      let missing: number[] = [];
      writer.change(() => missing = writer.writeStates(rows, last, end));
      if (missing.length > 0) {
        const list = listValue(database, missing);
        await this.#read(database, isInList(database, "s.id", "integer"), [list]);
      }
      if (isEnd) return;
      last = end;
    }
  }

  /** Reads servers that fulfil a condition, and writes them into the server index. */
  async #read(
    database: Database,
    condition: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    const rows = await database.rows(
      `select ${
        indexedServerColumns(database)
      }, ${INDEXED_STATE_COLUMNS} ${FROM} where ${condition}`,
      values,
    );
    if (rows.length === 0) return rows;
    this.writer.change(() => {
      for (const row of rows) {
        this.writer.write(row);
        this.#changedAt = Math.max(this.#changedAt, Number(row.changed_at));
      }
    });
    return rows;
  }
}
