/**
 * The text index of a database: trigrams of names, MOTDs, maps and software, by which texts are found.
 *
 * @module
 */
import { type Database, StoreError, type Value } from "../database/database.ts";
import postgres from "./text_index_postgres.sql" with { type: "text" };
import sqlite from "./text_index_sqlite.sql" with { type: "text" };

/** The statements that make the text index of existing servers, by engine. */
const STATEMENTS = { postgres, sqlite } as const;

/** A query that has a row if the database has a text index. */
const FIND = {
  postgres: "select 1 from pg_indexes where schemaname = current_schema() and " +
    "indexname = 'servers_text'",
  sqlite: "select 1 from sqlite_master where name = 'server_text'",
} as const;

export async function hasTextIndex(database: Database): Promise<boolean> {
  return (await database.rows(FIND[database.engine])).length > 0;
}

/**
 * Makes the text index of a database that has the tables. Does nothing if it exists. Meanwhile,
 * writes of other programs wait.
 *
 * @throws StoreError when PostgreSQL has no extension `pg_trgm`, or the role may not create it.
 */
export async function createTextIndex(database: Database): Promise<void> {
  if (await hasTextIndex(database)) return;
  try {
    await database.transaction(async () => {
      if (database.engine === "postgres") {
        // An advisory lock: of two programs that start at the same time, one makes the index.
        await database.script("select pg_advisory_xact_lock(7022642159)");
      }
      if (!await hasTextIndex(database)) await database.script(STATEMENTS[database.engine]);
    });
  } catch (error) {
    const { message } = error as Error;
    if (!/pg_trgm|must be owner|permission denied/.test(message)) throw error;
    throw new StoreError(
      `Cannot make the text index of ${database.name}: ${message}; --text-index needs PostgreSQL's ` +
        "extension pg_trgm, and the role that owns the tables",
      { cause: error },
    );
  }
}

/** The shortest text that has a trigram, characters. */
const TRIGRAM = 3;
/**
 * Letters whose case FTS5 does not ignore, or not as JavaScript does: its tables are of an older Unicode.
 */
const OTHERWISE_FOLDED =
  /[\u019b\u0250-\u02af\u037f\u03f3\u0528-\u052f\u10a0-\u10ff\u13a0-\u13ff\u1c80-\u1cbf\u1d00-\u1dbf\u2c2f\u2c5f\ua698-\ua69b\ua720-\ua7ff\uab30-\uabbf\u{10000}-\u{1efff}]/u;

/**
 * A query for the ids of the servers that may contain a text, by the text index.
 *
 * @param text In lower case.
 * @param condition The exact condition, without a prefix of its columns, and its parameters.
 * @returns `undefined` when there is no text index, or it cannot find the text.
 */
export async function indexedText(
  database: Database,
  text: string,
  condition: string,
  values: readonly Value[],
): Promise<{ sql: string; values: readonly Value[] } | undefined> {
  if (isShort(text) || !await hasTextIndex(database)) return undefined;
  if (database.engine === "postgres") {
    return { sql: `select id from servers where ${condition}`, values };
  }
  const spellings = spellingsOf(text);
  if (OTHERWISE_FOLDED.test(text) || spellings.some(isShort)) return undefined;
  const query = spellings.map((one) => `"${one.replaceAll('"', '""')}"`).join(" OR ");
  const sql = "select rowid as id from server_text where server_text match ?";
  return { sql, values: [query] };
}

function isShort(text: string): boolean {
  return [...text].length < TRIGRAM;
}

/** The spellings of a text in an index of FTS5, which does not fold İ: its lower case has two characters. */
function spellingsOf(text: string): string[] {
  const spellings = [text, text.replaceAll("i\u0307", "İ")]
    .flatMap((one) => [one, one.replace(/i$/, "İ")]);
  return [...new Set(spellings)];
}
