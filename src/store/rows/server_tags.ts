/**
 * The table `server_tags`: tags that users give to servers.
 *
 * @module
 */
import { cutText, tidyText } from "../../core/text.ts";
import { type Database, insertInto, updateOf } from "../database/database.ts";
import { readTexts } from "./json_cells.ts";
import { storable } from "./stored_values.ts";

/** Maximum length of a tag, characters. */
export const MAX_TAG = 64;

/**
 * Whether a text can be a tag: 1 to 64 characters, no control characters and none that is invisible,
 * single spaces, and none at its ends.
 */
export function isTag(text: string): boolean {
  return text !== "" && [...text].length <= MAX_TAG && text === tidyText(text) &&
    text === storable(text);
}

/** The tags in a JSON text, a list of texts. Other values of a file or database have none. */
export function tagsIn(json: string | null): readonly string[] {
  return readTexts(json)?.filter(isTag) ?? [];
}

/** Maximum length of notes that are imported, characters. */
const MAX_NOTES = 1000;

const UPDATE_NOTES = (condition: string) =>
  updateOf(
    "servers",
    [["notes", "text"]],
    [["of_id", "integer"]],
    `old.id = new.of_id${condition}`,
  );
const REPLACE_NOTES = UPDATE_NOTES("");
const ADD_NOTES = UPDATE_NOTES(" and old.notes is null");

/**
 * Writes notes on servers. The caller has begun a transaction.
 *
 * @param replaces Whether they replace other notes. Otherwise only servers without notes get them.
 */
export async function writeNotes(
  database: Database,
  noted: readonly { readonly id: number; readonly notes: string }[],
  replaces: boolean,
): Promise<void> {
  const rows = noted.map(({ id, notes }) => [storable(cutText(notes, MAX_NOTES)), id] as const);
  // In the order of rows, in which every writer locks them.
  rows.sort(([, one], [, other]) => one - other);
  await database.bulk(replaces ? REPLACE_NOTES : ADD_NOTES, rows);
}

/** SQL of the tags of the server `s`, as a JSON list in the order of code points. */
export function tagsExpression({ engine }: Database): string {
  const ofServer = "from server_tags g where g.server = s.id";
  return engine === "postgres"
    ? `coalesce((select jsonb_agg(g.tag order by g.tag) ${ofServer}), '[]')`
    : `(select json_group_array(g.tag) from (select g.tag ${ofServer} order by g.tag) g)`;
}

const INSERT_TAG = insertInto(
  "server_tags",
  [["tag", "text"], ["server", "integer"]],
  "on conflict (tag, server) do nothing",
);

/** Adds tags to servers. The caller has begun a transaction. */
export async function addTags(
  database: Database,
  tagged: readonly { readonly id: number; readonly tags: readonly string[] }[],
): Promise<void> {
  const pairs = tagged.flatMap(({ id, tags }) => tags.map((tag) => [tag, id] as const));
  // The order of the key, in which every writer locks rows.
  pairs.sort(([a, one], [b, other]) => a === b ? one - other : a < b ? -1 : 1);
  await database.bulk(INSERT_TAG, pairs);
}
