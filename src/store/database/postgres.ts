/**
 * PostgreSQL: the store that several machines share.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { type Bulk, type Database, type Row, Unavailable, type Value } from "./database.ts";
import { lineFor, type PostgresPlace } from "./postgres_url.ts";

/** What is used of `npm:pg`. */
interface Client {
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  connect(): Promise<void>;
  query(query: string | { name?: string; text: string; values: readonly unknown[] }): Promise<{
    readonly rows: Row[];
    readonly rowCount: number | null;
  }>;
  end(): Promise<void>;
}

/** What the driver is told of encryption. */
type Encryption = false | {
  readonly rejectUnauthorized: boolean;
  readonly host: string;
  readonly ca?: string;
};

/** How to connect, one after the other: the next where the server does not offer the one before. */
function encryptions({ sslMode, host }: PostgresPlace, ca: string | undefined): Encryption[] {
  // Of an address, the driver would not say whose certificate it has to be.
  const encrypted = { rejectUnauthorized: sslMode === "verify-full", host, ...ca && { ca } };
  return sslMode === "disable" ? [false] : sslMode === "prefer" ? [encrypted, false] : [encrypted];
}

/** What the driver says where a server offers no encryption. */
const UNENCRYPTED = "does not support SSL";

/** A name of its own, so that it is fetched by those alone who use PostgreSQL. */
const DRIVER = "npm:pg@8.23.1";
/** How long to wait for a connection, milliseconds. */
const CONNECT_MS = 10_000;
/** How long to wait for the end of one, milliseconds: a server that went away confirms none. */
const END_MS = 2000;
/** Rows that are fetched at a time. */
const FETCH = 1000;
/** PostgreSQL's number for bigint. */
const BIGINT = 20;

/**
 * Connects to a server.
 *
 * @param shown How errors name it.
 * @param rootCertificate What the file holds that vouches for the server.
 * @throws InputError when it cannot be reached, or refuses.
 */
export async function openPostgres(
  place: PostgresPlace,
  shown: string,
  password: string | undefined,
  rootCertificate?: string,
): Promise<Database> {
  const pg = await loadDriver();
  const types = {
    getTypeParser: (id: number, format: string) =>
      id === BIGINT ? Number : pg.types.getTypeParser(id, format),
  };
  const { host, port, database, user } = place;
  const newClient = (ssl: Encryption) =>
    new pg.Client({
      ...{ host, port, database, user, types, ssl },
      // A function: of null, the driver would look for passwords by itself.
      password: () => password ?? "",
      connectionTimeoutMillis: CONNECT_MS,
      application_name: "blocksweep",
      keepAlive: true,
    });
  // No message of driver or server is known to hold it; if one does, it is not passed on.
  const hide = (message: string) =>
    password === undefined || password.length < 4 ? message : message.replaceAll(password, "…");
  const server = new Postgres(shown, newClient, encryptions(place, rootCertificate), hide);
  try {
    await server.script("set standard_conforming_strings = on");
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { message } = error as Error;
    const isUnnamed = !password && /password/i.test(message); // the driver's words name no remedy
    const why = isUnnamed
      ? `no password: set PGPASSWORD, or write ${lineFor(place)} into ~/.pgpass (PGPASSFILE)`
      : message;
    throw new InputError(`Cannot open ${shown}: ${why}`);
  }
}

// deno-lint-ignore no-explicit-any -- it has no types; what is used of it is Client
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
  /** Whether a transaction runs: it ends with its connection, and none follows it into another. */
  #within = false;
  readonly #names = new Map<string, string>();

  constructor(
    readonly name: string,
    private readonly newClient: (ssl: Encryption) => Client,
    private readonly encryptions: readonly Encryption[],
    private readonly hide: (message: string) => string,
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
    this.#within = true;
    try {
      await this.#query({ text: `declare list no scroll cursor for ${numbered(sql)}`, values });
      for (;;) {
        const { rows } = await this.#query(`fetch ${FETCH} from list`);
        if (rows.length === 0) return;
        yield* rows;
      }
    } finally {
      await this.#rollback();
    }
  }

  async bulk({ postgres, types }: Bulk, rows: readonly (readonly Value[])[]): Promise<number> {
    if (rows.length === 0) return 0;
    const values = types.map((_, column) => rows.map((row) => row[column]));
    let name = this.#names.get(postgres);
    if (name === undefined) this.#names.set(postgres, name = `bulk${this.#names.size}`);
    return (await this.#query({ name, text: postgres, values })).rowCount ?? 0;
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.script("begin");
    this.#within = true;
    try {
      const result = await work();
      await this.script("commit");
      this.#within = false;
      return result;
    } catch (error) {
      await this.#rollback();
      throw error;
    }
  }

  /** What it accepted is on its disk. */
  flush(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await ended(client);
  }

  /** Ends a transaction, unless it went away with its connection. */
  async #rollback(): Promise<void> {
    this.#within = false;
    try {
      await this.#client?.query("rollback");
    } catch {
      this.#client = undefined; // a connection that cannot do that is lost
    }
  }

  /** Sends a query, with a new connection where the last one was lost. */
  async #query(query: Parameters<Client["query"]>[0]): ReturnType<Client["query"]> {
    try {
      const client = await this.#connect();
      return await client.query(query);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      if (error instanceof Unavailable) throw error;
      const { message, code = "" } = error as Error & { code?: string };
      const said = this.hide(message || code); // of several addresses that refuse, the driver says only a code
      // Of the server's own codes, 08 and 57P are about the connection; others are about the query.
      const own = /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E");
      if (own && !/^(08|57P|53300)/.test(code)) throw new Error(said, { cause: error });
      this.#client = undefined;
      throw new Unavailable(said, { cause: error });
    }
  }

  async #connect(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    if (this.#within) throw new Unavailable("the connection was lost");
    const [first, ...others] = this.encryptions;
    return this.#client = await others.reduce(
      (connecting, ssl) =>
        connecting.catch((error) => {
          if (!(error as Error).message.includes(UNENCRYPTED)) throw error;
          return this.#open(ssl);
        }),
      this.#open(first),
    );
  }

  async #open(ssl: Encryption): Promise<Client> {
    const client = this.newClient(ssl);
    const lost = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", lost);
    client.on("end", lost);
    try {
      await client.connect();
      return client;
    } catch (error) {
      await ended(client); // a connection that was refused may hold its socket
      throw error;
    }
  }
}

/** Ends a connection, and does not wait long for a server that has gone away. */
async function ended(client: Client): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, END_MS);
  await Promise.race([client.end().catch(() => {}), late]);
  clearTimeout(timer);
}

/** `$1`, `$2`... for each `?`: none of our statements has another. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}
