/**
 * Reads open ports from the XML and greppable output of nmap, which masscan writes too.
 *
 * @module
 */
import { type Tag, XmlError, XmlReader } from "./xml_tags.ts";

/** An open port of a host, with values as they were written. */
export interface NmapPort {
  /** The host's address, unparsed. */
  readonly host: string;
  /** The port number, unparsed. */
  readonly port: string;
  /** Time of the reply, Unix seconds, unparsed; `undefined` when the file has none. */
  readonly seconds?: string;
}

/**
 * Transports whose ports are read. Entries of other transports are skipped, because a number of an
 * SCTP port or an IP protocol has another meaning.
 */
const TRANSPORTS = new Set(["tcp", "udp"]);

/**
 * Parses the open ports of a greppable line (`-oG`): tab-separated fields `Host: 127.0.0.1 ()` and
 * `Ports: 22/open/tcp//ssh///`. Lines of masscan and blocksweep begin with a field `Timestamp`. A line
 * about the state of a host has no ports.
 *
 * @returns `undefined` when the line has another format.
 */
export function parseGrepLine(line: string): readonly NmapPort[] | undefined {
  const fields = new Map(
    line.split("\t").map((field) => {
      const colon = field.indexOf(": ");
      return [field.slice(0, Math.max(colon, 0)), field.slice(colon + 2)];
    }),
  );
  const host = fields.get("Host")?.split(" ", 1)[0];
  if (host === undefined) return undefined;
  const found: NmapPort[] = [];
  // The version of a service may contain ", " but no slash: nmap replaces slashes by |.
  for (const text of fields.get("Ports")?.split(", ") ?? []) {
    const [port, state, transport] = text.split("/", 3);
    if (state !== "open" || !TRANSPORTS.has(transport)) continue;
    found.push({ host, port: port.trim(), seconds: fields.get("Timestamp") });
  }
  return found;
}

/** Reads the open ports of hosts from XML output (`-oX`), as a stream. */
export class NmapReader {
  readonly #xml = new XmlReader();
  #host: string | undefined;
  #seconds: string | undefined;
  #port: string | undefined;

  /** Number of the current line, from 1. */
  get line(): number {
    return this.#xml.line;
  }

  /** Whether the document is complete. The file of an interrupted scan is incomplete. */
  get isWhole(): boolean {
    return this.#xml.isWhole;
  }

  /**
   * Reads the next part of the text. Returns the open ports whose elements end in this part.
   *
   * @throws XmlError for malformed XML, and for XML of another format.
   */
  *read(text: string): Generator<NmapPort, void> {
    for (const tag of this.#xml.read(text)) {
      const open = this.#take(tag);
      if (open !== undefined) yield open;
    }
  }

  #take({ name, ancestors, attributes }: Tag): NmapPort | undefined {
    const parent = ancestors.at(-1);
    if (parent === undefined && name !== "nmaprun") {
      throw new XmlError(`its root element is <${name}>, and not <nmaprun>`);
    }
    if (name === "host" && parent === "nmaprun") {
      this.#host = undefined;
      this.#seconds = attributes.get("endtime") ?? attributes.get("starttime");
    } else if (name === "address" && parent === "host") {
      if (attributes.get("addrtype") !== "mac") this.#host ??= attributes.get("addr");
    } else if (name === "port" && parent === "ports") {
      const isKnown = TRANSPORTS.has(attributes.get("protocol") ?? "");
      this.#port = isKnown ? attributes.get("portid") : undefined;
    } else if (name === "state" && parent === "port" && attributes.get("state") === "open") {
      const [host, port] = [this.#host, this.#port];
      if (port !== undefined) return { host: host ?? "", port, seconds: this.#seconds };
    }
    return undefined;
  }
}
