/**
 * Ledger, an invented protocol over TCP: the client writes `LEDGER?` and a line feed, the server
 * `LEDGER PLAYERS VERSION` and a line feed.
 *
 * @module
 */
import { Malformed } from "../../../../src/core/bytes.ts";

/** The request. */
export const REQUEST: Uint8Array = new TextEncoder().encode("LEDGER?\n");

/** Decodes a reply; `undefined` while it is incomplete. */
export function decodeReply(text: string): string[] | undefined {
  if (!"LEDGER ".startsWith(text.slice(0, 7))) throw new Malformed("a reply", 0);
  return text.endsWith("\n") ? text.trimEnd().split(" ").slice(1) : undefined;
}
