/**
 * A connection to a PostgreSQL server, which runs statements.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
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
import { type ServerWaits, whileResponding } from "./responding_server.ts";

/** Timeout for closing a connection, milliseconds. An unreachable server never confirms the close. */
const CLOSE_MS = 2000;
/** A smaller difference of clocks than this is not corrected, milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** Runs statements. Connects for the first one, and connects again if the connection was lost. */
export class PostgresConnection {
  #client: Client | undefined;
  /** Clients that are connecting. */
  readonly #opening = new Set<Client>();
  #isClosed = false;
  /** Whether a transaction is open. A lost connection ends the transaction: no reconnect within it. */
  protected isInTransaction = false;
  /** See `Database.clockOffsetMs`. */
  clockOffsetMs = 0;

  /**
   * @param name The database's name in error messages, without a password.
   * @param redact Removes the password from a message.
   * @param waits Limits of the waits for the server.
   */
  constructor(
    readonly name: string,
    private readonly newClient: (ssl: Encryption) => Client,
    private readonly encryptions: readonly Encryption[],
    private readonly redact: (message: string) => string,
    protected readonly waits: ServerWaits,
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
    return systemClock.wall() + this.clockOffsetMs;
  }

  /** Connects, and compares the clocks of this machine and of the server. */
  async compareClocks(): Promise<void> {
    await this.rows("select 1");
    const sent = systemClock.wall();
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
    const tookMs = systemClock.wall() - sent;
    if (tookMs < 0 || tookMs > MAX_CLOCK_DIFFERENCE_MS / 2) return; // too slow, or set meanwhile
    const difference = Math.round(now - sent - tookMs / 2);
    if (Math.abs(difference - this.clockOffsetMs) <= MAX_CLOCK_DIFFERENCE_MS) return;
    this.clockOffsetMs = Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS ? difference : 0;
  }

  /** Rolls a transaction back, unless its connection was lost. */
  protected async rollback(): Promise<void> {
    this.isInTransaction = false;
    const client = this.#client;
    if (client === undefined) return;
    try {
      await this.#queryOn(client, "rollback");
    } catch {
      this.#lose(client); // a connection that cannot roll back is lost
    }
  }

  /** Closes the connection. Statements that still run, or that follow, fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client;
    this.#isClosed = true;
    this.#client = undefined;
    for (const opening of this.#opening) opening.connection.stream.destroy();
    if (client !== undefined) await closeClient(client);
  }

  /**
   * Runs a query.
   *
   * @throws Unavailable for errors of the connection; Error for errors of the query.
   */
  protected async query(query: Parameters<Client["query"]>[0]): ReturnType<Client["query"]> {
    let client: Client | undefined;
    try {
      client = await this.#connect();
      return await this.#queryOn(client, query);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      if (error instanceof Unavailable) throw error;
      const { message, code = "" } = error as Error & { code?: string };
      // When a name has several addresses and all refuse, the driver's error has a code and no message.
      const shown = this.redact(message || code);
      // SQLSTATE codes 08… (connection), 57P… (shutdown) and 53300 (too many connections) are about
      // the connection, others about the query.
      const isQueryError = isSqlState(code) && !/^(08|57P|53300)/.test(code);
      if (isQueryError) throw new Error(shown, { cause: error });
      if (client !== undefined) this.#lose(client);
      throw new Unavailable(shown, { cause: error });
    }
  }

  #queryOn(client: Client, query: Parameters<Client["query"]>[0]): ReturnType<Client["query"]> {
    const link = {
      received: () => client.connection.stream.bytesRead,
      isReachable: (signal: AbortSignal) => this.#isReachable(signal),
    };
    return whileResponding(client.query(query), link, this.waits);
  }

  /**
   * Whether the server accepts another connection. Behind a connection pooler a statement on it might
   * wait for the one that runs, so none is sent.
   */
  async #isReachable(signal: AbortSignal): Promise<boolean> {
    let client: Client | undefined;
    const cancel = () => client?.connection.stream.destroy();
    signal.addEventListener("abort", cancel);
    try {
      await this.#openFirst((opening) => client = opening);
      return true;
    } catch (error) {
      return isSqlState((error as { code?: string }).code); // it refuses the connection
    } finally {
      signal.removeEventListener("abort", cancel);
      if (client !== undefined) await closeClient(client);
    }
  }

  /** Ends a lost connection at once. The statements that wait for it fail. */
  #lose(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    client.connection.stream.destroy();
  }

  async #connect(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#isClosed) throw new Unavailable("the connection was closed");
    if (this.isInTransaction) throw new Unavailable("the connection was lost");
    return this.#client = await this.#openFirst();
  }

  /**
   * Connects with the first kind of encryption that the server offers.
   *
   * @param onOpening Receives each client before it connects.
   */
  #openFirst(onOpening: (client: Client) => void = () => {}): Promise<Client> {
    const [first, ...others] = this.encryptions;
    return others.reduce(
      (connecting, ssl) =>
        connecting.catch((error) => {
          if (!(error as Error).message.includes(NO_ENCRYPTION)) throw error;
          return this.#open(ssl, onOpening);
        }),
      this.#open(first, onOpening),
    );
  }

  async #open(ssl: Encryption, onOpening: (client: Client) => void): Promise<Client> {
    const client = this.newClient(ssl);
    onOpening(client);
    this.#opening.add(client);
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
    } finally {
      this.#opening.delete(client);
    }
  }
}

/** Whether an error has a code of PostgreSQL. System error codes such as ECONNREFUSED start with E. */
function isSqlState(code = ""): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E");
}

/** Closes a connection. Waits at most {@linkcode CLOSE_MS} for the server to confirm. */
async function closeClient(client: Client): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([client.end().catch(() => {}), timeout]);
  clearTimeout(timer);
  client.connection.stream.destroy();
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
