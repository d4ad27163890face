/**
 * Invented protocols, added as docs/architecture.md describes with two files and a line each, are
 * found, ranked and merged: tests/protocols/invented/.
 */
import { assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint } from "../../src/core/address.ts";
import { serverId } from "../../src/core/record.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";
import { mergeReplies } from "../../src/inspect/merge.ts";
import { usualPorts } from "../../src/protocols/usual_ports.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { usualProtocols } from "../../src/protocols/list.ts";
import { encodeMessage } from "../protocols/invented/herald/codec.ts";
import { WITH_INVENTED } from "../protocols/invented/list.ts";
import { type Result, scanFleet, type Setting } from "./scan_harness.ts";

const BASE = 0x7f100000;
const RANGE = { start: BASE, end: BASE + 256 };
const at = (last: number): Endpoint => ({ address: BASE + last, port: 7777 });
const named = (...names: string[]) => WITH_INVENTED.filter(({ name }) => names.includes(name));

/** A server that speaks Herald; a forger repeats another token. */
function herald(name: string, isForger = false): Responder {
  return {
    respond(datagram) {
      const text = String.fromCharCode(...datagram.subarray(4));
      const [verb, word] = text.split(" ");
      if (verb === "getchallenge") {
        const token = isForger ? "00000000" : word;
        return [encodeMessage(`challengeResponse 0000cafe ${token}`)];
      }
      return text === "getstatus 0000cafe" ? [encodeMessage(`statusResponse ${name} 3`)] : [];
    },
  };
}

/** A server that supports Ledger, and sends its reply in two pieces. */
const ledger = {
  accept: () => ({
    opening: [],
    receive: () =>
      ["LEDGER 15 ", "1.0\n"].map((text) => ({ bytes: new TextEncoder().encode(text) })),
  }),
};

const HERALDS = 100;

function scanInvented(setting: Partial<Setting> = {}): Promise<Result> {
  return scanFleet({
    fleet: { servers: 0, range: RANGE, seed: 1 },
    allProtocols: WITH_INVENTED,
    protocols: named("herald", "ledger"),
    ports: () => [7777],
    audited: false, // it supports the messages of other protocols too
    prepare: (network, _, streams) => {
      for (let i = 0; i < HERALDS; i++) network.host(at(i), herald(`herald${i}`));
      network.host(at(200), herald("forger", true));
      for (const i of [0, 1, 201]) streams.host(at(i), ledger);
    },
    ...setting,
  });
}

const rowAt = ({ rows }: Result, i: number) =>
  rows.find((row) => serverId(row) === formatEndpoint(at(i)))!;

Deno.test("invented protocols over UDP and TCP are found by a scan, and a forged token is not", async () => {
  const result = await scanInvented();
  assertEquals(result.end.error, undefined);
  assertEquals(result.rows.length, HERALDS + 1);
  // Which transport finds the two servers with both protocols depends on the pace of the passes. Half of
  // the tokens have their highest bit set.
  const { replies, tcp } = result.state;
  assertEquals([replies.valid + tcp.counts.valid, replies.forged > 0], [HERALDS + 1, true]);
  const { protocols, name, players_online, extras } = rowAt(result, 50);
  assertEquals([protocols, name, players_online], [["herald"], "herald50", 3]);
  assertEquals(extras, { herald: { name: "herald50" } });
});

Deno.test("an interview starts from the challenge in the reply to the probe", async () => {
  let challenges = 0;
  const once: Responder = {
    respond: (datagram, ...how) => {
      if (String.fromCharCode(...datagram).includes("getchallenge")) challenges++;
      return herald("Ann").respond(datagram, ...how);
    },
  };
  const { rows } = await scanInvented({
    protocols: named("herald"),
    prepare: (network) => network.host(at(0), once),
  });
  assertEquals([rows.map(({ name }) => name), challenges], [["Ann"], 1]);
});

Deno.test("a server that opts out in the name that an invented protocol reads gets no row", async () => {
  const [whole] = named("herald");
  const withEmptyMotd: Protocol = {
    ...whole,
    record(status) {
      const { columns, ...statement } = whole.record(status);
      return { ...statement, columns: { ...columns, motd: "" }, motdSent: "" };
    },
  };
  for (const protocol of [whole, withEmptyMotd]) {
    const { rows, state } = await scanInvented({
      allProtocols: [protocol],
      protocols: [protocol],
      prepare: (network) => {
        network.host(at(0), herald("Hive"));
        network.host(at(1), herald("\u00a7b\u00a7d\u00a7f\u00a7d\u00a7bHive"));
      },
    });
    assertEquals([rows.map(serverId), state.optedOut], [[formatEndpoint(at(0))], 1]);
  }
});

Deno.test("invented protocols of one endpoint are one row, ranked by the list and merged as declared", async () => {
  const result = await scanInvented();
  for (const i of [0, 1]) {
    const row = rowAt(result, i);
    assertEquals([row.protocol, row.protocols], ["herald", ["herald", "ledger"]]);
    assertEquals([row.name, row.version, row.players_online], [`herald${i}`, "1.0", 15]);
    assertEquals(row.flags, ["playersDiffer"]);
  }
  const onlyLedger = rowAt(result, 201);
  assertEquals([onlyLedger.protocol, onlyLedger.name, onlyLedger.players_online], [
    "ledger",
    "a ledger",
    15,
  ]);
  const allProtocols = [...named("ledger"), ...named("herald")];
  const turned = await scanInvented({ allProtocols, protocols: allProtocols });
  assertEquals(rowAt(turned, 0).protocols, ["ledger", "herald"]);
  assertEquals(rowAt(turned, 0).name, "a ledger");
});

Deno.test("values that an invented protocol reports in the wrong type are empty columns with a flag", async () => {
  const columns = { motd: 5, name: 7, version: "1.0", players_online: NaN, players_max: 20 };
  const careless = {
    ...named("herald")[0],
    record: () => ({ columns: columns as object, flags: [], facts: {} }),
  };
  const { end, rows } = await scanInvented({
    allProtocols: [careless],
    protocols: [careless],
    prepare: (network) => network.host(at(0), herald("Ann")),
  });
  assertEquals(end.error, undefined);
  const [{ name, motd, version, players_online, players_max, flags }] = rows;
  assertEquals([name, motd, version, players_online, players_max], [null, null, "1.0", null, 20]);
  assertEquals(flags, ["badColumn"]);
});

Deno.test("a scan without players leaves out the facts that an invented protocol declares", async () => {
  const guild = {
    ...named("herald")[0],
    playerFacts: ["regulars"],
    record: () => ({
      columns: { players: ["Ann"] },
      flags: [],
      facts: { regulars: ["Ann", "Bob"], players: 2 },
    }),
  };
  const rowsWith = async (players: boolean) => {
    const { rows } = await scanInvented({
      players,
      allProtocols: [guild],
      protocols: [guild],
      prepare: (network) => network.host(at(0), herald("Ann")),
    });
    return rows.map(({ players, extras }) => [players, extras!.herald]);
  };
  assertEquals(await rowsWith(true), [[["Ann"], { regulars: ["Ann", "Bob"], players: 2 }]]);
  assertEquals(await rowsWith(false), [[null, { players: 2 }]]);
});

Deno.test("an invented protocol ranks behind those before it, and before worlds of the local network", () => {
  const responses = ["lan", "herald", "raknet", "ledger"].map((protocol) => ({
    protocol,
    statement: { columns: { name: protocol }, flags: [], facts: {} },
  }));
  const context = { endpoint: at(0), seenAt: 0, latencyMs: null, scanId: "", requestedAs: null };
  const row = mergeReplies(responses, { ...context, allProtocols: WITH_INVENTED });
  assertEquals(row.protocols, ["raknet", "herald", "ledger", "lan"]);
  assertEquals(row.name, "raknet");
});

Deno.test("an invented protocol has its usual ports; one without any must be named", () => {
  const ports = usualPorts(WITH_INVENTED);
  assertEquals([ports("herald", 4), ports("herald", 6), ports("ledger", 4)], [
    [7777],
    [7777, 7778],
    [],
  ]);
  const usual = usualProtocols(WITH_INVENTED).map(({ name }) => name);
  assertEquals(usual, ["raknet", "nethernet", "slp", "query", "herald"]);
});
