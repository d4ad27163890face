/**
 * Loads the engines that need FFI. No engine is imported before it is chosen.
 *
 * @module
 */
import { type Endpoint, family, formatAddress } from "../../core/address.ts";
import type { PortSocketOptions } from "../../net/mod.ts";
import type { Targets } from "../../targets/compose.ts";
import type { EngineConditions, Loaded } from "./choose_engine.ts";
import { CONDITIONS_HERE, type EngineName } from "../settings/engine_names.ts";
import { countOf } from "../../core/quantities.ts";
import type { OptionsOf } from "../options/option_table.ts";

/** The options of engines that write frames, and whether nothing is sent. */
export type RouteOptions = Pick<
  OptionsOf<"scan">,
  "interface" | "gatewayMac" | "sourceIp" | "dryRun"
>;

/** The environment of this process for the choice of an engine. It prompts for no permission, and a dry run sends nothing. */
export function engineConditions(targets: Targets, options: RouteOptions): EngineConditions {
  return {
    ...CONDITIONS_HERE,
    load: (name) => name === "udp" ? loadUdp() : loadRaw(name, targets, options),
  };
}

async function loadUdp(): Promise<Loaded> {
  const { openUdpSocket, probeUdp } = await import("../../net/linux/udp_engine.ts");
  const { SendThread } = await import("../../net/linux/mod.ts");
  const { ConnectSocket } = await import("../../net/linux/connect/connect_socket.ts");
  const { Libc } = await import("../../net/linux/mod.ts");
  using _library = new Libc(); // opening it takes 3 ms: the tests of the engine share it
  await probeUdp();
  return {
    open: (local, thread, gate) => openUdpSocket(local, { thread, gate }),
    openPorts: ({ address }, options) => new ConnectSocket(address, options),
    startThread: () => SendThread.start(),
  };
}

async function loadRaw(
  name: Exclude<EngineName, "portable" | "udp">,
  targets: Targets,
  { interface: link, gatewayMac, sourceIp, dryRun: isDry }: RouteOptions,
): Promise<Loaded> {
  const { NoUplink } = await import("../../net/linux/mod.ts");
  const { packetEngine, xdpEngine } = await import("../../net/linux/frame_engines.ts");
  const { ConnectSocket } = await import("../../net/linux/connect/connect_socket.ts");
  const ranges = ipv4Ranges(targets);
  const source = typeof sourceIp === "number" ? sourceIp : undefined;
  try {
    const options = {
      targets: ranges,
      interface: link,
      gatewayMac,
      source,
      isDry,
      openPlainPorts: ({ address }: Endpoint, given: PortSocketOptions) =>
        new ConnectSocket(address, given),
    };
    const { uplink, ...engine } =
      await (name === "xdp" ? xdpEngine(options) : packetEngine(options));
    const size = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
    const { targets: framed, gateway, interface: { name: over } } = uplink;
    const route = `over ${over} to ${formatAddress(gateway)}` +
      (framed === size ? "" : `, ${countOf(size - framed, "target")} by udp`);
    return { ...engine, route };
  } catch (error) {
    if (error instanceof NoUplink) return { unsuited: error.message };
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
    throw new Error(
      "it needs the capability CAP_NET_RAW: run `setcap cap_net_raw+ep $(command -v deno)` as root",
    );
  }
}

/** The targets of IPv4, ascending. */
function ipv4Ranges({ groups }: Targets): { start: number; end: number }[] {
  return groups.flatMap(({ addresses }) => [...addresses])
    .filter(({ start }) => family(start) === 4)
    .map(({ start, end }) => ({ start: start as number, end: end as number }))
    .sort((a, b) => a.start - b.start);
}
