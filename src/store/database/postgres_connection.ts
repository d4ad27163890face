/**
 * A connection to a PostgreSQL server, which runs statements.
 *
 * @module
 */
import {
  type BulkRows,
  type BulkStatement,
  type BulkValue,
  type ColumnType,
  type Row,
  Unavailable,
  type Value,
} from "./database.ts";
import { type Client, type Encryption, NO_ENCRYPTION } from "./postgres_driver.ts";

/** Timeout for closing a connection, milliseconds. An unreachable server never confirms the close. */
const CLOSE_MS = 2000;
/** A smaller difference of clocks than this is not corrected, milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** Runs statements. Connects for the first one, and connects again if the connection was lost. */
export class PostgresConnection {
  #client: Client | undefined;
  /** Whether a transaction is open. A lost connection ends the transaction: no reconnect within it. */
  protected isInTransaction = false;
  /** See `Database.clockOffsetMs`. */
  clockOffsetMs = 0;

  /**
   * @param name The database's name in error messages, without a password.
   * @param redact Removes the password from a message.
   */
  constructor(
    readonly name: string,
    private readonly newClient: (ssl: Encryption) => Client,
    private readonly encryptions: readonly Encryption[],
    private readonly redact: (message: string) => string,
  ) {}

  async script(sql: string): Promise<void> {
    await this.query(sql);
  }

  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    return (await this.query({ text: numbered(sql), values })).rowCount ?? 0;
  }

  async rows(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return (await this.query({ text: numbered(sql), values })).rows;
  }

  async bulk({ postgres, types }: BulkStatement, rows: BulkRows): Promise<number> {
    if (rows.length === 0) return 0;
    return (await this.query({ text: postgres, values: arraysOf(types, rows) })).rowCount ?? 0;
  }

  async insert(
    { postgres, types }: BulkStatement,
    rows: BulkRows,
  ): Promise<(number | undefined)[]> {
    if (rows.length === 0) return [];
    const text = `${postgres} returning key, id`;
    const inserted = await this.query({ text, values: arraysOf(types, rows) });
    const ids = new Map<BulkValue, number>(inserted.rows.map(({ key, id }) => [key, Number(id)]));
    return rows.map(([key]) => ids.get(key));
  }

  now(): number {
    return Date.now() + this.clockOffsetMs;
  }

  /** Connects, and compares the clocks of this machine and of the server. */
  async compareClocks(): Promise<void> {
    await this.rows("select 1");
    const sent = Date.now();
    const [{ now }] = await this.rows("select clock_timestamp() as now");
    this.compareClock(Number(now), sent);
  }

  /**
   * Corrects {@linkcode clockOffsetMs} if it is wrong by more than a minute, because the clock of
   * this machine or of the server was set.
   *
   * @param now The time of the server in its reply, Unix milliseconds.
   * @param sent When the query was sent, by the clock of this machine.
   */
  protected compareClock(now: number, sent: number): void {
    const tookMs = Date.now() - sent;
    if (tookMs < 0 || tookMs > MAX_CLOCK_DIFFERENCE_MS / 2) return; // too slow, or set meanwhile
    const difference = Math.round(now - sent - tookMs / 2);
    if (Math.abs(difference - this.clockOffsetMs) <= MAX_CLOCK_DIFFERENCE_MS) return;
    this.clockOffsetMs = Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS ? difference : 0;
  }

  /** Rolls a transaction back, unless its connection was lost. */
  protected async rollback(): Promise<void> {
    this.isInTransaction = false;
    try {
      await this.#client?.query("rollback");
    } catch {
      this.#client = undefined; // a connection that cannot roll back is lost
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await closeClient(client);
  }

  /**
   * Runs a query.
   *
   * @throws Unavailable for errors of the connection; Error for errors of the query.
   */
  protected async query(query: Parameters<Client["query"]>[0]): ReturnType<Client["query"]> {
    try {
      const client = await this.#connect();
      return await client.query(query);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      if (error instanceof Unavailable) throw error;
      const { message, code = "" } = error as Error & { code?: string };
      // When a name has several addresses and all refuse, the driver's error has a code and no message.
      const shown = this.redact(message || code);
      // SQLSTATE codes 08… (connection), 57P… (shutdown) and 53300 (too many connections) are about
      // the connection, others about the query. System error codes such as ECONNREFUSED start with E.
      const isSqlState = /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E");
      const isQueryError = isSqlState && !/^(08|57P|53300)/.test(code);
      if (isQueryError) throw new Error(shown, { cause: error });
      this.#client = undefined;
      throw new Unavailable(shown, { cause: error });
    }
  }

  async #connect(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.isInTransaction) throw new Unavailable("the connection was lost");
    const [first, ...others] = this.encryptions;
    return this.#client = await others.reduce(
      (connecting, ssl) =>
        connecting.catch((error) => {
          if (!(error as Error).message.includes(NO_ENCRYPTION)) throw error;
          return this.#open(ssl);
        }),
      this.#open(first),
    );
  }

  async #open(ssl: Encryption): Promise<Client> {
    const client = this.newClient(ssl);
    const onLost = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", onLost);
    client.on("end", onLost);
    try {
      await client.connect();
      return client;
    } catch (error) {
      await closeClient(client); // the socket of a refused connection may still be open
      throw error;
    }
  }
}

/** Closes a connection. Waits at most {@linkcode CLOSE_MS} for the server to confirm. */
async function closeClient(client: Client): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([client.end().catch(() => {}), timeout]);
  clearTimeout(timer);
}

/**
 * The parameters of a bulk statement: one array per column. Such statements have no name: behind a
 * connection pooler each transaction may use another connection, on which a named statement would be
 * unknown.
 */
function arraysOf(types: readonly ColumnType[], rows: BulkRows): BulkValue[][] {
  return types.map((type, column) => rows.map((row) => parameterOf(type, row[column])));
}

/** The form in which the driver sends a value of a bulk statement. */
function parameterOf(type: ColumnType, value: BulkValue): BulkValue {
  if (value === null) return null;
  if (type === "timestamptz") return new Date(value as number).toISOString();
  return type === "bytea" && typeof value === "string" ? `\\x${value}` : value;
}

/** Replaces each `?` by `$1`, `$2`…. In statements of this program, each `?` is a parameter. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}
