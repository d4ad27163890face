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
  unusableServices,
} from "../../targets/srv.ts";
import { firstLines, MistakenName } from "./name_lookup.ts";

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
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { code, message } = error as Error & { code?: string };
    const why = FAULTS[code ?? ""] ?? message;
    const hint = protocolHint(name, allProtocols);
    const text = `Cannot find host "${name}": ${why}${hint}`;
    throw hint === "" ? new InputError(text) : new MistakenName(text);
  }
  throw new InputError(`Cannot find host "${name}": all its addresses have zones`);
}

/** A hint for the error if a protocol's name was read as a host name: `--protocol raknet slp`. */
export function protocolHint(name: string, allProtocols: readonly Protocol[]): string {
  const names = allProtocols.map((protocol) => protocol.name);
  if (!names.includes(name)) return "";
  return `; separate protocols with commas, for example --protocol ${names.slice(0, 2)}`;
}

const NO_REPLY = "the name server does not reply";

const FAULTS: Readonly<Record<string, string>> = {
  EPERM: "name lookup is not permitted; add --allow-net to deno run or deno install",
  ENOTFOUND: "the name does not exist",
  EAI_AGAIN: NO_REPLY,
};

/** How SRV records are looked up. */
export interface ServiceLookup {
  /** The name servers to query. Default: the system's. */
  readonly nameServer?: { readonly ipAddr: string; readonly port: number };
  /** The clock of the timeout. Default: the machine's. */
  readonly clock?: Pick<Clock, "after">;
  /** Receives a line for each record that cannot be used. Default: the lines are dropped. */
  readonly note?: (text: string) => void;
}

/** SRV records are optional: their timeout is shorter than that of an address lookup, milliseconds. */
const MAX_MS = 2000;

/**
 * Makes a lookup function for SRV records. It rejects with InputError when the lookup fails. The system
 * reports a missing record and a refusal of the name server alike: both mean that there is no record.
 */
export function serviceFinder(
  { nameServer, clock = systemClock, note = () => {} }: ServiceLookup = {},
): ServiceFinder {
  return async (name) => {
    const ascii = nodeUrl().domainToASCII(name);
    if (ascii === "" || isLocal(ascii)) return undefined;
    const late = new AbortController();
    const cancel = clock.after(MAX_MS, () => late.abort());
    try {
      // The final dot makes the name absolute: the resolver appends no search domains.
      const options = { nameServer, signal: late.signal };
      const records = await Deno.resolveDns(`${serviceName(ascii)}.`, "SRV", options);
      firstLines(unusableServices(name, records)).forEach(note);
      return chooseService(records);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      const timedOut = late.signal.aborted || error instanceof Deno.errors.TimedOut;
      const why = timedOut ? NO_REPLY : failure(error as Error);
      throw new InputError(`Cannot look up the SRV record of "${name}": ${why}`);
    } finally {
      cancel();
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
