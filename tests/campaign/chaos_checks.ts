// deno-lint-ignore-file no-console
/** Checks of the packets of a campaign: limits, leases, opt-outs, pauses. */
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import { compose } from "../../src/targets/compose.ts";
import { parseTarget } from "../../src/targets/parse.ts";
import { Shards } from "../../src/targets/shards.ts";
import { type Campaign, type LeaseUpdate, LIMITS } from "./campaign_processes.ts";
import { most, type Packet, ratePlot } from "./capture.ts";

/** How long after an opt-out packets may still be sent, milliseconds. */
const REACTION_MS = 1000;
/** How long interviews that have begun may take after a pause, milliseconds. */
const INTERVIEW_MS = 4000;
/** Packets have to be sent within this time before a pause, and after it, milliseconds. */
const AROUND_MS = 10_000;
/** Times of the capture and of the program may differ by this, milliseconds. */
const CLOCK_MS = 20;

/** The faults of the packets; prints the measured figures. */
export async function checkPackets(
  campaign: Campaign,
  packets: readonly Packet[],
): Promise<string[]> {
  const { plan: { rate } } = campaign;
  const network = (packet: Packet) => packet.destination >>> 8;
  const figures: [string, number, number][] = [
    ["in any second, of the budget", most(packets, 1000) / rate, 1.1],
    ["in any 10 s, of the budget", most(packets, 10_000) / (10 * rate), 1.05],
    ["to a /24 in a second, of its cap", most(packets, 1000, network) / LIMITS.netRate, 1.05],
    [
      "to a host in a second, of its cap",
      most(packets, 1000, ({ destination }) => destination) / LIMITS.hostRate,
      1.0,
    ],
    ["outside a lease", outsideLeases(campaign, packets).length, 0],
    ["to an opted-out address, later than 1 s", afterOptOut(campaign, packets).length, 0],
    ["while paused, later than 4 s", whilePaused(campaign, packets).length, 0],
  ];
  console.log(`${packets.length} packets: ${ratePlot(packets)}`);
  for (const [what, figure] of figures) console.log(`most packets ${what}: ${figure.toFixed(3)}`);
  console.log(tableOf(campaign.updates));
  const exceeded = figures.filter(([, figure, limit]) => figure > limit)
    .map(([what, figure, limit]) => `packets ${what}: ${figure.toFixed(3)}, at most ${limit}`);
  return await Promise.resolve([...exceeded, ...aroundPause(campaign, packets)]);
}

/**
 * Packets of a worker to a part whose lease it did not hold, or had not updated for half of ack_wait.
 *
 * A program cannot check its fence and send in one step. If it is stopped in between, the packet is
 * sent when it goes on, after any time: no tolerance in milliseconds is right. But it checks again
 * before the next packet, so this can happen to one packet. (Connections from a source address begin
 * one by one for this reason: node:net sends them later.) A packet is therefore judged by the lease at
 * the time of the worker's packet before it, too: only the first packet after the fence has closed can
 * pass by that.
 */
function outsideLeases({ plan, updates, sources }: Campaign, packets: readonly Packet[]): Packet[] {
  const target = parseTarget(plan.range);
  if ("name" in target) throw new TypeError(plan.range);
  const none = { never: [], private: [], chosen: [] };
  const parts = new Shards(compose([target], none), plan.parts, 3);
  const byPart = Map.groupBy(updates, ({ part }) => part);
  const isHeld = (part: number, source: number, at: number) => {
    const own = byPart.get(part) ?? [];
    const isFresh = ({ value, sent }: LeaseUpdate) =>
      value.worker === sources.get(source) && sent <= at + CLOCK_MS &&
      at - sent <= LIMITS.ackWaitMs / 2 + CLOCK_MS;
    const taken = own.findLastIndex(({ sent }) => sent <= at + CLOCK_MS);
    return own.slice(Math.max(0, taken - 1), taken + 2).some(isFresh);
  };
  const last = new Map<number, number>();
  return packets.filter(({ at, source, destination }) => {
    const part = parts.indexOf(destination)!;
    const before = last.get(source) ?? at;
    last.set(source, at);
    if (isHeld(part, source, at)) return false;
    const isFirst = isHeld(part, source, before);
    if (isFirst) {
      const gap = Math.round(at - before);
      const from = formatAddress(source);
      console.log(`${from} sent a packet to part ${part} ${gap} ms after one within the lease`);
    }
    return !isFirst;
  });
}

function afterOptOut({ steps, optedOut }: Campaign, packets: readonly Packet[]): Packet[] {
  const since = steps.find(({ what }) => what.includes("opt-outs"))!.to + REACTION_MS;
  const addresses = new Set(optedOut.map(parseAddress));
  return packets.filter(({ at, destination }) => at > since && addresses.has(destination));
}

/** The faults of a campaign that sent nothing before or after its pause: then the pause shows nothing. */
function aroundPause({ paused: { from, to } }: Campaign, packets: readonly Packet[]): string[] {
  const isSent = (since: number) => packets.some(({ at }) => at > since && at < since + AROUND_MS);
  return [
    ...isSent(from - AROUND_MS) ? [] : ["no packet was sent before the pause"],
    ...isSent(to) ? [] : ["no packet was sent after the pause"],
  ];
}

function whilePaused({ paused: { from, to } }: Campaign, packets: readonly Packet[]): Packet[] {
  return packets.filter(({ at }) => at > from + INTERVIEW_MS && at < to);
}

/** What the leases show: how often parts were taken, continued and lost. */
function tableOf(updates: readonly LeaseUpdate[]): string {
  const counts = {
    taken: 0,
    "taken over from a lost worker": 0,
    "continued at marks": 0,
    released: 0,
  };
  const last = new Map<number, LeaseUpdate["value"]>();
  for (const { part, value } of updates) {
    const before = last.get(part);
    if (value.state === "held" && (before?.state !== "held" || before.worker !== value.worker)) {
      counts.taken++;
      if (before?.state === "held") counts["taken over from a lost worker"]++;
      if (before?.marks !== undefined) counts["continued at marks"]++;
    }
    if (value.state === "released" && before?.state === "held") counts.released++;
    last.set(part, value);
  }
  return Object.entries(counts).map(([what, n]) => `parts ${what}: ${n}`).join("\n");
}
