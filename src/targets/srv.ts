/**
 * SRV records, which give the host and port of a name's Java server. The game looks them up if the
 * user gives no port, or the usual port of Java servers.
 *
 * @module
 */
import { harmlessText } from "../core/text.ts";
import { parseTarget } from "./parse.ts";

/** An SRV record (RFC 2782). */
export interface ServiceRecord {
  /** The priority; the record with the lowest one is used. */
  readonly priority: number;
  /** The weight; of equal priorities, the record with the highest one is used. */
  readonly weight: number;
  /** The port of the service, 1 to 65535; 0 is invalid. */
  readonly port: number;
  /** The host name, with or without a final dot; `.`: there is no service. */
  readonly target: string;
}

/** The host and port of a service. */
export interface Service {
  /** The host name in lower case. */
  readonly host: string;
  /** The port of the service. */
  readonly port: number;
}

/**
 * Looks up the Java server of a name; `undefined` if the name has no SRV record. Rejects when the
 * lookup fails.
 */
export type ServiceFinder = (name: string) => Promise<Service | undefined>;

/** A name with the service of its SRV record. */
export interface NamedService {
  /** The name that the user requested. */
  readonly name: string;
  /** The service in its SRV record. */
  readonly service: Service;
}

/**
 * The text of the column `requested_as`: the requested name, and the service if an SRV record of
 * the name led to the server.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(requestText("play.example.org"), "play.example.org");
 * assertEquals(
 *   requestText("play.example.org", { host: "mc1.example.org", port: 25570 }),
 *   "play.example.org SRV mc1.example.org:25570",
 * );
 * ```
 */
export function requestText(name: string, service?: Service): string {
  return service === undefined ? name : `${name} SRV ${service.host}:${service.port}`;
}

/** The name of the SRV record for a host's Java server. */
export function serviceName(name: string): string {
  return `_minecraft._tcp.${name}`;
}

/**
 * Chooses an SRV record: the lowest priority, then the highest weight. Equal records always yield
 * the same server.
 *
 * @returns `undefined` when no record is usable, for example when the target is `.` (the service
 * does not exist).
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(chooseService([
 *   { priority: 10, weight: 0, port: 1, target: "spare.example.org." },
 *   { priority: 5, weight: 60, port: 25570, target: "Play.example.org." },
 * ]), { host: "play.example.org", port: 25570 });
 * ```
 */
export function chooseService(records: readonly ServiceRecord[]): Service | undefined {
  const ordered = records.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight);
  return ordered.map(readService).find((service) => service !== undefined);
}

/**
 * Messages about SRV records with an invalid host or port, one line each. A target `.` is valid.
 *
 * @param name The requested name.
 */
export function unusableServices(name: string, records: readonly ServiceRecord[]): string[] {
  return records.filter((one) => !/^\.?$/.test(one.target) && readService(one) === undefined)
    .map(({ target, port }) => {
      const text = harmlessText(`${name} SRV ${target.replace(/\.$/, "")}:${port}`);
      return `Cannot use the record "${text}": ${
        port === 0 ? "0 is not a port" : "its target is not a host name"
      }`;
    });
}

function readService({ target, port }: ServiceRecord): Service | undefined {
  if (!(port >= 1 && port <= 65535)) return undefined;
  try {
    const host = parseTarget(target.replace(/\.$/, ""));
    return "name" in host && host.port === undefined ? { host: host.name, port } : undefined;
  } catch {
    return undefined; // an invalid host name in an untrusted zone must not end a scan
  }
}
