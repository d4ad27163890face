import { assertEquals } from "@std/assert";
import { type Address, parseEndpoint } from "../../../src/core/address.ts";
import * as sqp from "../../../src/protocols/sqp/mod.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { ProbedEndpoints } from "../../../src/scan/tables/probed_endpoints.ts";
import { compose } from "../../../src/targets/compose.ts";
import { scanFleet, selectionFor } from "../scan_harness.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100002 };
const VICTIM = RANGE.start + 1;

Deno.test("a reply from a port that is not probed leads to no datagram to that port", async () => {
  for (const sqpToo of [true, false]) {
    const forged = sqpToo ? 19132 : 5353;
    const { network, rows, state } = await scanFleet({
      fleet: { servers: 1, range: { ...RANGE, end: VICTIM }, seed: 3, software: ["sqpFull"] },
      range: RANGE,
      protocolNames: sqpToo ? ["raknet", "sqp"] : ["raknet", "query"],
      ports: () => [9000],
      retries: 0,
      prepare: (fake, [{ endpoint, responder }]) =>
        fake.host(endpoint, {
          respond(datagram, from, now) {
            const reply = sqpToo ? sqp.encodeSqpChallenge(1) : PONG;
            fake.inject({ address: VICTIM, port: forged }, from, reply, 1);
            return responder!.respond(datagram, from, now);
          },
        }),
    });
    assertEquals(network.sent.filter(({ to }) => to.port !== 9000).map(({ to }) => to), []);
    assertEquals(rows.filter(({ port }) => port !== 9000), []);
    assertEquals(rows.length, sqpToo ? 1 : 0);
    assertEquals(state.replies.unsolicited > 0, true);
  }
});

const PONG = Uint8Array.fromHex(
  `1c${"00".repeat(8)}${"11".repeat(8)}00ffff00fefefefefdfdfdfd12345678`,
);

Deno.test("probed endpoints are known by address, port and protocol", () => {
  const inclusion = (start: number | bigint, size: number, port?: number) => ({
    range: { start, end: typeof start === "bigint" ? start + BigInt(size) : start + size },
    port,
  });
  const ports: Record<string, readonly number[]> = { raknet: [19132], sqp: [9000], slp: [25565] };
  const targets = {
    addresses: compose(
      [inclusion(0x7f000000, 256), inclusion(0x7f000205, 1, 7777), inclusion(1n, 1)],
      { never: [], private: [], chosen: [{ start: 0x7f000003, end: 0x7f000004 }] },
    ),
    protocols: PROTOCOLS.filter(({ name }) => name in ports),
    ports: (name: string) => ports[name],
  };
  const limits = { retries: 1 };
  const probed = new ProbedEndpoints({ ...selectionFor(targets), limits });
  const has = (text: string, protocol?: string) => probed.has(parseEndpoint(text)!, protocol);
  const IN: [string, string][] = [
    ["127.0.0.1:19132", "raknet"],
    ["127.0.0.1:9000", "raknet"], // probed because of SQP
    ["127.0.0.1:9000", "sqp"],
    ["127.0.0.1:25565", "slp"],
    ["127.0.2.5:7777", "sqp"],
    ["[::1]:19132", "raknet"],
  ];
  const OUT: [string, string][] = [
    ["127.0.0.1:19132", "sqp"],
    ["127.0.0.1:25565", "raknet"],
    ["127.0.0.1:19133", "raknet"],
    ["127.0.0.1:19132", "query"],
    ["127.0.0.3:19132", "raknet"],
    ["127.0.1.0:19132", "raknet"],
    ["127.0.2.5:19132", "raknet"],
    ["127.0.0.1:7777", "raknet"],
    ["[::2]:19132", "raknet"],
  ];
  for (const [text, protocol] of IN) assertEquals([text, has(text, protocol)], [text, true]);
  for (const [text, protocol] of OUT) assertEquals([text, has(text, protocol)], [text, false]);
  assertEquals([has("127.0.0.1:25565"), has("127.0.0.1:7777")], [true, false]);
  const late = new Set<Address>();
  const open = new ProbedEndpoints({ ...selectionFor(targets), limits }, undefined, late);
  const { address, port } = parseEndpoint("127.0.0.1:19132")!;
  const lookups = () => [open.has({ address, port }, "raknet"), open.hasHost(address)];
  assertEquals(lookups(), [true, true]);
  late.add(address); // it opts out during the scan
  assertEquals(lookups(), [false, false]);
});

Deno.test("the maximum number of probes to a host counts all its ports in all passes", () => {
  const range = (start: number) => ({ range: { start, end: start + 1 } });
  const most = (protocols: string[], retries: number) =>
    new ProbedEndpoints({
      ...selectionFor({
        addresses: compose([{ ...range(1), port: undefined }, { ...range(2), port: 7777 }], {
          ...{ never: [], private: [], chosen: [] },
        }),
        protocols: PROTOCOLS.filter(({ name }) => protocols.includes(name)),
        ports: (name: string) => name === "raknet" ? [1, 2, 3] : [4],
      }),
      limits: { retries },
    }).maxProbes;
  assertEquals([most(["raknet"], 0), most(["raknet"], 3), most(["raknet", "query"], 1)], [
    3,
    12,
    8,
  ]);
});
