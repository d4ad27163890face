/**
 * Connection URLs and password files (`.pgpass`) of PostgreSQL, as libpq defines them.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";

/** The parsed connection URL of a PostgreSQL database. */
export interface PostgresLocation {
  /**
   * Host name or address of the server, without the brackets of IPv6; or the folder of its Unix socket,
   * which begins with `/`.
   */
  readonly host: string;
  /** TCP port of the server. Default in a URL: 5432. */
  readonly port: number;
  /** Name of the database on the server. */
  readonly database: string;
  /** The database role that logs in. */
  readonly user: string;
  /** The password from the URL; `undefined` when the URL has none. */
  readonly password: string | undefined;
  /** Encryption of the connection and verification of the server's certificate. */
  readonly sslMode: SslMode;
  /** Path of a PEM file with root certificates. `undefined`: the system's root certificates. */
  readonly rootCertificate: string | undefined;
}

/**
 * Values of libpq's `sslmode`:
 * - `disable`: no encryption;
 * - `prefer`: encryption when the server offers it;
 * - `require`: encryption without verification of the certificate;
 * - `verify-ca`: encryption, with a trusted certificate, which may be issued for another host;
 * - `verify-full`: encryption, with a trusted certificate that is issued for the host.
 */
export const SSL_MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

/** One of {@linkcode SSL_MODES}. */
export type SslMode = typeof SSL_MODES[number];

/** The scheme and the user of a URL that has no host, as `postgres:///DATABASE?host=/FOLDER`. */
const WITHOUT_HOST = /^(\s*\w+:\/\/(?:[^/?#@]*@)?)(?=(?::\d*)?[/?#])/;
/** The host that a URL without a host gets, because the parser needs one. */
const NO_HOST = "host.invalid";

/**
 * Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`. The host may be
 * the folder of a Unix socket, with `%2F` for `/`. The parameters `host`, `port` and `user` replace
 * those parts, as in libpq: `postgres:///DATABASE?host=/FOLDER&user=USER`.
 *
 * @throws InputError when the URL cannot be used. The message contains no password.
 */
export function parsePostgres(text: string): PostgresLocation {
  const url = URL.parse(text.replace(WITHOUT_HOST, `$1${NO_HOST}`));
  const refuse = (why: string) =>
    new InputError(
      `Cannot use "${redactUrl(text.trim())}": ${why}; expected postgres://USER@HOST/DATABASE`,
    );
  if (url === null || url.hostname === "") throw refuse("it has no host");
  if (`${url.pathname}${url.search}${url.hash}`.includes("@")) {
    throw refuse("write / and @ in the password or the database as %2F and %40");
  }
  const {
    sslmode = "prefer",
    sslrootcert,
    host: otherHost,
    port: otherPort,
    user: other,
    ...rest
  } = Object.fromEntries(url.searchParams);
  const sslMode = SSL_MODES.find((mode) => mode === sslmode);
  if (Object.keys(rest).length > 0 || url.hash !== "") {
    throw refuse("only the parameters host, port, user, sslmode and sslrootcert are supported");
  }
  if (sslMode === undefined) throw refuse(`sslmode must be one of ${SSL_MODES.join(", ")}`);
  if (sslrootcert !== undefined && !sslMode.startsWith("verify-")) {
    throw refuse("sslrootcert requires sslmode=verify-ca or sslmode=verify-full");
  }
  const parts = [url.username, url.password, url.hostname, url.pathname.slice(1)];
  const [user, password, host, database] = parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw refuse("a % must be followed by two hexadecimal digits");
    }
  });
  const location = {
    host: otherHost ?? (host === NO_HOST ? "" : host.replace(/^\[(.*)\]$/, "$1")),
    port: Number(otherPort ?? (url.port || 5432)),
    database,
    user: other ?? user,
    password: password === "" ? undefined : password,
    sslMode,
    rootCertificate: sslrootcert,
  };
  if (location.host === "") throw refuse("it has no host");
  if (location.user === "" || database === "") throw refuse("it has no user or no database");
  if (!(location.port >= 1 && location.port <= 65_535 && Number.isInteger(location.port))) {
    throw refuse("the port must be a number from 1 to 65535");
  }
  return location;
}

/**
 * Looks a password up in the text of a password file (`.pgpass`).
 *
 * @returns The password of the first line that matches host, port, database and user.
 */
export function passwordFromPassfile(text: string, location: PostgresLocation): string | undefined {
  const wanted = [location.host, String(location.port), location.database, location.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    // A backslash escapes a colon or a backslash.
    const fields = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, field]) => field);
    if (fields.length < 5) continue;
    const [password, ...rest] = [fields[4], ...fields.slice(0, 4)];
    const matches = rest.every((field, i) => field === "*" || unescapeField(field) === wanted[i]);
    if (matches) return unescapeField(password);
  }
  return undefined;
}

/** The line of a password file for a database, with `PASSWORD` in place of the password. */
export function passfileLine({ host, port, database, user }: PostgresLocation): string {
  const fields = [host, String(port), database, user].map((field) =>
    field.replace(/[\\:]/g, "\\$&")
  );
  return [...fields, "PASSWORD"].join(":");
}

function unescapeField(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
