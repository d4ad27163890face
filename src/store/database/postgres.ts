/**
 * The PostgreSQL engine, for databases that several machines share.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import {
  type BulkStatement,
  type Database,
  type Row,
  Unavailable,
  type Value,
} from "./database.ts";
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
};

/** Values of `ssl` to try in order. A later one is tried only when the server offers no encryption. */
function encryptions({ sslMode, host }: PostgresLocation, ca: string | undefined): Encryption[] {
  // `host` names the subject of the certificate: the driver sets none when it connects to an address.
  const encrypted = { rejectUnauthorized: sslMode === "verify-full", host, ...ca && { ca } };
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
/** Rows per `fetch` from a cursor. */
const FETCH_ROWS = 1000;
/** Object identifier (OID) of the type bigint in PostgreSQL. */
const BIGINT_OID = 20;

/**
 * Connects to a PostgreSQL server.
 *
 * @param shown The database's name in error messages, without a password.
 * @param rootCertificate Root certificates in PEM form, for `sslmode=verify-full`. Default: the system's.
 * @throws InputError when the server is unreachable, or refuses the connection.
 */
export async function openPostgres(
  location: PostgresLocation,
  shown: string,
  password: string | undefined,
  rootCertificate?: string,
): Promise<Database> {
  const pg = await loadDriver();
  const types = {
    getTypeParser: (id: number, format: string) =>
      id === BIGINT_OID ? Number : pg.types.getTypeParser(id, format),
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
    await server.script("set standard_conforming_strings = on");
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
  /** Whether a transaction is open. A lost connection ends the transaction: no reconnect within it. */
  #inTransaction = false;
  /** Names of prepared statements, by SQL text. */
  readonly #preparedNames = new Map<string, string>();

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
    await this.script("begin read only");
    this.#inTransaction = true;
    try {
      await this.#query({ text: `declare streamed no scroll cursor for ${numbered(sql)}`, values });
      for (;;) {
        const { rows } = await this.#query(`fetch ${FETCH_ROWS} from streamed`);
        if (rows.length === 0) return;
        yield* rows;
      }
    } finally {
      await this.#rollback();
    }
  }

  async bulk(
    { postgres, types }: BulkStatement,
    rows: readonly (readonly Value[])[],
  ): Promise<number> {
    if (rows.length === 0) return 0;
    const values = types.map((_, column) => rows.map((row) => row[column]));
    let name = this.#preparedNames.get(postgres);
    if (name === undefined) {
      name = `bulk${this.#preparedNames.size}`;
      this.#preparedNames.set(postgres, name);
    }
    return (await this.#query({ name, text: postgres, values })).rowCount ?? 0;
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.script("begin");
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

/** Replaces each `?` by `$1`, `$2`…. No statement of this program has a `?` that is no parameter. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}
