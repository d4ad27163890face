/**
 * Facts about server software besides the rules that name it: default MOTDs, and what proxies do.
 *
 * @module
 */
import ruleBook from "../../data/software.json" with { type: "json" };
import type { ServerRecord } from "../core/record.ts";
import { plainText } from "../core/text.ts";

const DEFAULT_MOTDS: ReadonlySet<string> = new Set(ruleBook.defaultMotds);
/** Length and first letter of each default MOTD: a cheap test before the text is hashed. */
const DEFAULT_SHAPES = new Set(ruleBook.defaultMotds.map(shape));

/** Whether a MOTD is a default of server software, so that it does not identify a server. */
export function isDefaultMotd(motd: string): boolean {
  return DEFAULT_SHAPES.has(shape(motd)) && DEFAULT_MOTDS.has(motd);
}

function shape(text: string): number {
  return text.length << 16 | text.charCodeAt(0);
}

/** Geyser, a proxy beside a Java server, by which players of the Bedrock edition join that server. */
const BRIDGE = { proxy: "geyser", edition: "java" };

/** A side of a bridge: the bridge, or the server that it leads to. */
export type BridgeSide = "bridge" | "bridged";

/** Whether a server may be a bridge, or the server behind one. */
export function bridgeSide(
  { edition, proxy }: Pick<ServerRecord, "edition" | "proxy">,
): BridgeSide | undefined {
  if (edition === BRIDGE.edition) return "bridged";
  return proxy === BRIDGE.proxy ? "bridge" : undefined;
}

/** The MOTD of a bridged server as Geyser repeats it: the first line, with `:` for each `;`. */
export function bridgedMotd(motd: string): string {
  const end = motd.indexOf("\n");
  return plainText(end < 0 ? motd : motd.slice(0, end)).replaceAll(";", ":");
}

/** Whether a proxy joins the servers of a network, which a bridge does not. */
export function isNetworkProxy(proxy: string | null): boolean {
  return proxy !== null && proxy !== BRIDGE.proxy;
}
