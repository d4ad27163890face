/**
 * Commands that the program prints for the user to run, and what the user has to add to them.
 *
 * @module
 */
import { quoteWord } from "../../app/mod.ts";
import { dashed, type GivenOptions, optionsOf } from "../../app/options/mod.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { programName } from "./console.ts";

/** A `scan` command for `sh`, `zsh` and `fish`. It has no webhook, whose URL may contain secrets. */
export function scanCommand({ words, given }: GivenOptions): string {
  const options = optionsOf("scan").flatMap(({ name, takes }) => {
    const texts = name.startsWith("webhook") ? [] : given.get(name) ?? [];
    return takes === undefined
      ? texts.map(() => dashed(name))
      : texts.flatMap((text) =>
        text.startsWith("-") ? [`--${name}=${text}`] : [dashed(name), text]
      );
  });
  return [programName(), "scan", ...[...words, ...options].map(quoteWord)].join(" ");
}

/** Notes on passwords of databases: a printed command has none. */
export function passwordNotes(
  locations: readonly Pick<DatabaseLocation, "path" | "postgres">[],
): string[] {
  return locations.filter(({ postgres }) => postgres?.password !== undefined).map(({ path }) =>
    `the password of ${path} is not stored: give it in PGPASSWORD or ~/.pgpass`
  );
}

/** A note on exclusions that were read from standard input: a printed command reads them there too. */
export function exclusionNotes(given: GivenOptions["given"]): string[] {
  return given.get("exclude-file")?.includes("-")
    ? ["it needs the same exclusions on standard input"]
    : [];
}
