/**
 * What commands and programs pass to a scan, a watch, a query or a discovery besides options.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Network, OptOutList } from "../../net/mod.ts";
import type { ReadingContext } from "../options/read_options.ts";
import { systemNetwork } from "./system_network.ts";

/** What is used besides options: the terminal of a command, or the functions of a program. */
export interface CallContext extends Required<ReadingContext> {
  /** The network. Default: that of this machine. */
  readonly network?: Network;
  /** The list of addresses that opted out. Default: that of the network. */
  readonly optOuts?: OptOutList;
  /** Reads the contact for scans without the option `contact`. Default: there is none. */
  readonly keptContact?: () => Promise<string | undefined>;
  /** Receives a line for the user, even if the option `quiet` is given. */
  readonly warn: (line: string) => void;
  /** Receives the reason why a record of a name is not used. */
  readonly note: (text: string) => void;
}

/** What a query uses of a network. */
export type QueryNetwork = Pick<
  Network,
  "clock" | "openSocket" | "dialer" | "resolve" | "findService"
>;

/**
 * The network of the context, or that of this machine. Nothing is opened or read yet.
 *
 * @throws InputError when the runtime lacks the sockets of this machine's network.
 */
export function contextNetwork(
  { network, optOuts, note, warn, allProtocols }: Omit<CallContext, "nameOf">,
  optOutFile?: string,
): Network {
  if (network === undefined && Deno.listenDatagram === undefined) {
    throw new InputError(
      'Cannot open UDP sockets: write "unstable": ["net"] into deno.json, or run with --unstable-net',
    );
  }
  const usual = network ?? systemNetwork({ optOutFile, note, report: warn, allProtocols });
  return optOuts === undefined ? usual : Object.create(usual, { optOuts: { value: optOuts } });
}
