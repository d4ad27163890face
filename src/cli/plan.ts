/**
 * What a scan would send, and how long it would take: for the dry run, the request for permission,
 * and the status line.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import { type GuardInput, planGuards } from "../scan/guard.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Limits } from "../net/throttle.ts";
import { densityOf } from "../targets/density.ts";
import { segmentsOf, type Targets } from "../targets/compose.ts";
import { withCommas as number } from "../text.ts";
import { permissionNeeded } from "../targets/permission.ts";
import { type Segment, type Shard, TargetSpace } from "../targets/space.ts";

/** What decides about the speed. */
export type Governor = "rate" | "net-rate" | "host-rate" | "nothing";

/** Passes that follow each other. */
export interface Passes {
  /** Positions of every pass. */
  readonly sizes: readonly number[];
  /** The protocol of every pass. */
  readonly protocols: readonly string[];
}

/** The arithmetic of a scan. */
export interface Plan {
  /** Passes of datagrams, and beside them those of connections. */
  readonly passes: Readonly<Record<Protocol["transport"], Passes>>;
  /** Who is looked for before the passes, once and with each retry, to be spared another protocol. */
  readonly guards: readonly {
    readonly name: string;
    readonly spared: string;
    readonly size: number;
  }[];
  /** What decides about the speed. */
  readonly governor: Governor;
  /** The least time for sending, seconds. */
  readonly seconds: number;
}

/** What the plan is made from. */
export interface PlanInput extends GuardInput {
  readonly seed: number | undefined;
  readonly shard: Shard;
  readonly maxTargets: number;
  readonly retries: number;
  readonly limits: Limits;
}

/** Works a scan out. */
export function planScan(input: PlanInput): Plan {
  const { targets, protocols, ports, seed, shard, maxTargets, retries, limits } = input;
  const repeated = <T>(one: T & { segments: readonly Segment[] }) => {
    const { size } = new TargetSpace(one.segments, { seed, shard, limit: maxTargets });
    return Array.from({ length: retries + 1 }, () => ({ ...one, size }));
  };
  const passes = protocols.flatMap(({ name, transport }) =>
    repeated({ name, transport, segments: segmentsOf(targets, (family) => ports(name, family)) })
  );
  const guards = planGuards(input).flatMap(({ protocol, spared, segments }) =>
    repeated({ name: protocol.name, spared: spared.name, segments })
  );
  const over = (transport: Protocol["transport"]) => {
    const chosen = passes.filter((pass) => pass.transport === transport);
    return { sizes: chosen.map(({ size }) => size), protocols: chosen.map(({ name }) => name) };
  };
  const times: Record<Exclude<Governor, "nothing">, number> = {
    "rate": 0,
    "net-rate": 0,
    "host-rate": 0,
  };
  for (const { size, segments } of [...guards, ...passes]) {
    const { host, net } = densityOf(segments);
    times.rate += size / (limits.rate ?? Infinity);
    times["net-rate"] += crowd(net, segments, size) / (limits.netRate ?? Infinity);
    times["host-rate"] += Math.min(host, size) / (limits.hostRate ?? Infinity);
  }
  const [[name, seconds]] = (Object.entries(times) as [Governor, number][])
    .sort(([, a], [, b]) => b - a);
  return {
    passes: { udp: over("udp"), tcp: over("tcp") },
    guards: guards.map(({ name, spared, size }) => ({ name, spared, size })),
    governor: seconds > 0 ? name : "nothing",
    seconds,
  };
}

/** What a shard, or a limit, leaves of the densest network, on average. */
function crowd(net: number, segments: readonly Segment[], size: number): number {
  const all = segments.reduce((sum, s) => sum + Number(s.addresses.size) * s.ports.length, 0);
  return all === 0 ? 0 : net * size / all;
}

/**
 * Checks that the user said that the scan is allowed, where that is needed.
 *
 * @throws InputError that says why it is needed, and what would be sent.
 */
export function requirePermission(targets: Targets, plan: Plan, permitted: boolean): void {
  const what = permissionNeeded(targets);
  if (permitted || what === undefined) return;
  throw new InputError(
    `Cannot scan ${what} without --i-have-permission: up to ${probesOf(plan)}, and their owners ` +
      "may object; scan only networks that you are responsible for, or whose owners agreed",
  );
}

/** The sum of sizes. */
export function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((all, one) => all + one, 0);
}

/** What would be sent, in words. */
function probesOf({ passes: { udp, tcp }, guards }: Plan): string {
  const kinds = (names: readonly string[]) =>
    [...new Set(names)].map((name) => PROBES[name] ?? `${name} probes`).join(" and ");
  const datagrams = sumOf([...udp.sizes, ...guards.map(({ size }) => size)]);
  const names = [...guards.map(({ name }) => name), ...udp.protocols];
  const connects = sumOf(tcp.sizes);
  return [
    ...(datagrams > 0 ? [`${number(datagrams)} datagrams would be sent (${kinds(names)})`] : []),
    ...(connects > 0
      ? [`${number(connects)} connections would be opened (${kinds(tcp.protocols)})`]
      : []),
  ].join(" and ");
}

const PROBES: Readonly<Record<string, string>> = {
  raknet: "RakNet pings of 33 bytes",
  query: "Query handshakes of 7 bytes",
  sqp: "SQP challenges of 5 bytes",
  slp: "Server List Pings over TCP",
};

export { number };

/** A number of things: `1 row`, `2 rows`. */
export function count(value: number, thing: string): string {
  return `${number(value)} ${thing}${value === 1 ? "" : "s"}`;
}

/** A time in words of a clock. */
export function clockTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
