/**
 * Facts about server software that are not in the rules: default MOTDs, and the behaviour of
 * proxies.
 *
 * @module
 */
import ruleBook from "../../data/software.json" with { type: "json" };
import type { ServerRecord } from "../core/record.ts";
import { plainText } from "../core/text.ts";

const DEFAULT_MOTDS: ReadonlySet<string> = new Set(ruleBook.defaultMotds);
/**
 * Length and first letter of each default MOTD. They are compared before the whole text is looked
 * up, because that is faster.
 */
const DEFAULT_SHAPES = new Set(ruleBook.defaultMotds.map(shape));

/** Whether a MOTD is a default of server software. Such a MOTD does not identify a server. */
export function isDefaultMotd(motd: string): boolean {
  return DEFAULT_SHAPES.has(shape(motd)) && DEFAULT_MOTDS.has(motd);
}

function shape(text: string): number {
  return text.length << 16 | text.charCodeAt(0);
}

/**
 * The column values that identify the two sides of a bridge: `proxy` of the bridge, and `edition`
 * of the server behind it. A bridge is a proxy through which players of the Bedrock edition join
 * one Java server. Geyser is the only one.
 */
const BRIDGE = { proxy: "geyser", edition: "java" };

/** The bridge (`bridge`), or the Java server that players join through it (`bridged`). */
export type BridgeSide = "bridge" | "bridged";

/** Whether a server may be a bridge, or the server behind one. */
export function bridgeSide(
  { edition, proxy }: Pick<ServerRecord, "edition" | "proxy">,
): BridgeSide | undefined {
  if (edition === BRIDGE.edition) return "bridged";
  return proxy === BRIDGE.proxy ? "bridge" : undefined;
}

/**
 * The MOTD that Geyser shows for a server behind it: the first line of the server's MOTD, with `:`
 * in place of `;`.
 */
export function bridgedMotd(motd: string): string {
  const end = motd.indexOf("\n");
  return plainText(end < 0 ? motd : motd.slice(0, end)).replaceAll(";", ":");
}

/**
 * Whether a proxy connects players to several servers of a network. A bridge leads to one server.
 */
export function isNetworkProxy(proxy: string | null): boolean {
  return proxy !== null && proxy !== BRIDGE.proxy;
}
