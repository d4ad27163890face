/**
 * Parses ports and lists of ports.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";

/** The ports to probe, by transport. */
export interface Ports {
  /** Ports for UDP, ascending. */
  readonly udp: readonly number[];
  /** Ports for TCP, ascending. */
  readonly tcp: readonly number[];
}

/**
 * Parses one port.
 *
 * @param whole The text to quote in the error. Default: the port's text.
 */
export function parsePort(text: string, whole: string = text): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65535) return port;
  throw new InputError(
    `Cannot parse port ${whole === text ? "" : "of "}"${redactUrl(whole)}": ` +
      "a port is a number from 1 to 65535",
  );
}

/**
 * Parses a list of ports and ranges; `-` means all. After `U:` ports are only for UDP, after `T:`
 * only for TCP.
 *
 * @throws InputError that names the invalid part.
 *
 * @example
 * ```ts
 * import { parsePorts } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parsePorts("U:19132,19133,T:25565-25567"), {
 *   udp: [19132, 19133],
 *   tcp: [25565, 25566, 25567],
 * });
 * ```
 */
export function parsePorts(text: string): Ports {
  // A list may name thousands of ranges, so the ports of a range are not listed one by one.
  const changes = { udp: new Int32Array(65_537), tcp: new Int32Array(65_537) };
  let transports: readonly ("udp" | "tcp")[] = ["udp", "tcp"];
  for (const word of text.split(",").map((part) => part.trim())) {
    const prefix = /^([UT]):/i.exec(word)?.[1].toUpperCase();
    if (prefix !== undefined) transports = prefix === "U" ? ["udp"] : ["tcp"];
    const span = prefix === undefined ? word : word.slice(2);
    const [first, last] = parseSpan(span);
    for (const transport of transports) {
      changes[transport][first]++;
      changes[transport][last + 1]--;
    }
  }
  return { udp: portsIn(changes.udp), tcp: portsIn(changes.tcp) };
}

/**
 * The ports in at least one range, ascending.
 *
 * @param changes By port: the number of ranges that begin there, less those that ended before.
 */
function portsIn(changes: Int32Array): number[] {
  const ports: number[] = [];
  for (let port = 1, ranges = 0; port < 65_536; port++) {
    ranges += changes[port];
    if (ranges > 0) ports.push(port);
  }
  return ports;
}

/** The first and the last port of a range. */
function parseSpan(text: string): readonly [first: number, last: number] {
  if (text === "-") return parseSpan("1-65535"); // like `-p-` of nmap
  const dash = text.indexOf("-");
  if (dash < 0) {
    const port = parsePort(text);
    return [port, port];
  }
  const [first, last] = [
    parsePort(text.slice(0, dash), text),
    parsePort(text.slice(dash + 1), text),
  ];
  if (first > last) {
    throw new InputError(`Cannot parse ports "${text}": the first is above the last`);
  }
  return [first, last];
}

/** Ports, and the text that named them. */
export interface WrittenPorts extends Ports {
  /** The text of `--ports`. */
  readonly text: string;
}

/**
 * Parses ports, and keeps their text.
 *
 * @throws InputError for a text that {@linkcode parsePorts} does not accept.
 */
export function writtenPorts(text: string): WrittenPorts {
  return { ...parsePorts(text), text };
}

/** Formats ports, with consecutive ports as a range. */
export function portList(ports: readonly number[]): string {
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  const spans: [number, number][] = [];
  for (const port of sorted) {
    const last = spans.at(-1);
    if (last !== undefined && port === last[1] + 1) last[1] = port;
    else spans.push([port, port]);
  }
  return spans.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(",");
}
