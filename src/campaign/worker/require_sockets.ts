/**
 * Checks once, before the first part, what every part of a worker needs.
 *
 * @module
 */
import {
  chooseEngine,
  closeSockets,
  type Engine,
  engineConditions,
  openScanSockets,
} from "../../app/engines/mod.ts";
import type { Network } from "../../net/mod.ts";
import { family } from "../../core/address.ts";
import { compose, type Targets } from "../../targets/compose.ts";
import type { WorkerChoice } from "../part_request.ts";

/** All addresses of a family: the targets of later campaigns are not known yet. */
function everywhere(bits: 4 | 6): Targets {
  const range = bits === 4 ? { start: 0, end: 2 ** 32 } : { start: 0n, end: 1n << 128n };
  return compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
}

/**
 * Opens a socket as a part does, and closes it. The families IPv4 and IPv6 are tried in turn, because
 * the permission for one of them is enough. `xdp` is not opened: its queue would be busy for a while
 * after the test.
 *
 * @param network Opens the sockets in place of an engine. Default: none.
 * @throws InputError, ShortageError or Deno.errors.NotCapable when no part could be scanned.
 */
export async function requireSockets(
  { engine, interface: name, gatewayMac, sourceIp }: WorkerChoice,
  network?: Pick<Network, "openSocket">,
): Promise<void> {
  const wanted = engine === "xdp" || engine === "fastest" ? undefined : engine;
  const options = { interface: name, gatewayMac, sourceIp, dryRun: true };
  const tryFamily = async (bits: 4 | 6) => {
    const targets = everywhere(bits);
    const chosen: Engine = network === undefined
      ? await chooseEngine(wanted, engineConditions(targets, options), () => {})
      : { name: "portable", open: (local, _thread, gate) => network.openSocket(local, gate) };
    const shared = { sourceIp, sourcePort: undefined, threads: 0, concurrency: 1 };
    await closeSockets(await openScanSockets(targets, shared, chosen));
  };
  if (sourceIp !== undefined) return await tryFamily(family(sourceIp));
  await tryFamily(4).catch((error) => tryFamily(6).catch(() => Promise.reject(error)));
}
