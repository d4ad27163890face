/**
 * Makes connections with the driver for PostgreSQL, `npm:pg`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Row, Value } from "./database.ts";
import type { PostgresLocation } from "./postgres_url.ts";

/** The members of `pg.Client` that this program uses. */
export interface Client {
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  connect(): Promise<void>;
  query(query: string | { name?: string; text: string; values: readonly unknown[] }): Promise<{
    readonly rows: Row[];
    readonly rowCount: number | null;
  }>;
  end(): Promise<void>;
  /** The connection: its stream is the socket, or TLS over it. */
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(): void } };
}

/** The driver's option `ssl`: `false` is an unencrypted connection. */
export type Encryption = false | {
  readonly rejectUnauthorized: boolean;
  readonly host: string;
  readonly ca?: string;
  readonly checkServerIdentity?: () => undefined;
};

/** Values of `ssl` to try in order. A later one is tried only when the server offers no encryption. */
export function encryptions(
  { sslMode, host }: PostgresLocation,
  ca: string | undefined,
): Encryption[] {
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
export const NO_ENCRYPTION = "does not support SSL";

/** A constant, not a literal in `import()`: Deno then downloads the driver only when it is loaded. */
const DRIVER = "npm:pg@8.23.1";
/**
 * Time without data after which the system checks a connection (TCP keepalive), milliseconds. Routers
 * that forget idle connections after some minutes then keep them.
 */
const KEEP_ALIVE_MS = 30_000;
/** Object identifiers (OID) of types in PostgreSQL. */
const OID = { boolean: 16, bigint: 20, json: 114, timestamptz: 1184, jsonb: 3802 };

/**
 * Loads the driver.
 *
 * @param connectMs Timeout for a connection attempt, milliseconds.
 * @returns Makes a client, which is not connected yet.
 * @throws InputError when the driver cannot be loaded.
 */
export async function clientsOf(
  { host, port, database, user }: PostgresLocation,
  password: string | undefined,
  connectMs: number,
): Promise<(ssl: Encryption) => Client> {
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
  return (ssl) =>
    new pg.Client({
      host,
      port,
      database,
      user,
      types,
      ssl,
      // `password` is a function, because the driver reads password files itself when it is null.
      password: () => password ?? "",
      connectionTimeoutMillis: connectMs,
      application_name: "blocksweep",
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
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
