/**
 * Covers src/scan/plan/known_server_plan.ts: a rescan finds servers that reply in a sibling of
 * their known protocol.
 */
import { assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint } from "../../../src/core/address.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Protocol } from "../../../src/protocols/protocol.ts";
import { decodePing, encodePong } from "../../../src/protocols/raknet/codec.ts";
import { planFor } from "../../../src/scan/plan/known_server_plan.ts";
import { couriered } from "../../watch/courier_protocol.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";

const allProtocols = couriered(PROTOCOLS);
const usual = allProtocols.filter(({ name }) => ["raknet", "courier", "query"].includes(name));
const RANGE = { start: 0x7f100000, end: 0x7f100004 };
const at = (i: number): Endpoint => ({ address: RANGE.start + i, port: 19132 });

/** What replies at the endpoints: RakNet, Courier, both, nothing. */
const SPOKEN = [["raknet"], ["courier"], ["raknet", "courier"], []];

/** A server that replies to pings. */
const raknet = {
  respond(datagram: Uint8Array) {
    const ping = decodePing(datagram);
    const text = new TextEncoder().encode("MCPE;A;2168;1.26.40;3;10;7;W;Survival;1;19132;19133;");
    return ping === undefined
      ? []
      : [encodePong({ advertise: false, time: ping.time, guid: 7n, text })];
  },
};

/** A server that replies to Courier. */
function courier(name: string) {
  const status = { name, protocol: 2193, version: "1.26.52", players: 3, maxPlayers: 10 };
  const bytes = new TextEncoder().encode(JSON.stringify(status));
  return { accept: () => ({ opening: [], receive: () => [{ bytes }, "close" as const] }) };
}

/** Scans servers again that are known to speak RakNet, or other protocols. */
async function rescan(over: Partial<Setting> = {}, known = ["raknet"]) {
  const { rows, streams } = await scanFleet({
    fleet: { servers: 0, range: RANGE, seed: 1 },
    ...{ allProtocols, protocols: usual, ports: () => [19132], timeoutMs: 300, audited: false },
    ...{ first: SPOKEN.map((_, i) => at(i)), queriesKnown: true },
    known: SPOKEN.map((_, i) => ({ endpoint: at(i), protocols: known })),
    prepare: (network, _, streams) => {
      for (const [i, spoken] of SPOKEN.entries()) {
        if (spoken.includes("raknet")) network.host(at(i), raknet);
        if (spoken.includes("courier")) streams.host(at(i), courier("A"));
      }
    },
    ...over,
  });
  const found = rows.map(({ host, protocols }) => [host, protocols.join(" ")] as const);
  return { found: new Map(found), size: rows.length, streams };
}

const hostOf = (i: number) => formatEndpoint(at(i)).split(":")[0];

Deno.test("a rescan finds servers that reply in a sibling of their known protocol", async () => {
  const { found, size } = await rescan();
  const rows: [string, string][] = [
    [hostOf(0), "raknet"],
    [hostOf(1), "courier"],
    [hostOf(2), "raknet courier"],
  ];
  assertEquals([found, size], [new Map(rows), 3]);
  assertEquals((await rescan({}, ["courier"])).found, new Map(rows));
});

Deno.test("a rescan without follow-ups finds them too", async () => {
  const { found } = await rescan({ follow: false });
  assertEquals([found.get(hostOf(0)), found.get(hostOf(1))], ["raknet", "courier"]);
});

Deno.test("a server of Query only is not queried in Courier before a reply", async () => {
  const { size, streams } = await rescan({}, ["query"]);
  assertEquals([size, streams.begun], [0, []]);
});

Deno.test("siblings are among the protocols that a rescan uses, and never a suppressor", () => {
  const of = (known: string[], ...names: string[]) => {
    const protocols = allProtocols.filter(({ name }) => names.includes(name));
    const namesOf = (some: readonly Protocol[]) => some.map(({ name }) => name).join(" ");
    const queriesKnown = names.length === 3;
    const plan = planFor(known, { allProtocols, protocols, queriesKnown });
    return [plan.known.join(" "), namesOf(plan.probed), namesOf(plan.all), plan.interviewed];
  };
  const all = ["raknet", "courier", "query"];
  assertEquals(of(["raknet"], ...all), ["raknet", "raknet courier", "raknet courier query", false]);
  assertEquals(of(["courier"], ...all), [
    "courier",
    "courier raknet",
    "courier raknet query",
    false,
  ]);
  assertEquals(of(["query"], ...all), ["query", "query", "query raknet courier", false]);
  assertEquals(of(["raknet"], "raknet"), ["raknet", "raknet", "raknet", false]);
  assertEquals(of(["raknet"], "courier"), ["raknet", "courier", "courier", false]);
  // RakNet would harm a server of SQP.
  assertEquals(of(["courier", "sqp"], ...all), ["sqp courier", "sqp courier", "sqp courier", true]);
  assertEquals(of([], ...all), ["", all.join(" "), all.join(" "), false]);
});

Deno.test("a weak reply is enough evidence of a server that is known to speak the protocol or a sibling", async () => {
  const weak = allProtocols.map((one) =>
    one.name === "courier"
      ? { ...one, isWeak: (_status: unknown, isKnown?: boolean) => !isKnown }
      : one
  );
  const protocols = weak.filter(({ name }) => usual.some((one) => one.name === name));
  const over = { allProtocols: weak, protocols };
  for (const follow of [true, false]) {
    for (const known of ["raknet", "courier"]) {
      const { found } = await rescan({ ...over, follow }, [known]);
      assertEquals(found.get(hostOf(1)), "courier", `${known} ${follow}`);
    }
    const unknown = await rescan({ ...over, follow }, []);
    assertEquals(unknown.found.get(hostOf(1)), undefined);
  }
});
