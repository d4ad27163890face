/**
 * What badges and banners show of a server, and shields' endpoint of it.
 *
 * @module
 */
import { cutWidth, displayWidth } from "../../core/display_width.ts";
import { harmlessText } from "../../core/text.ts";
import { countText, timeText } from "../components/quantities.ts";
import { onlineServer, type StatusAnswer } from "./server_facts.ts";

export type BadgeState = "online" | "offline" | "unknown";

/** The texts of a badge, and the state that determines its colour. */
export interface BadgeFacts {
  /** The server as it was requested. */
  readonly label: string;
  /** `3/20`, `offline` or `unknown`. */
  readonly message: string;
  readonly state: BadgeState;
  /** When an offline server last replied: a date; `undefined`: it is not offline. */
  readonly lastReply: string | undefined;
}

/** Maximum width of the label, columns of a terminal. */
const MAX_LABEL = 40;

export function badgeFacts(answer: StatusAnswer): BadgeFacts {
  const { address: { host, port, isName }, found } = answer;
  const name = isName || !host.includes(":") || port === undefined ? host : `[${host}]`;
  const label = cutWidth(svgText(port === undefined ? name : `${name}:${port}`), MAX_LABEL);
  const server = onlineServer(answer);
  if (server !== undefined) {
    const { players_online: online, players_max: max } = server;
    const message = online === null && max === null
      ? "online"
      : `${countText(online)}/${countText(max)}`;
    return { label, message, state: "online", lastReply: undefined };
  }
  if (found === undefined) {
    return { label, message: "unknown", state: "unknown", lastReply: undefined };
  }
  const lastReply = timeText(found.server.seen_at).slice(0, 16);
  return { label, message: "offline", state: "offline", lastReply };
}

/** The colours of shields' names for each state. */
const SHIELDS_COLORS = { online: "brightgreen", offline: "red", unknown: "lightgrey" } as const;

/** The document for shields' endpoint badge, which rejects other members than its own. */
export function shieldsDocument({ label, message, state }: BadgeFacts, cacheSeconds: number) {
  return { schemaVersion: 1, label, message, color: SHIELDS_COLORS[state], cacheSeconds };
}

/** Characters that XML cannot contain, and that {@linkcode harmlessText} leaves. */
const NOT_XML = /[\ufffe\uffff]/g;

/** A text of a stranger for an SVG image, on one line, not yet escaped. */
export function svgText(text: string): string {
  return harmlessText(text.toWellFormed()).replace(NOT_XML, "\ufffd");
}

const NARROW = /[fijlrtI.,:;|!'"()[\]{}/\\ -]/;
const WIDE = /[mwMWOQ@%&]/;

/** The width of a text in a sans-serif font, estimated; `textLength` then makes it exact. */
export function textWidth(text: string, size: number): number {
  let units = 0;
  for (const character of text) {
    const columns = displayWidth(character);
    units += columns !== 1
      ? columns * 0.5
      : NARROW.test(character)
      ? 0.42
      : WIDE.test(character)
      ? 0.95
      : 0.65;
  }
  return Math.ceil(units * size);
}
