/**
 * Splits a Bedrock advertisement into fields, and assigns each field to its place.
 *
 * Some software does not escape `;` (WaterdogPE and bedrock-protocol in the level, BDS in any
 * field). An unescaped `;` shifts all later fields. It is recognised in two texts, the MOTD and the
 * level, by the fields that must follow.
 *
 * | After     | Fields and their required forms                                           |
 * | --------- | ------------------------------------------------------------------------- |
 * | the MOTD  | protocol, players, slots and id: integers; version: any other text        |
 * | the level | game mode: a known one; its number, ports and flags: integers             |
 *
 * Later versions of the game append fields of any form. They are recognised by the game mode's number
 * and both ports before them. A field whose place is ambiguous is omitted, and a flag reports it.
 *
 * @module
 */

/** The fields of an advertisement in the order of the text, not yet assigned to their places. */
export interface AdvertisementFields {
  /** The fields, with `\;` and `\\` unescaped. */
  readonly fields: readonly string[];
  /** Whether a `;` follows the last field. */
  readonly terminated: boolean;
}

/** An anomaly of the places of fields. */
export type PlaceFlag =
  /**
   * The MOTD contains an unescaped `;`. The MOTD is joined again, or omitted if its end is
   * ambiguous.
   */
  | "motdSemicolon"
  /**
   * The level contains an unescaped `;`. The level is joined again, or omitted if its end is
   * ambiguous.
   */
  | "levelSemicolon"
  /** Numbers follow the level: the game mode is missing. Ambiguous numbers are omitted. */
  | "noGamemode";

/** The fields, each at its place. */
export interface PlacedFields {
  /**
   * The fields; an omitted field is empty. If all places are uncertain, the list is empty.
   */
  readonly fields: readonly string[];
  /** Anomalies of the places of the fields. */
  readonly flags: readonly PlaceFlag[];
}

/**
 * Splits an advertisement at each `;` that no backslash escapes, and unescapes `\;` and `\\`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const { fields, terminated } = splitFields(String.raw`MCPE;a\;b;766;`);
 * assertEquals([fields, terminated], [["MCPE", "a;b", "766"], true]);
 * ```
 */
export function splitFields(text: string): AdvertisementFields {
  if (!text.includes("\\")) return asFields(text.split(";"));
  const fields: string[] = [];
  let field = "";
  let from = 0;
  for (const { 0: separator, index } of text.matchAll(/\\[\\;]|;/g)) {
    field += text.slice(from, index);
    from = index + separator.length;
    if (separator === ";") {
      fields.push(field);
      field = "";
    } else {
      field += separator[1];
    }
  }
  return asFields([...fields, field + text.slice(from)]);
}

/** Drops an empty last field: the `;` before it ends the advertisement. */
function asFields(fields: string[]): AdvertisementFields {
  const terminated = fields.length > 1 && fields.at(-1) === "";
  return { fields: terminated ? fields.slice(0, -1) : fields, terminated };
}

/** Joins fields with `;`, and escapes `\` and `;` in them. */
export function joinFields({ fields, terminated }: AdvertisementFields): string {
  const text = fields.map((field) => field.replace(/[\\;]/g, "\\$&")).join(";");
  return terminated ? `${text};` : text;
}

/** Indexes of the fields `protocol` and `level` in an advertisement without unescaped `;`. */
const PROTOCOL = 2;
const LEVEL = 7;
/** Distance from the protocol to the level, in fields. */
const TO_LEVEL = LEVEL - PROTOCOL;
/** The forms of the numbers after a game mode: its number, two ports, two flags. */
const NUMBERS = [/^[0-9]{1,2}$/, /^[0-9]{1,5}$/, /^[0-9]{1,5}$/, /^[01]$/, /^[01]$/];
/** Number of them, without the flags, that precede a field of a later version of the game. */
const BEFORE_LATER_FIELDS = 3;

/** Bedrock's game modes; clients hide servers with other ones. */
const GAMEMODES = new Set(["survival", "creative", "adventure", "spectator"]);

/**
 * Assigns fields to their places. A backslash at the end of an unescaped text looks like an escape
 * of the next `;`. The advertisement is therefore also split at every `;`, and the split whose
 * fields fit is used.
 *
 * @param written The fields as {@linkcode splitFields} returns them.
 * @param text The advertisement.
 */
export function placeFields(written: readonly string[], text: string): PlacedFields {
  if (written.length <= PROTOCOL) return { fields: written, flags: [] };
  const splits = [written];
  if (text.includes("\\")) splits.push(text.replace(/;$/, "").split(";"));
  for (const fields of splits) {
    const starts = wholeReadings(fields);
    if (starts.length > 1) return NOTHING_CERTAIN;
    if (starts.length === 1) return placedAt(fields, starts[0], fields !== written);
  }
  for (const fields of splits) {
    const at = fields.findIndex((_, i) => i >= PROTOCOL && followsMotd(fields, i));
    if (at >= 0) return placedAt(fields, at, fields !== written);
  }
  // The text is too short, or one of its numbers is none. If nothing follows the protocol, or the counts
  // are not numbers, only the protocol shows where the MOTD ends. Otherwise the fields after it do.
  const fields = splits.find((one) => /^(?:-?[0-9]+)?$/.test(one[PROTOCOL])) ??
    splits.find(countsInPlace);
  return fields === undefined ? NOTHING_CERTAIN : placedAt(fields, PROTOCOL, fields !== written);
}

/** Whether a version with dots, players, slots and id are at their places, and nowhere else. */
function countsInPlace(fields: readonly string[]): boolean {
  const fits = (_: string, at: number) =>
    at >= PROTOCOL && countsFollow(fields, at) && /^v?[0-9]+\./.test(fields[at + 1]) &&
    /^-?[0-9]+$/.test(fields[at + 4]);
  return fields.findIndex(fits) === PROTOCOL && fields.findLastIndex(fits) === PROTOCOL;
}

/** The result if the end of the MOTD is ambiguous. */
const NOTHING_CERTAIN: PlacedFields = { fields: [], flags: ["motdSemicolon"] };

/**
 * The indexes at which the field `protocol` may be. All later fields, up to the game mode, must
 * then have their required forms.
 */
function wholeReadings(fields: readonly string[]): number[] {
  const lastText = fields.findLastIndex((field) => !isInteger(field));
  const starts: number[] = [];
  for (let at = PROTOCOL; lastText > at + TO_LEVEL; at++) {
    if (followsMotd(fields, at) && /^-?[0-9]+$/.test(fields[at + 4])) starts.push(at);
  }
  return starts;
}

/**
 * Whether the fields protocol, version, players and slots may start at an index. A version is never
 * a whole number. This condition rejects MOTDs such as `Welcome;2024` or `1;2;3;4`.
 */
function followsMotd(fields: readonly string[], at: number): boolean {
  return isInteger(fields[at]) && countsFollow(fields, at);
}

/** Whether version, players and slots may follow the field at an index. */
function countsFollow(fields: readonly string[], at: number): boolean {
  return at + 3 < fields.length && [at + 2, at + 3].every((i) => isInteger(fields[i])) &&
    !isInteger(fields[at + 1]);
}

/** Moves the protocol and all later fields from index `at` to their places. */
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

/** Assigns the level, the game mode and the later numbers; a flag reports that they were moved. */
function placeLevel(
  rest: readonly string[],
): { readonly fields: readonly string[]; readonly flag?: PlaceFlag } {
  const mode = rest.findLastIndex((field) => !isInteger(field));
  if (mode === 1 || rest.length < 2) return { fields: rest };
  if (mode < 1) return placeNumbers(rest);
  const starts = rest.flatMap((_, at) => at >= 1 && isModeAt(rest, at) ? [at] : []);
  if (starts.length === 1 && starts[0] === 1) return { fields: rest };
  const flag = "levelSemicolon";
  if (starts.length === 1) {
    return { fields: [rest.slice(0, starts[0]).join(";"), ...rest.slice(starts[0])], flag };
  }
  const numbers = rest.slice(mode + 1);
  return { fields: ["", "", ...(numbersFit(numbers) && starts.length === 0 ? numbers : [])], flag };
}

/** Whether a game mode, its numbers, and perhaps fields of a later version start at an index. */
function isModeAt(rest: readonly string[], at: number): boolean {
  if (!isGamemode(rest[at])) return false;
  const next = rest.slice(at + 1, at + 1 + NUMBERS.length);
  const text = next.findIndex((field) => !isInteger(field));
  if (text < 0) return numbersFit(next);
  return text >= BEFORE_LATER_FIELDS && numbersFit(next.slice(0, text));
}

/**
 * Assigns the numbers after a level. The first number is that of the game mode, or the game mode is
 * missing.
 */
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

/** Whether numbers can follow a game mode: its number, two ports, two flags. */
function numbersFit(numbers: readonly string[]): boolean {
  return numbers.length <= NUMBERS.length &&
    numbers.every((number, i) => NUMBERS[i].test(number));
}

/** Whether a field is a whole number of at most nine digits. */
export function isInteger(field: string): boolean {
  return /^-?[0-9]{1,9}$/.test(field);
}
