/**
 * The fields of a Bedrock advertisement, and which of them is which.
 *
 * Some software escapes no `;` (WaterdogPE and bedrock-protocol none in the level, BDS none at all),
 * so that a text with one in it shifts all fields behind it. Two places are recognised:
 *
 *     MOTD... | protocol  version  players  slots  id | level... game mode | number  ports  marks
 *               whole     no whole whole    whole  whole         a known one | whole numbers alone
 *
 * A field whose place is ambiguous is left out, and a flag reports it.
 *
 * @module
 */

/** An advertisement as a list of fields: what was written, before anybody interprets it. */
export interface AdvertisementFields {
  /** The fields, unescaped. */
  readonly fields: readonly string[];
  /** Whether a `;` follows the last one. */
  readonly terminated: boolean;
}

/** What was odd about the places of fields. */
export type PlaceFlag =
  /** The MOTD holds an unescaped `;`: it was joined again, or left out where its end is ambiguous. */
  | "motdSemicolon"
  /** The level or game mode holds an unescaped `;`: joined again, or left out likewise. */
  | "levelSemicolon"
  /** Numbers follow the level: the game mode is missing. Ambiguous numbers are left out. */
  | "noGamemode";

/** Fields, each where it belongs, and what was odd about where they were. */
export interface PlacedFields {
  /** The fields; the empty text stands for what was left out, and none is there if all was. */
  readonly fields: readonly string[];
  /** What was odd. */
  readonly flags: readonly PlaceFlag[];
}

/**
 * Splits an advertisement at each `;` that no backslash escapes, and unescapes `\;` and `\\`.
 *
 * @example
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const { fields, terminated } = raknet.splitFields(String.raw`MCPE;a\;b;766;`);
 * assertEquals([fields, terminated], [["MCPE", "a;b", "766"], true]);
 * ```
 */
export function splitFields(text: string): AdvertisementFields {
  if (!text.includes("\\")) return asFields(text.split(";"));
  const fields: string[] = [];
  let field = "";
  let from = 0;
  for (const { 0: mark, index } of text.matchAll(/\\[\\;]|;/g)) {
    field += text.slice(from, index);
    from = index + mark.length;
    if (mark === ";") {
      fields.push(field);
      field = "";
    } else {
      field += mark[1];
    }
  }
  return asFields([...fields, field + text.slice(from)]);
}

/** A last field that is empty is none: a `;` ends the one before it. */
function asFields(fields: string[]): AdvertisementFields {
  const terminated = fields.length > 1 && fields.at(-1) === "";
  return { fields: terminated ? fields.slice(0, -1) : fields, terminated };
}

/** Joins fields again, with `\` and `;` in them escaped. */
export function joinFields({ fields, terminated }: AdvertisementFields): string {
  const text = fields.map((field) => field.replace(/[\\;]/g, "\\$&")).join(";");
  return terminated ? `${text};` : text;
}

/** Places of the fields where nothing has moved. */
const PROTOCOL = 2;
const LEVEL = 7;
/** From the protocol to the level. */
const TO_LEVEL = LEVEL - PROTOCOL;
/** Fields behind the game mode: its number, two ports, two marks. */
const MOST_NUMBERS = 5;

/** Game modes that Bedrock has; clients hide servers with others. */
const GAMEMODES = new Set(["survival", "creative", "adventure", "spectator"]);

/**
 * Puts fields where they belong. Where a backslash stands at the end of a text that was not
 * escaped, it looks like an escape, so that the text is split at every `;` where that fits better.
 *
 * @param written The fields as {@linkcode splitFields} reads them.
 * @param text The advertisement.
 */
export function placeFields(written: readonly string[], text: string): PlacedFields {
  if (written.length <= PROTOCOL) return { fields: written, flags: [] };
  const splits = [written];
  if (text.includes("\\")) splits.push(text.replace(/;$/, "").split(";"));
  for (const fields of splits) {
    const places = wholeReadings(fields);
    if (places.length > 1) return NOTHING_CERTAIN;
    if (places.length === 1) return placedAt(fields, places[0], fields !== written);
  }
  for (const fields of splits) {
    const at = fields.findIndex((_, i) => i >= PROTOCOL && followsMotd(fields, i));
    if (at >= 0) return placedAt(fields, at, fields !== written);
  }
  // Too short, or counts that are no numbers: the protocol alone has to tell.
  const fields = splits.find((one) => /^(?:-?[0-9]+)?$/.test(one[PROTOCOL] ?? ""));
  return fields === undefined ? NOTHING_CERTAIN : placedAt(fields, PROTOCOL, fields !== written);
}

/** The result where the end of the MOTD is ambiguous. */
const NOTHING_CERTAIN: PlacedFields = { fields: [], flags: ["motdSemicolon"] };

/** Places of the protocol from which all that should follow does, up to the game mode. */
function wholeReadings(fields: readonly string[]): number[] {
  const lastText = fields.findLastIndex((field) => !isInteger(field));
  const places: number[] = [];
  for (let at = PROTOCOL; lastText > at + TO_LEVEL; at++) {
    if (followsMotd(fields, at) && /^-?[0-9]+$/.test(fields[at + 4])) places.push(at);
  }
  return places;
}

/**
 * Whether protocol, version, players and slots stand here. A version is no whole number: without
 * that, a MOTD such as `Welcome;2024` or `1;2;3;4` would pass for them.
 */
function followsMotd(fields: readonly string[], at: number): boolean {
  return at + 3 < fields.length && [at, at + 2, at + 3].every((i) => isInteger(fields[i])) &&
    !isInteger(fields[at + 1]);
}

/** The fields with the protocol, which stands here, in its place, and those behind it in theirs. */
function placedAt(fields: readonly string[], at: number, resplit: boolean): PlacedFields {
  const head = [fields[0], fields.slice(1, at).join(";"), ...fields.slice(at, at + TO_LEVEL)];
  const rest = fields.slice(at + TO_LEVEL);
  const unescaped = (texts: readonly string[]) =>
    resplit && texts.some((text) => /\\[\\;]/.test(`${text};`));
  const flags: PlaceFlag[] = at > PROTOCOL || unescaped(head) ? ["motdSemicolon"] : [];
  const { fields: placed, flag } = placeLevel(rest);
  if (flag !== undefined) flags.push(flag);
  else if (unescaped(rest)) flags.push("levelSemicolon");
  return { fields: [...head, ...placed], flags };
}

/** Level, game mode and the numbers behind it, with a flag unless they stand in their places. */
function placeLevel(
  rest: readonly string[],
): { readonly fields: readonly string[]; readonly flag?: PlaceFlag } {
  const mode = rest.findLastIndex((field) => !isInteger(field));
  if (mode === 1 || rest.length < 2) return { fields: rest };
  if (mode < 1) return placeNumbers(rest);
  const numbers = rest.slice(mode + 1);
  const inPlace = isGamemode(rest[1]) && numbersFit(rest.slice(2, 2 + MOST_NUMBERS)) &&
    mode >= 2 + MOST_NUMBERS; // texts behind all numbers that are known: a field to come
  const moved = isGamemode(rest[mode]) && numbersFit(numbers);
  if (inPlace && !moved) return { fields: rest };
  const flag = "levelSemicolon";
  if (moved && !inPlace) {
    return { fields: [rest.slice(0, mode).join(";"), rest[mode], ...numbers], flag };
  }
  return { fields: ["", "", ...(numbersFit(numbers) && !inPlace ? numbers : [])], flag };
}

/** The same where numbers alone follow the level: the first is the game mode, or the mode is missing. */
function placeNumbers(rest: readonly string[]): ReturnType<typeof placeLevel> {
  const [level, ...numbers] = rest;
  const modeIsNumber = numbersFit(numbers.slice(1));
  const modeIsMissing = numbersFit(numbers);
  if (modeIsNumber && !modeIsMissing) return { fields: rest };
  return {
    fields: modeIsMissing && !modeIsNumber ? [level, "", ...numbers] : [level, ""],
    flag: "noGamemode",
  };
}

function isGamemode(text: string): boolean {
  return GAMEMODES.has(text.toLowerCase());
}

/** Whether these can stand behind a game mode: its number, two ports, two marks. */
function numbersFit(numbers: readonly string[]): boolean {
  const forms = [/^[0-9]{1,2}$/, /^[0-9]{1,5}$/, /^[0-9]{1,5}$/, /^[01]$/, /^[01]$/];
  return numbers.length <= forms.length && numbers.every((number, i) => forms[i].test(number));
}

/** Whether a field is a whole number of at most nine digits. */
export function isInteger(field: string): boolean {
  return /^-?[0-9]{1,9}$/.test(field);
}
