/**
 * The help texts about protocols, derived from the table of protocols.
 *
 * @module
 */
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { hasUsualPort } from "../../protocols/usual_ports.ts";

/** A text, or a function that makes it from all protocols. */
export type ProtocolText = string | ((allProtocols: readonly Protocol[]) => string);

export function textFor(text: ProtocolText, allProtocols: readonly Protocol[]): string {
  return typeof text === "string" ? text : text(allProtocols);
}

/** The help of `--protocol`. */
export function protocolHelp(allProtocols: readonly Protocol[]): string {
  return `protocols to look for: ${namesOf(allProtocols)}`;
}

/** Description of the default of `--protocol`. */
export function defaultProtocols(allProtocols: readonly Protocol[]): string {
  const usual = usualProtocols(allProtocols);
  const others = namesOf(allProtocols.filter((one) => !usual.includes(one)));
  return others === "" ? "all" : `all but ${others}`;
}

/** Description of the ports to which `lan` broadcasts without `--ports`. */
export function broadcastPortsText(allProtocols: readonly Protocol[]): string {
  const ports = allProtocols.flatMap(({ broadcastPorts }) => broadcastPorts ?? []);
  const [v4, v6] = ([4, 6] as const).map((bits) => ports.flatMap((all) => all[bits]).join(","));
  return v4 === v6 ? v4 : `${v4} (IPv6: ${v6})`;
}

/** The help of `--verify`. */
export function verifyHelp(allProtocols: readonly Protocol[]): string {
  const texts = allProtocols.flatMap(({ verify }) => verify?.help ?? []);
  return texts.length === 0 ? "verify servers: no protocol does" : texts.join("; ");
}

/** Warnings about protocols that need care, one line each. */
export function protocolNotes(allProtocols: readonly Protocol[]): string {
  return allProtocols.flatMap(({ helpNote }) => helpNote === undefined ? [] : [`${helpNote}\n`])
    .join("");
}

/** Scans for the protocols without a usual port. */
export function portExamples(allProtocols: readonly Protocol[]): string[] {
  return allProtocols.filter((one) => !hasUsualPort(one))
    .map(({ name }) => `scan 10.0.0.0/24 --protocol ${name} -p 9000-9100`);
}

/** The protocols for the overview, a line each. */
export function protocolLines(allProtocols: readonly Protocol[]): string[] {
  return allProtocols.map(({ name, finds }) => `  ${name.padEnd(13)}${finds}`);
}

/** What a rescan sends to the servers of a database. */
export function rescanNote(allProtocols: readonly Protocol[]): string {
  const leading = namesOf(allProtocols.filter(({ suppressedBy }) => suppressedBy !== undefined));
  return "--rescan probes a server only in its known protocols and their siblings (with --protocol:\n" +
    "only in those that the option names). A server that replies is also queried in the other\n" +
    "protocols of the scan" +
    (leading === ""
      ? "."
      : `.\nWithout --protocol, a server that is known to speak ${leading} is queried only in its known protocols.`);
}

function namesOf(protocols: readonly Protocol[]): string {
  return protocols.map(({ name }) => name).join(", ");
}
