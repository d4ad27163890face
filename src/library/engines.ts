/**
 * Engines for programs that run a scan from its parts.
 *
 * @module
 */
import { chooseEngine } from "../app/engines/choose_engine.ts";
import type { EngineChoice } from "../app/engines/engine_names.ts";
import { conditionsOf } from "../app/engines/load_engines.ts";
import type { Endpoint } from "../core/address.ts";
import type { DatagramSocket } from "../net/socket.ts";
import type { Targets } from "../targets/compose.ts";
import { settingsOf } from "./scan_options.ts";

/** What opens the shared sockets of a scan. */
export interface SocketOpener {
  /** The engine: of `fastest` the one that was chosen. */
  readonly name: string;
  /** Opens a socket on an address of ours, 0 for any, and a port, 0 for any. */
  readonly open: (local: Endpoint) => DatagramSocket;
}

/**
 * Loads an engine.
 *
 * @param engine `udp` and faster ones need Linux and `--allow-ffi`, `packet` and `xdp` the capability
 * CAP_NET_RAW.
 * @param targets What the scan probes: an engine that writes frames looks up the route to them.
 * @param note Receives a line when `fastest` finds no faster engine than another. Default: nothing does.
 * @throws InputError when the engine does not run here, with what it lacks.
 */
export async function loadEngine(
  engine: EngineChoice,
  targets: Targets,
  note: (line: string) => void = () => {},
): Promise<SocketOpener> {
  const { name, open } = await chooseEngine(
    engine,
    conditionsOf(targets, settingsOf({ engine }), false),
    note,
  );
  return { name, open: (local) => open(local) };
}
