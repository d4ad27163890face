/**
 * Engines for programs that run a scan from its parts.
 *
 * @module
 */
import { chooseEngine } from "../app/engines/choose_engine.ts";
import type { EngineChoice } from "../app/engines/engine_names.ts";
import { engineConditions } from "../app/engines/load_engines.ts";
import type { Endpoint } from "../core/address.ts";
import type { DatagramSocket } from "../net/socket.ts";
import type { Targets } from "../targets/compose.ts";

/** A loaded engine, which opens the shared sockets of a scan. */
export interface SocketOpener {
  /** The name of the engine; for `fastest`, that of the chosen engine. */
  readonly name: string;
  /** Opens a socket on a local address and port; 0 stands for any. */
  readonly open: (local: Endpoint) => DatagramSocket;
}

/** The engines that write frames choose the route themselves. */
const ANY_ROUTE = {
  interface: undefined,
  gatewayMac: undefined,
  sourceIp: undefined,
  dryRun: false,
};

/**
 * Loads an engine.
 *
 * @param engine The engine. `udp`, `packet` and `xdp` need Linux and `--allow-ffi`. `packet` and `xdp`
 * also need the capability CAP_NET_RAW.
 * @param targets The targets of the scan. An engine that writes frames looks up the route to them.
 * @param note Called with a line when `fastest` cannot use a faster engine. Default: nothing is
 * reported.
 * @throws InputError when the engine cannot run on this machine; the message names what is missing.
 */
export async function loadEngine(
  engine: EngineChoice,
  targets: Targets,
  note: (line: string) => void = () => {},
): Promise<SocketOpener> {
  const { name, open } = await chooseEngine(
    engine,
    engineConditions(targets, ANY_ROUTE),
    note,
  );
  return { name, open: (local) => open(local) };
}
