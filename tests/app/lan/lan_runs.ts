/** Discoveries on a simulated local network that write as the command `lan` does. */
import { prepareLanDiscovery } from "../../../src/app/lan/discover_servers.ts";
import { planLanWrites, runDiscovery } from "../../../src/app/lan/run_discovery.ts";
import { planFoundRows } from "../../../src/app/outputs/found_rows.ts";
import { Shortage } from "../../../src/net/file_descriptors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { FoundServers } from "../../../src/scan/lan/mod.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { readCommandLine } from "../../cli/command_line.ts";

export const ROOM = "192.168.1.9";
export const JAVA = "192.168.1.10";

/** A local network with a Bedrock and a Java server. */
export function home(): SimulatedNetwork {
  const network = new SimulatedNetwork({ local: "192.168.1.2/24" });
  network.addServer({ host: ROOM, software: "bds", status: { name: "Room", players_online: 1 } });
  network.addServer({ host: JAVA, software: "vanilla", status: { players: ["Ann"] } });
  return network;
}

export interface LanRun {
  /** What is done after this time, milliseconds. */
  readonly at?: readonly (readonly [ms: number, work: () => void])[];
  /** When Ctrl-C ends the discovery, which is continuous without `--once`, milliseconds. Default: never. */
  readonly endAt?: number;
  readonly lines?: string[];
}

/** Runs `lan` with its arguments on a network. */
export async function lan(
  network: SimulatedNetwork,
  args: readonly string[],
  { at = [], endAt, lines = [] }: LanRun = {},
) {
  const { options, given } = readCommandLine("lan", args);
  const report = (line: string) => void lines.push(line);
  const prepared = await prepareLanDiscovery(options, {
    network,
    allProtocols: PROTOCOLS,
    warn: report,
    note: report,
  });
  const plans = planFoundRows({ ...options, takesDatabases: true }, undefined);
  const { once } = options;
  const controller = new AbortController();
  const { clock } = network;
  const begin = () => {
    for (const [ms, work] of at) clock.after(ms, work);
    if (endAt !== undefined) clock.after(endAt, () => controller.abort());
  };
  const running = runDiscovery(prepared, await planLanWrites(options, plans, given, report), {
    servers: new FoundServers(),
    signal: controller.signal,
    shortage: new Shortage(clock, () => {}),
    continuous: once === undefined && endAt !== undefined,
    listenMs: once !== undefined ? 1000 * once : endAt === undefined ? 3000 : Infinity,
    sweepMs: 3_600_000,
    writeRows: (bytes) => Promise.resolve(bytes.length),
    report,
    begin,
  });
  return await network.run(running);
}
