/**
 * The flags of records, which name anomalies in a server's replies. Each protocol adds its own
 * flags.
 *
 * @module
 */

export type FlagMeanings = Readonly<Record<string, string>>;

/** Flags for replies of any protocol, and for differences between the replies of two protocols. */
export const GENERAL_FLAGS = {
  badUtf8: "text is not valid UTF-8",
  loneSurrogate: "a text contains half of a UTF-16 surrogate pair, replaced by U+FFFD",
  badNumber: "a number is invalid",
  countClamped:
    "a number of players does not fit into 32 bits; databases contain the nearest one that does",
  badColumn: "a value has the wrong type for its column, or is too long; it is omitted",
  lengthMismatch: "a length field does not match its data",
  trailingBytes: "bytes follow the end of the message",
  truncated: "the message ends too early, or a part of it is missing",
  duplicateKey: "a key occurs twice; the first value is kept",
  looseNumber: "a number is written as text, or with a fraction",
  badJson: "unescaped control characters in the JSON, or a byte order mark before it",
  cut: "the status is larger than the limits of the decoder or of a row; the rest is omitted",
  factsCut: "the server sent more facts than a row may contain; the rest is omitted",
  editionDiffers: "two protocols report different editions",
  motdDiffers: "two protocols report different MOTDs",
  versionDiffers: "two protocols report different versions",
  playersDiffer:
    "two protocols report different numbers of slots, or numbers of players that differ by more than 5 and " +
    "more than 20 %",
  softwareDiffers: "two protocols name different software",
  statusLost: "the server replied, but sent no status",
  statusMalformed: "the status cannot be decoded",
  verifyMalformed: "a reply to the request of `--verify` cannot be decoded",
  tooLarge:
    "the row did not fit into a message of a campaign: raw replies, the icon or large values are omitted",
  cutShort:
    "the interview ended early (Ctrl-C, --max-runtime, a flood, too few file descriptors): protocols may be missing",
} as const satisfies FlagMeanings;

/** A flag that replies of several protocols may have. */
export type GeneralFlag = keyof typeof GENERAL_FLAGS;

/**
 * The flags in {@linkcode GENERAL_FLAGS} that mean that a record lacks a part of the server's
 * status.
 */
export const INCOMPLETE_FLAGS: readonly string[] = [
  "truncated",
  "statusLost",
  "statusMalformed",
  "cutShort",
] satisfies GeneralFlag[];

/** The flag of records whose interview was cut short, so that protocols may not have been sent. */
export const CUT_SHORT = "cutShort";

/**
 * The flags of servers in databases whose number of players cannot be believed: the rule of each. See
 * src/store/counts/player_rules.ts.
 */
export const PLAYER_FLAGS = {
  playersAboveSlots:
    "in the last 7 days, half of the replies or more have more players than slots: players are not ranked",
  playersConstant:
    "10 players or more, and fewer than 90 % of the slots: the same number in 24 replies or more, for 3 days " +
    "or longer",
  playersSteps:
    "the last 24 changes or more of the number of players are multiples of one number, or repeat like the " +
    "teeth of a saw",
  playersSameNames:
    "the same 5 names or more for 3 days or longer, while the number of players had 8 values or more",
} as const satisfies FlagMeanings;

/** A flag of a number of players. */
export type PlayerFlag = keyof typeof PLAYER_FLAGS;

/** Why a rule flags a server. Times are Unix milliseconds. */
export interface FlagReason {
  /** Since when what the rule describes has been seen. */
  readonly since: number;
  /** The values by which the rule decided. */
  readonly [value: string]: number;
}

/** The rules that flag a server, and why. */
export type FlagReasons = Readonly<Partial<Record<PlayerFlag, FlagReason>>>;
