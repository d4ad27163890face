/**
 * Looks up host names with the system's resolver, as other programs on the machine do.
 *
 * @module
 */
import { nodeDns, nodeUrl } from "../../core/node_modules.ts";
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../net/clock.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  chooseService,
  type ServiceFinder,
  serviceName,
  type ServiceRecord,
  unusableServices,
} from "../../targets/srv.ts";
import { firstLines, MistakenName, UnansweredName } from "./name_lookup.ts";

/**
 * The addresses of a name, of both families.
 *
 * @param allProtocols Every protocol: the error has a hint if the name is that of a protocol.
 * @throws InputError when there are none.
 */
export async function resolveName(
  name: string,
  allProtocols: readonly Protocol[],
): Promise<readonly Address[]> {
  const ascii = nodeUrl().domainToASCII(name);
  if (ascii === "") throw new InputError(`Cannot look up "${name}": it is not a host name`);
  try {
    const found = await nodeDns().lookup(ascii, { all: true });
    const addresses = new Set(found.map(({ address }) => parseAddress(address)));
    addresses.delete(undefined); // with a zone, for example fe80::1%eth0
    if (addresses.size > 0) return [...addresses as Set<Address>];
  } catch (error) {
    const { name: kind, code, message } = error as Error & { code?: string };
    if (kind === "NotCapable") throw error;
    const why = FAULTS[code ?? ""] ?? message;
    const hint = protocolHint(name, allProtocols);
    const text = `Cannot find host "${name}": ${why}${hint}`;
    if (hint !== "") throw new MistakenName(text);
    throw code === SILENT ? new UnansweredName(text) : new InputError(text);
  }
  throw new InputError(`Cannot find host "${name}": all its addresses have zones`);
}

/** A hint for the error if a protocol's name was read as a host name: `--protocol raknet slp`. */
export function protocolHint(name: string, allProtocols: readonly Protocol[]): string {
  const names = allProtocols.map((protocol) => protocol.name);
  if (!names.includes(name)) return "";
  return `; separate protocols with commas, for example --protocol ${names.slice(0, 2)}`;
}

/** The code of a lookup to which no name server replied. */
const SILENT = "EAI_AGAIN";
const NO_REPLY = "the name server does not reply";

const FAULTS: Readonly<Record<string, string>> = {
  EPERM: "name lookup is not permitted; add --allow-net to deno run or deno install",
  ENOTFOUND: "the name does not exist",
  [SILENT]: NO_REPLY,
};

/**
 * Looks up the SRV records at an absolute name, which has no final dot. Without records, it returns none. It
 * rejects if no name server replies.
 */
export type ServiceRecords = (
  name: string,
  signal: AbortSignal,
) => Promise<readonly ServiceRecord[]>;

/** How SRV records are looked up. */
export interface ServiceLookup {
  /** Looks up the records. Default: with Deno, at the system's name servers. */
  readonly recordsOf?: ServiceRecords;
  /** The clock of the timeout. Default: the machine's. */
  readonly clock?: Pick<Clock, "after">;
  /** Receives a line for each record that cannot be used. Default: the lines are dropped. */
  readonly note?: (text: string) => void;
}

/** SRV records are optional: their timeout is shorter than that of an address lookup, milliseconds. */
const MAX_MS = 2000;

/**
 * Makes a lookup function for SRV records. It rejects with InputError when the lookup fails.
 */
export function serviceFinder(
  { recordsOf = denoRecords(), clock = systemClock, note = () => {} }: ServiceLookup = {},
): ServiceFinder {
  return async (name) => {
    const ascii = nodeUrl().domainToASCII(name);
    if (ascii === "" || isLocal(ascii)) return undefined;
    const late = new AbortController();
    const cancel = clock.after(MAX_MS, () => late.abort());
    try {
      const records = await recordsOf(serviceName(ascii), late.signal);
      firstLines(unusableServices(name, records)).forEach(note);
      return chooseService(records);
    } catch (error) {
      const timedOut = late.signal.aborted || (error as Error).name === "TimedOut";
      const why = timedOut ? NO_REPLY : failure(error as Error);
      throw new InputError(`Cannot look up the SRV record of "${name}": ${why}`);
    } finally {
      cancel();
    }
  };
}

/**
 * Lookups of SRV records with Deno. The system reports a missing record and a refusal of the name server
 * alike.
 *
 * @param nameServer The name server to query. Default: the system's.
 */
export function denoRecords(
  nameServer?: { readonly ipAddr: string; readonly port: number },
): ServiceRecords {
  return async (name, signal) => {
    try {
      // The final dot makes the name absolute: the resolver appends no search domains.
      return await Deno.resolveDns(`${name}.`, "SRV", { nameServer, signal });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  };
}

/** Why a lookup failed. Without a route to a name server, Deno's message is that of its resolver. */
function failure({ message }: Error): string {
  return message.includes("is unreachable") ? "no name server can be reached" : message;
}

/** Names of this machine, which must not be sent to name servers (RFC 6761, 6.3). */
function isLocal(name: string): boolean {
  return /(^|\.)localhost$/.test(name);
}
