/**
 * The network of this machine: its sockets, its name servers, its clock, and the user's opt-out file.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { denoDialer, openGroupSocket, openLinkSocket, openSocket } from "../../net/deno/mod.ts";
import type { Network } from "../../net/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { resolveName, serviceFinder } from "../names/dns_lookup.ts";
import { OptOutFile } from "../opt_outs/opt_out_file.ts";

export interface SystemNetworkOptions {
  /** Path of the opt-out file. Default: the one in the user's configuration folder. */
  readonly optOutFile?: string;
  /** Called with the reason why a record of a name is not used. */
  readonly note: (text: string) => void;
  /** Called once when nothing can be written into the opt-out file. */
  readonly report: (line: string) => void;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

/** Makes the network of this machine. Nothing is opened or read yet. */
export function systemNetwork(
  { optOutFile, note, report, allProtocols }: SystemNetworkOptions,
): Network {
  let file: OptOutFile | undefined;
  const resolve = (name: string) => resolveName(name, allProtocols);
  const lookups = { resolve, findService: serviceFinder(), clock: systemClock };
  const optOuts = () => file ??= new OptOutFile(optOutFile, report, lookups);
  return {
    clock: systemClock,
    openSocket: (local, gate) => openSocket(local, undefined, gate),
    dialer: denoDialer(),
    local: {
      interfaces: () => Deno.networkInterfaces(),
      openLink: openLinkSocket,
      openGroup: openGroupSocket,
    },
    resolve,
    findService: serviceFinder({ note }),
    optOuts: {
      read: async () => await optOuts().read(),
      note: (address, source) => optOuts().note(address, source),
      version: () => optOuts().version(),
    },
  };
}
