/** The locations of databases.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";
import { parsePostgres, type PostgresLocation } from "./database/postgres_url.ts";

/** The location of a database: a file, or a URL of a PostgreSQL server. */
export interface DatabaseLocation {
  /** The location as the user wrote it, with any password replaced: for messages. */
  readonly path: string;
  /** Path of the SQLite file; equal to `path` for PostgreSQL. */
  readonly file: string;
  /** The parsed URL, for PostgreSQL only. */
  readonly postgres?: PostgresLocation;
  /** The engine, as an output format. */
  readonly format: { readonly name: "sqlite" | "postgres" };
}

/**
 * Parses the location of a database: `servers.db`, `servers.sqlite`, `sqlite:FILE` or `postgres://…`.
 *
 * @returns `undefined` when the text has none of these forms.
 * @throws InputError for a URL that cannot be used.
 */
export function parseDatabaseLocation(text: string): DatabaseLocation | undefined {
  if (/^\s*postgres(ql)?:/i.test(text)) {
    const path = redactUrl(text.trim());
    return { path, file: path, postgres: parsePostgres(text), format: { name: "postgres" } };
  }
  const [, named] = /^sqlite:(.+)$/s.exec(text) ?? [];
  if (named === undefined && !/\.(db|sqlite3?)$/i.test(text)) return undefined;
  const file = named ?? text;
  if (!file.includes("://")) return { path: text, file, format: { name: "sqlite" } };
  throw new InputError(`Cannot use "${redactUrl(text)}": a SQLite database is a file, not a URL`);
}
