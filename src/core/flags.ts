/**
 * The flags of records: what is odd about a server's replies. Each protocol adds its own.
 *
 * @module
 */

/** What flags mean, by their names. */
export type FlagMeanings = Readonly<Record<string, string>>;

/** Flags that replies of several protocols may have, or a comparison of them. */
export const GENERAL_FLAGS = {
  badUtf8: "text is not valid UTF-8",
  loneSurrogate: "half a UTF-16 pair; U+FFFD stands in its place",
  badNumber: "a number that is none",
  lengthMismatch: "a length does not fit what follows it",
  trailingBytes: "bytes follow the end of the message",
  truncated: "the message ends too early, or a part of it is missing",
  duplicateKey: "a key occurs twice; the first value counts",
  factsCut: "more facts than a row holds",
  editionDiffers: "two protocols report different editions",
  motdDiffers: "two protocols report different MOTDs",
  versionDiffers: "two protocols report different versions",
  playersDiffer: "two protocols report different numbers of players",
  softwareDiffers: "two protocols name two kinds of software",
  statusLost: "the server replied, and its status did not come",
  statusMalformed: "the status cannot be decoded",
  cutShort: "the interview was cut short for lack of file descriptors",
} as const satisfies FlagMeanings;

/** A flag that replies of several protocols may have. */
export type GeneralFlag = keyof typeof GENERAL_FLAGS;
