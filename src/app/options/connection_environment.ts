/**
 * Paths and passwords from the environment, for connections to databases.
 *
 * @module
 */
import { passwordFromPassfile, type PostgresLocation } from "../../store/database/postgres_url.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import type { ConnectionEnvironment } from "../../store/mod.ts";
import type { GivenOptions, OptionForm } from "./given_options.ts";
import { env, userPath } from "../environment.ts";

/**
 * The connection options of this process: paths are resolved by {@linkcode userPath}, and the
 * password is from PGPASSWORD, then PGPASSFILE or ~/.pgpass.
 *
 * @param report Receives a line when a password file is ignored.
 */
export function connectionEnvironment(report: (line: string) => void): ConnectionEnvironment {
  return { resolve: userPath, password: (location) => readPassword(location, report) };
}

async function readPassword(
  location: PostgresLocation,
  report: (line: string) => void,
): Promise<string | undefined> {
  const given = env("PGPASSWORD");
  if (given !== undefined) return given;
  const home = env("HOME");
  const path = env("PGPASSFILE") ?? (home === undefined ? undefined : `${home}/.pgpass`);
  if (path === undefined) return undefined;
  try {
    const { mode } = await Deno.stat(path);
    if (((mode ?? 0) & 0o077) !== 0) {
      report(`blocksweep: ignored "${path}": other users can read it (chmod 600)`);
      return undefined;
    }
    return passwordFromPassfile(await Deno.readTextFile(path), location);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Removes the password from a text that is the URL of a database; returns other texts unchanged.
 */
export function withoutPassword(text: string): string {
  return parseDatabaseLocation(text)?.path ?? text;
}

/**
 * Options that may be shown, logged and stored: URLs of databases without passwords, and only the
 * host of a webhook's URL.
 *
 * @param allowed The options of the command.
 */
export function withoutSecrets(
  { words, given }: GivenOptions,
  allowed: readonly OptionForm[],
): GivenOptions {
  const harmless = new Map(given);
  for (const { name, withoutSecrets: shown } of allowed) {
    const texts = given.get(name);
    if (texts !== undefined && shown !== undefined) harmless.set(name, texts.map(shown));
  }
  return { words: words.map(withoutPassword), given: harmless };
}
