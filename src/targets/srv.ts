/**
 * SRV records: a name's own word on which host and port its Java server has. Clients look them up
 * where no port was typed.
 *
 * @module
 */
import { harmlessText } from "../core/text.ts";
import { parseTarget } from "./parse.ts";

/** An SRV record. */
export interface ServiceRecord {
  /** The lowest is tried first. */
  readonly priority: number;
  /** Of those with the lowest priority, the heaviest is tried first. */
  readonly weight: number;
  /** The port. */
  readonly port: number;
  /** The host. */
  readonly target: string;
}

/** Where a service is. */
export interface Service {
  /** The host's name. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/**
 * Finds where the Java server of a name is; `undefined` where the name does not say. Rejects when it
 * cannot be found out.
 */
export type ServiceFinder = (name: string) => Promise<Service | undefined>;

/** A name, and where its SRV record led. */
export interface NamedService {
  /** The name that was asked for. */
  readonly name: string;
  /** What its record says. */
  readonly service: Service;
}

/**
 * How a row says what its server was asked for by: the name, and, where an SRV record of it led
 * there, what the record says.
 *
 * @example
 * ```ts
 * import { requestText } from "blocksweep/targets";
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

/** The name under which a host's Java server is found. */
export function serviceName(name: string): string {
  return `_minecraft._tcp.${name}`;
}

/**
 * Chooses among SRV records: the lowest priority, then the highest weight, so that the same records
 * always give the same server.
 *
 * @returns `undefined` when none can be used: a target `.` says that there is no such service.
 *
 * @example
 * ```ts
 * import { chooseService } from "blocksweep/targets";
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
 * What is wrong with SRV records that name no host or no port, a line each. A target `.` is not wrong.
 *
 * @param name The name that was asked for.
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
    return undefined; // no host name: nothing that a stranger writes into his zone ends a scan
  }
}
