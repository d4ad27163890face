/**
 * What opening a list takes from around the program: paths, and passwords.
 *
 * @module
 */
import { redactUrl } from "../../core/redact.ts";
import { passwordFromPassfile, type PostgresLocation } from "../../store/database/postgres_url.ts";
import { type ConnectionEnvironment, parseDatabaseLocation } from "../../store/open_store.ts";
import type { Values } from "../settings/option_values.ts";
import { env, userPath } from "../environment.ts";

/**
 * What this process gives to connections: paths as the user means them, and the password from
 * PGPASSWORD, then PGPASSFILE or ~/.pgpass.
 *
 * @param tell Told of a file of passwords that is passed over.
 */
export function connectionEnvironment(tell: (line: string) => void): ConnectionEnvironment {
  return { resolve: userPath, password: (place) => readPassword(place, tell) };
}

async function readPassword(
  place: PostgresLocation,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const given = env("PGPASSWORD");
  if (given !== undefined) return given;
  const home = env("HOME");
  const path = env("PGPASSFILE") ?? (home === undefined ? undefined : `${home}/.pgpass`);
  if (path === undefined) return undefined;
  try {
    const { mode } = await Deno.stat(path);
    if (((mode ?? 0) & 0o077) !== 0) {
      tell(`blocksweep: passed over "${path}": others can read it (chmod 600)`);
      return undefined;
    }
    return passwordFromPassfile(await Deno.readTextFile(path), place);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Values that may be shown, logged and kept: URLs of databases have lost their passwords, and that
 * of a webhook all but its host.
 */
export function withoutSecrets({ words, given }: Values): Values {
  const shown = (text: string) => parseDatabaseLocation(text)?.path ?? text;
  const harmless = new Map(given);
  for (const option of ["output", "rescan"]) {
    const texts = given.get(option);
    if (texts !== undefined) harmless.set(option, texts.map(shown));
  }
  const webhook = given.get("webhook");
  if (webhook !== undefined) harmless.set("webhook", webhook.map(redactUrl));
  return { words: words.map(shown), given: harmless };
}
