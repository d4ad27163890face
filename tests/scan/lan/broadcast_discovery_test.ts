/** Covers src/scan/lan/. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Malformed } from "../../../src/core/bytes.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import {
  broadcastOf,
  type LocalLink,
  type LocalNetwork,
} from "../../../src/scan/lan/discovery_setup.ts";
import type { Protocol } from "../../../src/protocols/protocol.ts";
import { raknetProtocol } from "../../../src/protocols/raknet/mod.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { HOME, LINK, lookAround, lookAroundWell, OFFICE, put } from "./lan_harness.ts";

Deno.test("lan finds each server once, sends follow-ups, and drops opted-out servers", async () => {
  const network = new FakeNetwork(1, { loss: 0, duplication: 0.5, delay: 3, jitter: 5 });
  put(network, 0xc0a8010a, "bds", "pocketmine", "raknetNode", "bdsOptedOut");
  const found = await lookAround(network);
  assertEquals(found.map(({ host }) => host).toSorted(), [
    "192.168.1.10",
    "192.168.1.11",
    "192.168.1.12",
  ]);
  const pocketmine = found.find(({ host }) => host === "192.168.1.11")!;
  assertEquals(pocketmine.protocols, ["raknet", "query"]);
  assertEquals(found.find(({ host }) => host === "192.168.1.12")!.flags, ["timeNotEchoed"]);
});

Deno.test("lan broadcasts three pings, a second apart, on every network", async () => {
  const network = new FakeNetwork(1);
  await lookAround(network, { networks: [HOME, OFFICE] });
  const pings = network.sent.filter(({ to }) => to.port === 19132).map(
    ({ at, from, to, bytes }) => {
      assertEquals(bytes.length, 33);
      return `${at - 1000} ${Number(from.address).toString(16)} ${Number(to.address).toString(16)}`;
    },
  );
  assertEquals(
    pings,
    [0, 1000, 2000].flatMap((at) => [
      `${at} c0a80105 ffffffff`,
      `${at} c0a80105 c0a801ff`,
      `${at} a000005 ffffffff`,
      `${at} a000005 affffff`,
    ]),
  );
});

Deno.test("lan lists a server in two networks once", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const [, twin] = [0, 0x0a00000a];
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const [{ responder }] = drawFleet({ servers: 1, range, seed: 5, software: ["bds"] });
  network.host({ address: twin, port: 19132 }, responder!);
  assertEquals((await lookAround(network, { networks: [HOME, OFFICE] })).length, 1);
});

Deno.test("lan ignores replies from other networks, and replies to other pings", async () => {
  const network = new FakeNetwork(1);
  put(network, 0x08080808, "bds"); // a reply from outside of the network
  let opened = 0;
  const open = ({ address }: LocalNetwork | LocalLink) => {
    const socket = network.open(4, address);
    if (opened++ > 0) return socket; // the attacker cannot find out the port of the second query
    const pong = raknet.encodePong({ advertise: false, time: 77n, guid: 5n, text: undefined });
    // no server is at this address
    network.inject({ address: 0xc0a80163, port: 19132 }, socket, pong, 500);
    return socket;
  };
  assertEquals(await lookAround(network, { open }), []);
});

Deno.test("lan ends early when its signal is aborted", async () => {
  const network = new FakeNetwork(1);
  const controller = new AbortController();
  network.after(1500, () => controller.abort());
  await lookAround(network, { signal: controller.signal, listenMs: 60_000 });
  assert(network.now() < 3000);
});

Deno.test("lan reports why no ping was sent", async () => {
  const network = new FakeNetwork(1);
  const open = ({ address }: LocalNetwork | LocalLink) => {
    const socket = network.open(4, address);
    socket.send = () => {
      socket.errors.send.set("ENETUNREACH", 1);
      return Promise.resolve(false);
    };
    return socket;
  };
  assertEquals(await lookAroundWell(network, { open }), {
    sent: 0,
    unswept: 0,
    short: 0,
    refusals: ["ENETUNREACH"],
    found: [],
  });
});

Deno.test("lan reports each network that the system refuses, but no link without IPv6", async () => {
  const refusedAt = async (refused: LocalNetwork | LocalLink, code: string) => {
    const network = new FakeNetwork(1);
    put(network, 0xc0a8010a, "bds");
    const open = (one: LocalNetwork | LocalLink) => {
      if (one === refused) throw Object.assign(new Error("refused"), { code });
      return network.open("zone" in one ? 6 : 4, one.address);
    };
    const networks = [LINK, OFFICE, HOME];
    const { refusals, found } = await lookAroundWell(network, { networks, open });
    return [refusals, found.map(({ host }) => host)];
  };
  const found = ["192.168.1.10"];
  assertEquals(await refusedAt(OFFICE, "EADDRNOTAVAIL"), [["EADDRNOTAVAIL"], found]);
  assertEquals(await refusedAt(LINK, "EADDRNOTAVAIL"), [[], found]);
  assertEquals(await refusedAt(LINK, "EMFILE"), [["EMFILE"], found]);
});

Deno.test("lan reports the refused sends of networks, and not those of links", async () => {
  const sendsRefused = async (refused: LocalNetwork | LocalLink) => {
    const network = new FakeNetwork(1);
    const open = (one: LocalNetwork | LocalLink) => {
      const socket = network.open("zone" in one ? 6 : 4, one.address);
      if (one === refused) socket.errors.send.set("ENETUNREACH", 1);
      return socket;
    };
    return (await lookAroundWell(network, { networks: [LINK, OFFICE], open })).refusals;
  };
  assertEquals(await sendsRefused(OFFICE), ["ENETUNREACH"]);
  assertEquals(await sendsRefused(LINK), []);
});

Deno.test("lan works without a socket for announcements, and reports why", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const openGroup = () =>
    Promise.reject(Object.assign(new Error("in use"), { code: "EADDRINUSE" }));
  const { refusals, found } = await lookAroundWell(network, { openGroup });
  assertEquals([refusals, found.length], [["EADDRINUSE"], 1]);
  await assertRejects(
    () => lookAround(new FakeNetwork(1), { openGroup: () => Promise.reject(new TypeError("bug")) }),
    TypeError,
  );
});

Deno.test("a host that replies from all its ports is interviewed at few of them", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const token = 0x12345678n << 32n;
  const neighbour = (port: number) => ({ address: 0xc0a80163, port });
  let opened = 0;
  const open = ({ address }: LocalNetwork | LocalLink) => {
    const socket = network.open(4, address);
    if (opened++ > 0) return socket;
    for (let port = 1; port <= 2000; port++) {
      const pong = { advertise: false, time: token, guid: BigInt(port), text: undefined };
      network.inject(neighbour(port), socket, raknet.encodePong(pong), 100);
    }
    return socket;
  };
  const found = await lookAround(network, { open });
  assertEquals(found.length, 32 + 1);
});

Deno.test("a network of one address gets only the limited broadcast", async () => {
  const network = new FakeNetwork(1);
  await lookAround(network, { networks: [{ ...HOME, netmask: 0xffffffff }], listenMs: 500 });
  assertEquals(network.sent.map(({ to }) => to.address), [0xffffffff, 0xffffffff]);
});

Deno.test("malformed replies, and replies without the expected token, give no rows", async () => {
  const { probe } = raknetProtocol;
  const content = () => {
    throw new Malformed("pong", 33);
  };
  for (const broken of [{ content }, { mayLackToken: false }]) {
    const network = new FakeNetwork(1);
    put(network, 0xc0a8010a, "mayLackToken" in broken ? "raknetNode" : "bds");
    const protocol = { ...raknetProtocol, probe: { ...probe, ...broken } } as Protocol;
    assertEquals(await lookAround(network, { protocol }), []);
  }
});

Deno.test("an internal error ends the discovery", async () => {
  const bug = () => {
    throw new TypeError("a bug");
  };
  for (const probe of [{ read: bug }, { content: bug }]) {
    const network = new FakeNetwork(1);
    put(network, 0xc0a8010a, "bds");
    const protocol = { ...raknetProtocol, probe: { ...raknetProtocol.probe, ...probe } };
    await assertRejects(
      () => lookAround(network, { protocol: protocol as Protocol }),
      TypeError,
      "a bug",
    );
  }
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "raknetNode"); // its status comes from an interview
  const protocol = { ...raknetProtocol, record: bug } as Protocol;
  await assertRejects(() => lookAround(network, { protocols: [protocol] }), TypeError, "a bug");
  const open = () => {
    throw new Deno.errors.NotCapable("net");
  };
  await assertRejects(() => lookAround(network, { open }), Deno.errors.NotCapable);
});

Deno.test("a network that disappears during an interview does not end the discovery", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "raknetNode", "bds");
  let opened = 0;
  const open = ({ address }: LocalNetwork | LocalLink) => {
    if (opened++ === 0) return network.open(4, address);
    throw Object.assign(new Error("gone"), { code: "EADDRNOTAVAIL" });
  };
  assertEquals((await lookAround(network, { open })).map(({ host }) => host), ["192.168.1.11"]);
});

Deno.test("broadcastOf() gives the broadcast address of a network", () => {
  assertEquals(broadcastOf(HOME), 0xc0a801ff);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xfffffffc }), 0x0a000003);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xfffffffe }), undefined);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xffffffff }), undefined);
});
