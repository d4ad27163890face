/**
 * A database of PostgreSQL, as a URL names it.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";

/** A database on a server. */
export interface PostgresPlace {
  /** The server's name or address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** The database. */
  readonly database: string;
  /** Who asks. */
  readonly user: string;
  /** The password, where the URL holds one. */
  readonly password: string | undefined;
  /** Whether the connection is encrypted, and what is asked of the server's certificate. */
  readonly sslMode: SslMode;
  /** A file with the certificates that vouch for the server's. Default: those of the system. */
  readonly rootCertificate: string | undefined;
}

/**
 * As libpq has them: no encryption; where the server offers it; always, whoever the server is; always,
 * and its certificate has to be good, and in its name.
 */
export const SSL_MODES = ["disable", "prefer", "require", "verify-full"] as const;

/** One of them. */
export type SslMode = typeof SSL_MODES[number];

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`.
 *
 * @throws InputError that shows no password.
 */
export function parsePostgres(text: string): PostgresPlace {
  const url = URL.parse(text);
  const refuse = (why: string) =>
    new InputError(
      `Cannot use "${redactUrl(text.trim())}": ${why}; as postgres://USER@HOST/DATABASE`,
    );
  if (url === null || url.hostname === "") throw refuse("it names no server");
  if (`${url.pathname}${url.search}${url.hash}`.includes("@")) {
    throw refuse("a / or @ in the password or the database is written %2F or %40");
  }
  const { sslmode = "prefer", sslrootcert, ...others } = Object.fromEntries(url.searchParams);
  const sslMode = SSL_MODES.find((mode) => mode === sslmode);
  if (Object.keys(others).length > 0 || url.hash !== "") {
    throw refuse("behind the database, only sslmode and sslrootcert are read");
  }
  if (sslMode === undefined) throw refuse(`sslmode goes by ${SSL_MODES.join(", ")}`);
  if (sslrootcert !== undefined && sslMode !== "verify-full") {
    throw refuse("sslrootcert wants sslmode=verify-full");
  }
  const parts = [url.username, url.password, url.pathname.slice(1)];
  const [user, password, database] = parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw refuse("a % in it wants two digits");
    }
  });
  if (user === "" || database === "") throw refuse("it names no user, or no database");
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || 5432),
    database,
    user,
    password: password === "" ? undefined : password,
    sslMode,
    rootCertificate: sslrootcert,
  };
}

/** The password for a place: of the first line that fits. */
export function passwordIn(text: string, place: PostgresPlace): string | undefined {
  const wanted = [place.host, String(place.port), place.database, place.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    // A backslash takes the meaning from a colon and from itself.
    const fields = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, field]) => field);
    if (fields.length < 5) continue;
    const [password, ...rest] = [fields[4], ...fields.slice(0, 4)];
    const fits = rest.every((field, i) => field === "*" || plain(field) === wanted[i]);
    if (fits) return plain(password);
  }
  return undefined;
}

/** The line that such a file wants for a place, as far as it can be shown. */
export function lineFor({ host, port, database, user }: PostgresPlace): string {
  const fields = [host, String(port), database, user].map((field) =>
    field.replace(/[\\:]/g, "\\$&")
  );
  return [...fields, "PASSWORD"].join(":");
}

function plain(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
