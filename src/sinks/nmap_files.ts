/**
 * Servers in the files of nmap, and of masscan, which writes the same: XML and greppable lines.
 *
 * @module
 */
import { type Tag, XmlError, XmlReader } from "./xml_tags.ts";

/** An open port. */
export interface OpenPort {
  /** The host's address, as it was written. */
  readonly host: string;
  /** The port, as it was written. */
  readonly port: string;
  /** When it was seen, Unix seconds, where that is known. */
  readonly seconds?: string;
}

/** Transports over which servers may be found; SCTP and IP protocols have other numbers. */
const TRANSPORTS = new Set(["tcp", "udp"]);

/**
 * Open ports in a greppable line, `-oG`: `Host: 127.0.0.1 ()` and `Ports: 22/open/tcp//ssh///`,
 * between tabs. masscan's and ours begin with a time. A line about a host that is up has no ports.
 *
 * @returns `undefined` where the line is of another format.
 */
export function readGrepLine(line: string): readonly OpenPort[] | undefined {
  const fields = new Map(
    line.split("\t").map((field) => {
      const colon = field.indexOf(": ");
      return [field.slice(0, Math.max(colon, 0)), field.slice(colon + 2)];
    }),
  );
  const host = fields.get("Host")?.split(" ", 1)[0];
  if (host === undefined) return undefined;
  const found: OpenPort[] = [];
  // A version may hold ", " too, but no slash: nmap writes | in its place.
  for (const text of fields.get("Ports")?.split(", ") ?? []) {
    const [port, state, transport] = text.split("/", 3);
    if (state !== "open" || !TRANSPORTS.has(transport)) continue;
    found.push({ host, port: port.trim(), seconds: fields.get("Timestamp") });
  }
  return found;
}

/** Reads XML, `-oX`, as it comes in: the open ports of each host. */
export class NmapReader {
  readonly #xml = new XmlReader();
  #host: string | undefined;
  #seconds: string | undefined;
  #port: string | undefined;

  /** The line that is being read, from 1. */
  get line(): number {
    return this.#xml.line;
  }

  /** Whether the document has ended: an interrupted scan leaves a part of one. */
  get isWhole(): boolean {
    return this.#xml.isWhole;
  }

  /**
   * The open ports that a part of the text completes.
   *
   * @throws XmlError where it is not XML, or XML of another program.
   */
  *read(text: string): Generator<OpenPort, void> {
    for (const tag of this.#xml.read(text)) {
      const open = this.#take(tag);
      if (open !== undefined) yield open;
    }
  }

  #take({ name, within, attributes }: Tag): OpenPort | undefined {
    const parent = within.at(-1);
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
