/**
 * Herald, an invented protocol over UDP with a challenge of text, as in Quake 3. Each message is
 * ASCII text after four bytes `ff`:
 *
 *     getchallenge TOKEN              TOKEN and CHALLENGE: eight hexadecimal digits
 *     challengeResponse CHALLENGE TOKEN
 *     getstatus CHALLENGE
 *     statusResponse NAME PLAYERS
 *
 * @module
 */
import { Malformed } from "../../../../src/core/bytes.ts";

const MARK = "\xff\xff\xff\xff";
/** Offset of the token in a request for a challenge. */
export const TOKEN_AT = `${MARK}getchallenge `.length;

/** The bytes of a message. */
export function encodeMessage(text: string): Uint8Array {
  return Uint8Array.from(MARK + text, (letter) => letter.charCodeAt(0));
}

/** A number as eight digits. */
export function hex(number: number): string {
  return (number >>> 0).toString(16).padStart(8, "0");
}

/** The words after the name of a message; `undefined` for a message with another name. */
export function decodeMessage(datagram: Uint8Array, name: string): string[] | undefined {
  const text = String.fromCharCode(...datagram);
  if (!text.startsWith(`${MARK}${name} `)) return undefined;
  const words = text.slice(MARK.length + name.length + 1).split(" ");
  if (words.length !== 2) throw new Malformed("two words", datagram.length);
  return words;
}
