/**
 * The PostgreSQL engine, for databases that several machines share.
 *
 * @module
 */
import { sleep } from "../../net/clock.ts";
import { InputError } from "../../core/errors.ts";
import { ChangedMeanwhile, type Database, MAX_ATTEMPTS, type Row, type Value } from "./database.ts";
import { numbered, PostgresConnection } from "./postgres_connection.ts";
import { clientsOf, encryptions } from "./postgres_driver.ts";
import { passfileLine, type PostgresLocation } from "./postgres_url.ts";
import { SERVER_WAITS, type ServerWaits } from "./responding_server.ts";
import { TransactionQueue } from "./transaction_queue.ts";

/** Rows per `fetch` from a cursor. The widest rows have 128 KiB, an icon as hexadecimal text. */
const FETCH_ROWS = 500;
/** SQLSTATE codes of serialization failures and deadlocks: the transaction may succeed when run again. */
const RETRIED = new Set(["40001", "40P01"]);
/** Maximum pause before a transaction runs again, milliseconds. It doubles with each attempt. */
const RETRY_PAUSE_MS = 5;
/**
 * Begins a transaction that writes. The settings end with the transaction. They make statements
 * read rows by their keys, in the order of the parameters, so that all writers lock rows in one
 * order. A sequential scan, which a small table may still need, then has an enormous cost for the
 * planner. PostgreSQL would compile such a statement (60 ms), so JIT is off. The transaction gets
 * its number before it reads, so that other programs can wait for its end. The last result has the
 * time of the server.
 */
const BEGIN = "begin; set local enable_hashjoin = off; set local enable_mergejoin = off; " +
  "set local enable_seqscan = off; set local jit = off; " +
  "select pg_current_xact_id(), clock_timestamp() as now";

/**
 * Connects to a PostgreSQL server.
 *
 * @param shown The database's name in error messages, without a password.
 * @param rootCertificate Root certificates in PEM form, for `sslmode=verify-ca` and `verify-full`. Default: the system's.
 * @param waits Limits of the waits for the server. Default: 15 s in all.
 * @throws InputError when the server is unreachable, or refuses the connection.
 */
export async function openPostgres(
  location: PostgresLocation,
  shown: string,
  password: string | undefined,
  rootCertificate?: string,
  waits: ServerWaits = SERVER_WAITS,
): Promise<Database> {
  // No message of the driver or the server is known to contain the password. This is a second guard.
  const redact = (message: string) =>
    password === undefined || password.length < 4 ? message : message.replaceAll(password, "…");
  const newClient = await clientsOf(location, password, waits.connectMs);
  const encrypted = encryptions(location, rootCertificate);
  const server = new Postgres(shown, newClient, encrypted, redact, waits);
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

/** Runs transactions one after the other on one connection. */
class Postgres extends PostgresConnection implements Database {
  readonly engine = "postgres";
  readonly #queue = new TransactionQueue();
  /** Whether a {@linkcode snapshot} is open: streams then read in its transaction. */
  #isInSnapshot = false;

  async *stream(sql: string, values: readonly Value[] = []): AsyncIterable<Row> {
    using turn = this.#isInSnapshot ? undefined : await this.#queue.begin();
    const isInSnapshot = turn === undefined;
    if (!isInSnapshot) {
      await this.script("begin read only");
      this.isInTransaction = true;
    }
    try {
      await this.query({ text: `declare streamed no scroll cursor for ${numbered(sql)}`, values });
      for (;;) {
        const { rows } = await this.query(`fetch ${FETCH_ROWS} from streamed`);
        if (rows.length === 0) break;
        yield* rows;
      }
      if (isInSnapshot) await this.script("close streamed");
    } finally {
      if (!isInSnapshot) await this.rollback();
    }
  }

  async snapshot<T>(work: () => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    await this.script("begin isolation level repeatable read read only");
    this.isInTransaction = this.#isInSnapshot = true;
    try {
      return await work();
    } finally {
      this.#isInSnapshot = false;
      await this.rollback();
    }
  }

  async transaction<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#transactionOnce(() => work(attempt));
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isRetried(error)) throw error;
      }
      const { clock, random } = this.waits;
      await sleep(clock, RETRY_PAUSE_MS * 2 ** attempt * random());
    }
  }

  async #transactionOnce<T>(work: () => Promise<T>): Promise<T> {
    const sent = this.waits.clock.wall();
    // The driver returns a result for each statement.
    const results = await this.query(BEGIN) as unknown as readonly { readonly rows: Row[] }[];
    this.isInTransaction = true;
    this.compareClock(Number(results.at(-1)!.rows[0].now), sent);
    try {
      const result = await work();
      await this.script("commit");
      this.isInTransaction = false;
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /** Does nothing: the server syncs each commit before it confirms the commit. */
  flush(): Promise<void> {
    return Promise.resolve();
  }
}

/** Whether a transaction that ended with this error may succeed when it runs again. */
function isRetried(error: unknown): boolean {
  const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
  return error instanceof ChangedMeanwhile || RETRIED.has(code);
}
