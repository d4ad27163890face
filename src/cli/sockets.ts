/**
 * Opening the sockets of a scan.
 *
 * @module
 */
import { type Address, family } from "../address.ts";
import { InputError } from "../errors.ts";
import { openSocket } from "../net/deno.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { socketsFor } from "../sweep/window.ts";
import type { Targets } from "../targets/compose.ts";
import type { ScanSettings } from "./scan_settings.ts";

/** The shared sockets by family. */
export type Sockets = Record<4 | 6, DatagramSocket[]>;

/** Opens the sockets before anything else: a port that is taken is found out in time. */
export function openAll({ groups }: Targets, chosen: ScanSettings): Sockets {
  const sockets: Sockets = { 4: [], 6: [] };
  const families = new Set(groups.map(({ addresses: [{ start }] }) => family(start)));
  if (families.size > 1 && chosen.sourcePorts.length > 0) {
    throw new InputError(
      "Cannot use --source-port for IPv4 and IPv6 targets at once: scan one family after the other",
    );
  }
  for (const bits of families) {
    const ports = chosen.sourcePorts.length > 0
      ? chosen.sourcePorts
      : Array<number>(socketsFor(chosen.concurrency)).fill(0);
    for (const port of ports) {
      const address = localAddress(chosen, bits);
      try {
        sockets[bits].push(openSocket({ address, port }));
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        const what = port === 0 ? "open a socket" : `send from port ${port}`;
        throw new InputError(`Cannot ${what}: ${(error as Error).message}`);
      }
    }
  }
  return sockets;
}

/** The address of ours that is sent from: any, unless the user chose one. */
export function localAddress({ sourceAddress }: ScanSettings, bits: 4 | 6): Address {
  if (sourceAddress === undefined) return bits === 4 ? 0 : 0n;
  if (family(sourceAddress) === bits) return sourceAddress;
  throw new InputError(
    `Cannot use --source-ip: it is no IPv${bits} address, and there are such targets`,
  );
}
