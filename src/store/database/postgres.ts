/**
 * The PostgreSQL engine, for databases that several machines share.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import {
  type BulkStatement,
  ChangedMeanwhile,
  type ColumnType,
  type Database,
  MAX_ATTEMPTS,
  type Row,
  Unavailable,
  type Value,
} from "./database.ts";
import { TransactionQueue } from "./transaction_queue.ts";
import { passfileLine, type PostgresLocation } from "./postgres_url.ts";

/** The members of `pg.Client` (`npm:pg`) that this module uses. */
interface Client {
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  connect(): Promise<void>;
  query(query: string | { name?: string; text: string; values: readonly unknown[] }): Promise<{
    readonly rows: Row[];
    readonly rowCount: number | null;
  }>;
  end(): Promise<void>;
}

/** The driver's option `ssl`: `false` is an unencrypted connection. */
type Encryption = false | {
  readonly rejectUnauthorized: boolean;
  readonly host: string;
  readonly ca?: string;
  readonly checkServerIdentity?: () => undefined;
};

/** Values of `ssl` to try in order. A later one is tried only when the server offers no encryption. */
function encryptions({ sslMode, host }: PostgresLocation, ca: string | undefined): Encryption[] {
  // The certificate has to be issued for `host`. The driver sets no host if it connects to an address.
  const encrypted = {
    rejectUnauthorized: sslMode.startsWith("verify-"),
    host,
    ...ca && { ca },
    ...sslMode === "verify-ca" && { checkServerIdentity: () => undefined },
  };
  if (host.startsWith("/")) return [false]; // PostgreSQL encrypts no connections over Unix sockets
  return sslMode === "disable" ? [false] : sslMode === "prefer" ? [encrypted, false] : [encrypted];
}

/** The driver's error message when a server offers no encryption. */
const NO_ENCRYPTION = "does not support SSL";

/** A constant, not a literal in `import()`: Deno then downloads the driver only when it is loaded. */
const DRIVER = "npm:pg@8.23.1";
/** Timeout for a connection attempt, milliseconds. */
const CONNECT_MS = 10_000;
/** Timeout for closing a connection, milliseconds. An unreachable server never confirms the close. */
const CLOSE_MS = 2000;
/** Rows per `fetch` from a cursor. The widest rows have 43 KB, the bytes of a reply. */
const FETCH_ROWS = 500;
/** Object identifiers (OID) of types in PostgreSQL. */
const OID = { boolean: 16, bigint: 20, json: 114, timestamptz: 1184, jsonb: 3802 };
/** A smaller difference of clocks than this is not corrected, milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** SQLSTATE codes of serialization failures and deadlocks: the transaction may succeed when run again. */
const RETRIED = new Set(["40001", "40P01"]);
/** Maximum pause before a transaction runs again, milliseconds. It doubles with each attempt. */
const RETRY_PAUSE_MS = 5;
/**
 * Begins a transaction that writes. The settings end with the transaction. They make statements
 * read rows by their keys, in the order of the parameters, so that all writers lock rows in one
 * order. A sequential scan, which a small table may still need, then has an enormous cost for the
 * planner. It would compile such a statement (60 ms), so JIT is off. The transaction gets its
 * number before it reads, so that other programs can wait for its end.
 */
const BEGIN = "begin; set local enable_hashjoin = off; set local enable_mergejoin = off; " +
  "set local enable_seqscan = off; set local jit = off; select pg_current_xact_id()";

/**
 * Connects to a PostgreSQL server.
 *
 * @param shown The database's name in error messages, without a password.
 * @param rootCertificate Root certificates in PEM form, for `sslmode=verify-ca` and `verify-full`. Default: the system's.
 * @throws InputError when the server is unreachable, or refuses the connection.
 */
export async function openPostgres(
  location: PostgresLocation,
  shown: string,
  password: string | undefined,
  rootCertificate?: string,
): Promise<Database> {
  const pg = await loadDriver();
  const parseTime = pg.types.getTypeParser(OID.timestamptz, "text");
  const parsers: Readonly<Record<number, (text: string) => Value>> = {
    [OID.bigint]: Number,
    [OID.boolean]: (text) => text === "t" ? 1 : 0,
    [OID.timestamptz]: (text) => Number(parseTime(text)),
    [OID.json]: String,
    [OID.jsonb]: String,
  };
  const types = {
    getTypeParser: (id: number, format: string) =>
      parsers[id] ?? pg.types.getTypeParser(id, format),
  };
  const { host, port, database, user } = location;
  const newClient = (ssl: Encryption) =>
    new pg.Client({
      host,
      port,
      database,
      user,
      types,
      ssl,
      // A function, because the driver reads password files itself when `password` is null.
      password: () => password ?? "",
      connectionTimeoutMillis: CONNECT_MS,
      application_name: "blocksweep",
      keepAlive: true,
    });
  // No message of the driver or the server is known to contain the password. This is a second guard.
  const redact = (message: string) =>
    password === undefined || password.length < 4 ? message : message.replaceAll(password, "…");
  const server = new Postgres(shown, newClient, encryptions(location, rootCertificate), redact);
  try {
    await server.compareClocks();
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw connectionError(error as Error, location, shown, password);
  }
}

/** The error for a failed connection, with advice when no password was given. */
function connectionError(
  error: Error,
  location: PostgresLocation,
  shown: string,
  password: string | undefined,
): Error {
  if (error instanceof Deno.errors.NotCapable) return error;
  const { message } = error;
  const lacksPassword = !password && /password/i.test(message); // the driver's message gives no advice
  const reason = lacksPassword
    ? `no password: set PGPASSWORD, or write ${passfileLine(location)} into ~/.pgpass (PGPASSFILE)`
    : message;
  return new InputError(`Cannot open ${shown}: ${reason}`);
}

// deno-lint-ignore no-explicit-any -- the driver has no types; the interface Client lists what is used
async function loadDriver(): Promise<any> {
  try {
    return (await import(DRIVER)).default;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot load ${DRIVER}: ${(error as Error).message.split("\n")[0]}`);
  }
}

class Postgres implements Database {
  readonly engine = "postgres";
  #client: Client | undefined;
  readonly #queue = new TransactionQueue();
  /** Whether a {@linkcode snapshot} is open: streams then read in its transaction. */
  #inSnapshot = false;
  /** Whether a transaction is open. A lost connection ends the transaction: no reconnect within it. */
  #inTransaction = false;
  /** See {@linkcode Database.clockOffsetMs}. */
  clockOffsetMs = 0;

  constructor(
    readonly name: string,
    private readonly newClient: (ssl: Encryption) => Client,
    private readonly encryptions: readonly Encryption[],
    private readonly redact: (message: string) => string,
  ) {}

  async script(sql: string): Promise<void> {
    await this.#query(sql);
  }

  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    return (await this.#query({ text: numbered(sql), values })).rowCount ?? 0;
  }

  async rows(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return (await this.#query({ text: numbered(sql), values })).rows;
  }

  async *stream(sql: string, values: readonly Value[] = []): AsyncIterable<Row> {
    using turn = this.#inSnapshot ? undefined : await this.#queue.begin();
    const isInSnapshot = turn === undefined;
    if (!isInSnapshot) {
      await this.script("begin read only");
      this.#inTransaction = true;
    }
    try {
      await this.#query({ text: `declare streamed no scroll cursor for ${numbered(sql)}`, values });
      for (;;) {
        const { rows } = await this.#query(`fetch ${FETCH_ROWS} from streamed`);
        if (rows.length === 0) break;
        yield* rows;
      }
      if (isInSnapshot) await this.script("close streamed");
    } finally {
      if (!isInSnapshot) await this.#rollback();
    }
  }

  async snapshot<T>(work: () => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    await this.script("begin isolation level repeatable read read only");
    this.#inTransaction = this.#inSnapshot = true;
    try {
      return await work();
    } finally {
      this.#inSnapshot = false;
      await this.#rollback();
    }
  }

  async bulk(
    { postgres, types }: BulkStatement,
    rows: readonly (readonly Value[])[],
  ): Promise<number> {
    if (rows.length === 0) return 0;
    const values = types.map((type, column) => rows.map((row) => parameterOf(type, row[column])));
    // The statement has no name: behind a connection pooler each transaction may use another
    // connection, on which a named statement would be unknown.
    return (await this.#query({ text: postgres, values })).rowCount ?? 0;
  }

  now(): number {
    return Date.now() + this.clockOffsetMs;
  }

  /** Connects, and compares the clocks of this machine and of the server. */
  async compareClocks(): Promise<void> {
    await this.rows("select 1");
    const sent = Date.now();
    const [{ now }] = await this.rows("select clock_timestamp() as now");
    const difference = Math.round(Number(now) - (sent + Date.now()) / 2);
    this.clockOffsetMs = Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS ? difference : 0;
  }

  async transaction<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#transactionOnce(() => work(attempt));
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isRetried(error)) throw error;
      }
      const pauseMs = RETRY_PAUSE_MS * 2 ** attempt * Math.random();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async #transactionOnce<T>(work: () => Promise<T>): Promise<T> {
    await this.script(BEGIN);
    this.#inTransaction = true;
    try {
      const result = await work();
      await this.script("commit");
      this.#inTransaction = false;
      return result;
    } catch (error) {
      await this.#rollback();
      throw error;
    }
  }

  /** Does nothing: the server syncs each commit before it confirms the commit. */
  flush(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await closeClient(client);
  }

  /** Rolls a transaction back, unless its connection was lost. */
  async #rollback(): Promise<void> {
    this.#inTransaction = false;
    try {
      await this.#client?.query("rollback");
    } catch {
      this.#client = undefined; // a connection that cannot roll back is lost
    }
  }

  /**
   * Runs a query. Opens a new connection when the last one was lost.
   *
   * @throws Unavailable for errors of the connection; Error for errors of the query.
   */
  async #query(query: Parameters<Client["query"]>[0]): ReturnType<Client["query"]> {
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
    if (this.#inTransaction) throw new Unavailable("the connection was lost");
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
      await closeClient(client); // a refused connection may still hold its socket
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

/** Whether a transaction that ended with this error may succeed when it runs again. */
function isRetried(error: unknown): boolean {
  const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
  return error instanceof ChangedMeanwhile || RETRIED.has(code);
}

/** The form in which the driver sends a value of a bulk statement. */
function parameterOf(type: ColumnType, value: Value): Value {
  if (value === null) return null;
  if (type === "timestamptz") return new Date(value as number).toISOString();
  return type === "bytea" ? `\\x${value}` : value;
}

/** Replaces each `?` by `$1`, `$2`…. In statements of this program, each `?` is a parameter. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}
