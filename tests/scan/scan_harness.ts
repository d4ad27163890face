/** A scan of a simulated fleet on the fake network. */
import { assertEquals } from "@std/assert";
import { type Address, formatEndpoint } from "../../src/core/address.ts";
import { audit, type AuditRules } from "../../src/fleet/judge/audit.ts";
import type { Faults } from "../../src/fleet/simulate/network/faults.ts";
import {
  drawFleet,
  type FleetHost,
  type FleetPlan,
  manifestEntries,
} from "../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../src/fleet/random.ts";
import { type RowsVerdict, verifyAgainstManifest } from "../../src/fleet/judge/verify_rows.ts";
import { leadProtocol } from "../../src/inspect/interview.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import type { AdaptiveScan } from "../../src/scan/setup/adaptive_setup.ts";
import { START } from "../../src/scan/setup/low_water_mark.ts";
import type {
  ScanEnd,
  ScanHooks,
  ScanInterviews,
  ScanIo,
  ScanLimits,
  ScanOrder,
  ScanSelection,
  ScanSetup,
  ScanTargets,
} from "../../src/scan/setup/scan_setup.ts";
import { runSetup } from "../../src/scan/scan.ts";
import { newState, type ScanState } from "../../src/scan/setup/scan_state.ts";
import type { Sink } from "../../src/sinks/sink.ts";
import type { Mark } from "../../src/sweep/mark_history.ts";
import { compose } from "../../src/targets/compose.ts";
import { Shards } from "../../src/targets/shards.ts";
import type { Range } from "../../src/targets/ranges.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams, type StreamFaults } from "../../src/testing/fake_streams.ts";

export const SCAN_ID = "01928d5e-0000-7000-8000-000000000000";

/** The usual ports in the declarations of protocols. */
export const PORTS: Record<string, readonly number[]> = {
  raknet: [19132],
  nethernet: [19132],
  slp: [25565],
  query: [25565],
  sqp: [9000],
};

/** Rows in memory. */
export class MemorySink implements Sink {
  readonly rows: ServerRecord[] = [];

  write(records: readonly ServerRecord[]): Promise<void> {
    this.rows.push(...records);
    return Promise.resolve();
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  position(): number {
    return this.rows.length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** The options of a scan in one group. */
export interface FlatOptions
  extends
    Omit<ScanTargets, "addresses">,
    Omit<ScanOrder, "from" | "limit">,
    ScanLimits,
    ScanInterviews,
    ScanIo,
    ScanHooks {
  /** Maximum number of targets that a pass visits. */
  readonly maxTargets: number;
  /** The mark at which the UDP passes start. */
  readonly from: Mark;
  /** The mark at which the TCP passes start. */
  readonly fromTcp: Mark;
  readonly signal: AbortSignal;
  readonly adaptive?: AdaptiveScan;
}

/** The options of a test. */
export interface Setting extends Partial<FlatOptions> {
  readonly network?: FakeNetwork;
  readonly faults?: Faults;
  readonly networkSeed?: number;
  readonly streamFaults?: StreamFaults;
  readonly fleet: FleetPlan;
  /** The targets. Default: the fleet's range. */
  readonly range?: Range;
  readonly protocolNames?: readonly string[];
  readonly excluded?: readonly Range[];
  /**
   * Whether the received datagrams of hosts are audited. Default: only if the network has no faults,
   * because a delayed copy looks like a datagram that was sent late.
   */
  readonly audited?: boolean;
  /** Protocols in which endpoints may be queried, by the text of the endpoint. Default: all. */
  readonly sendable?: AuditRules["sendable"];
  readonly prepare?: (
    network: FakeNetwork,
    hosts: readonly FleetHost[],
    streams: FakeStreams,
  ) => void;
}

/** The result of a scan. */
export interface Result {
  /** The options of the scan. */
  readonly options: ScanSetup;
  readonly end: ScanEnd;
  readonly state: ScanState;
  readonly rows: readonly ServerRecord[];
  readonly verdict: RowsVerdict;
  readonly network: FakeNetwork;
  readonly streams: FakeStreams;
  readonly hosts: readonly FleetHost[];
  readonly optedOut: readonly Address[];
}

/** A selection of a scan with only the given options. */
export function selectionFor(
  targets: Pick<ScanTargets, "addresses" | "protocols" | "ports"> & Partial<ScanTargets>,
  order: Partial<ScanOrder> = {},
): ScanSelection {
  return {
    targets: {
      allProtocols: PROTOCOLS,
      names: new Map(),
      optedOut: [],
      responders: [],
      ...targets,
    },
    order: { seed: 5, from: START, ...order },
  };
}

/** The same options in their groups. */
export function grouped(flat: FlatOptions & Pick<ScanTargets, "addresses">): ScanSetup {
  const { from: udp, fromTcp: tcp, maxTargets: limit, signal } = flat;
  return {
    targets: flat,
    order: { ...flat, limit, from: { udp, tcp } },
    limits: flat,
    interviews: flat,
    io: flat,
    adaptive: flat.adaptive,
    hooks: flat,
    signal,
  };
}

/** Scans a fleet. */
export async function scanFleet(setting: Setting): Promise<Result> {
  const network = setting.network ?? new FakeNetwork(setting.networkSeed ?? 1, setting.faults);
  const hosts = drawFleet(setting.fleet);
  const streams = new FakeStreams(network, setting.networkSeed ?? 1, setting.streamFaults);
  for (const { endpoint, responder, streams: door } of hosts) {
    if (responder !== undefined) network.host(endpoint, responder);
    if (door !== undefined) streams.host(endpoint, door);
  }
  setting.prepare?.(network, hosts, streams);
  network.record = true;
  const names = setting.protocolNames ?? ["raknet", "slp", "query"];
  const sink = new MemorySink();
  const random = new Random(77);
  const optedOut: Address[] = [];
  const state = setting.state ?? newState(SCAN_ID, network.now());
  const inclusion = { range: setting.range ?? setting.fleet.range, port: undefined };
  const exclusions = { never: [], private: [], chosen: setting.excluded ?? [] };
  const { index, count } = setting.shard ?? { index: 1, count: 1 };
  const options = grouped({
    allProtocols: PROTOCOLS,
    names: new Map(),
    protocols: PROTOCOLS.filter(({ name }) => names.includes(name)),
    ports: (protocol) => PORTS[protocol],
    seed: 5,
    maxTargets: Infinity,
    from: START.udp,
    fromTcp: START.tcp,
    optedOut: [],
    responders: [],
    retries: 1,
    timeoutMs: 1500,
    cooldownMs: 3000,
    concurrency: 256,
    follow: true,
    players: true,
    rates: { rate: undefined, netRate: undefined, hostRate: undefined },
    capLoopback: false,
    openSockets: (family) => Array.from({ length: 4 }, () => network.open(family)),
    openExclusive: (family) => network.open(family),
    dialer: streams,
    connections: 256,
    optsOut: (motd) => motd.includes("§b§d§f§d§b"),
    onOptOut: (address) => optedOut.push(address),
    sinks: [sink],
    random: (size) => random.bytes(size),
    clock: network,
    signal: new AbortController().signal,
    ...setting,
    addresses: new Shards(compose([inclusion], exclusions), count, 5).cut(index),
    state,
  });
  const end = await network.run(runSetup(options));
  const knownForSqp = new Set(
    options.targets.known?.filter(({ protocols }) =>
      leadProtocol(new Set(protocols), PROTOCOLS)?.name === "sqp"
    )
      .map(({ endpoint }) => formatEndpoint(endpoint)),
  );
  const { audited = setting.faults === undefined } = setting;
  if (audited) assertEquals(audit(network.lines, { knownForSqp, sendable: setting.sendable }), []);
  const selection = {
    protocols: names,
    ports: (name: string) => options.targets.ports(name, 4),
    follow: options.interviews.follow,
    verify: options.interviews.verify,
  };
  const verdict = verifyAgainstManifest(
    manifestEntries(hosts),
    sink.rows,
    selection,
    "ndjson",
  );
  return { options, end, state, rows: sink.rows, verdict, network, streams, hosts, optedOut };
}
