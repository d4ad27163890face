/** The endpoints and protocols that `query` uses, with a fake name server. */
import { assertEquals, assertRejects } from "@std/assert";
import { formatEndpoint, parseAddress } from "../../../src/core/address.ts";
import { locate } from "../../../src/app/names/locate_server.ts";
import type { Lookups } from "../../../src/app/names/name_lookup.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Service } from "../../../src/targets/srv.ts";

const ADDRESSES: Record<string, readonly string[]> = {
  "play.example": ["10.0.0.1", "fc00::1"],
  "six.example": ["fc00::6", "10.0.0.6"],
  "mc1.example": ["10.0.0.7", "fc00::7"],
  "multicast.example": ["224.0.0.1"],
  "mixed.example": ["224.0.0.1", "10.0.0.9"],
};

/** A fake name server; `queried` contains the names whose SRV records were looked up. */
function names(services: Record<string, Service | Error> = {}) {
  const queried: string[] = [];
  const notes: string[] = [];
  const lookups: Lookups = {
    resolve: (name) => {
      const found = ADDRESSES[name];
      if (found !== undefined) return Promise.resolve(found.map((text) => parseAddress(text)!));
      return Promise.reject(new InputError(`Cannot find host "${name}"`));
    },
    findService: (name) => {
      queried.push(name);
      const found = services[name];
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    },
    note: (text) => notes.push(text),
    allowPrivate: true,
  };
  return { lookups, queried, notes };
}

const named = (...wanted: string[]) => PROTOCOLS.filter(({ name }) => wanted.includes(name));

/**
 * Endpoints with their protocols: those that are always queried, those that are queried after a
 * reply, and the SRV record.
 */
async function located(word: string, services = {}, protocols = named("raknet", "slp", "query")) {
  const { lookups, queried, notes } = names(services);
  const { endpoints, name } = await locate(word, protocols, lookups);
  const lines = endpoints.map(({ endpoint, first, rest, service }) => {
    const list = (some: typeof first) => some.map(({ name }) => name).join();
    const led = service === undefined ? "" : ` ${service.host}:${service.port}`;
    return `${formatEndpoint(endpoint)} ${list(first)}|${list(rest)}${led}`;
  });
  return { lines, name, queried, notes };
}

const MC1 = { host: "mc1.example", port: 25570 };

Deno.test("with another port, all protocols are queried there, and no SRV record is looked up", async () => {
  const services = { "play.example": MC1 };
  for (
    const [word, line, name] of [
      ["10.0.0.1:9", "10.0.0.1:9 raknet,slp,query|", null],
      ["[::1]:25565", "[::1]:25565 raknet,slp,query|", null],
      ["Play.Example:9", "10.0.0.1:9 raknet,slp,query|", "play.example"],
    ] as const
  ) assertEquals(await located(word, services), { lines: [line], name, queried: [], notes: [] });
});

Deno.test("without a port, each protocol is queried on its usual port", async () => {
  const lines = ["10.0.0.1:19132 raknet|slp,query", "10.0.0.1:25565 slp,query|raknet"];
  assertEquals(await located("10.0.0.1"), { lines, name: null, queried: [], notes: [] });
  const queried = ["play.example"];
  assertEquals(await located("play.example"), { lines, name: "play.example", queried, notes: [] });
  assertEquals((await located("six.example")).lines, [
    "[fc00::6]:19132 raknet|slp,query",
    "[fc00::6]:19133 raknet|slp,query",
    "[fc00::6]:25565 slp,query|raknet",
  ]);
});

Deno.test("slp is queried at the target of an SRV record instead of on its usual port", async () => {
  const { lines, name, notes } = await located("play.example", { "play.example": MC1 });
  assertEquals([name, notes], ["play.example", []]);
  assertEquals(lines, [
    "10.0.0.1:19132 raknet|slp,query",
    "10.0.0.7:25570 slp|raknet,query mc1.example:25570",
    "10.0.0.1:25565 query|raknet,slp",
  ]);
});

Deno.test("the usual port of Java servers is treated as no port, as in the game", async () => {
  const { lines, name } = await located("play.example:25565", { "play.example": MC1 });
  assertEquals(name, "play.example");
  assertEquals(lines, [
    "10.0.0.1:25565 raknet,query|slp",
    "10.0.0.7:25570 slp|raknet,query mc1.example:25570",
  ]);
  const without = await located("play.example:25565");
  assertEquals([without.lines, without.queried], [["10.0.0.1:25565 raknet,slp,query|"], [
    "play.example",
  ]]);
  assertEquals((await located("only.example:25565", { "only.example": MC1 })).lines, [
    "10.0.0.7:25570 slp|raknet,query mc1.example:25570",
  ]);
  assertEquals((await located("10.0.0.1:25565")).queried, []);
});

Deno.test("an SRV record is looked up only when slp is queried", async () => {
  const services = { "play.example": MC1 };
  const { lines, queried } = await located("play.example", services, named("raknet", "query"));
  assertEquals([lines.length, queried], [2, []]);
  assertEquals((await located("play.example", services, named("slp"))).lines, [
    "10.0.0.7:25570 slp| mc1.example:25570",
  ]);
});

Deno.test("SRV records are followed once, even in a chain or a loop", async () => {
  const chain = await located("play.example", {
    "play.example": MC1,
    "mc1.example": { host: "play.example", port: 1 },
  }, named("slp"));
  assertEquals([chain.lines, chain.queried], [["10.0.0.7:25570 slp| mc1.example:25570"], [
    "play.example",
  ]]);
  const loop = await located("play.example", {
    "play.example": { host: "play.example", port: 25565 },
  });
  assertEquals([loop.lines, loop.queried], [[
    "10.0.0.1:19132 raknet|slp,query",
    "10.0.0.1:25565 slp,query|raknet play.example:25565",
  ], ["play.example"]]);
});

Deno.test("a name with only an SRV record is queried at the record's target", async () => {
  const { lines, notes } = await located("only.example", { "only.example": MC1 });
  assertEquals([lines, notes], [["10.0.0.7:25570 slp|raknet,query mc1.example:25570"], []]);
  const { lookups } = names({ "only.example": { host: "gone.example", port: 1 } });
  await assertRejects(
    () => locate("only.example", USUAL_PROTOCOLS, lookups),
    InputError,
    'Cannot find host "only.example"',
  );
});

Deno.test("an unusable SRV record is reported and ignored", async () => {
  const usual = ["10.0.0.1:25565 slp|"];
  const cases: [Service | Error, string][] = [
    [new InputError("the name server does not reply"), "the name server does not reply"],
    [
      { host: "gone.example", port: 7 },
      'play.example SRV gone.example:7: Cannot find host "gone.example"',
    ],
    [
      { host: "multicast.example", port: 7 },
      'play.example SRV multicast.example:7: Cannot use the record "multicast.example A ' +
      '224.0.0.1": never probed: multicast (RFC 5771)',
    ],
  ];
  for (const [service, note] of cases) {
    const { lines, notes } = await located(
      "play.example",
      { "play.example": service },
      named("slp"),
    );
    assertEquals([lines, notes], [usual, [note]]);
  }
  const mixed = { "play.example": { host: "mixed.example", port: 7 } };
  const { lines, notes } = await located("play.example", mixed, named("slp"));
  assertEquals(lines, ["10.0.0.9:7 slp| mixed.example:7"]);
  assertEquals(notes, [
    'play.example SRV mixed.example:7: Cannot use the record "mixed.example A 224.0.0.1": ' +
    "never probed: multicast (RFC 5771)",
  ]);
});

Deno.test("an unexpected lookup error is not taken for a missing record", async () => {
  const { lookups } = names({ "play.example": new TypeError("a bug") });
  await assertRejects(() => locate("play.example", USUAL_PROTOCOLS, lookups), TypeError, "a bug");
});

Deno.test("a link-local address has a zone, and no other address has one", async () => {
  const { lines, name } = await located("fe80::1%eth0");
  assertEquals([lines, name], [[
    "[fe80::1%eth0]:19132 raknet|slp,query",
    "[fe80::1%eth0]:19133 raknet|slp,query",
    "[fe80::1%eth0]:25565 slp,query|raknet",
  ], null]);
  assertEquals((await located("[FE80::1%3]:7")).lines, ["[fe80::1%3]:7 raknet,slp,query|"]);
  const { lookups } = names();
  for (
    const [word, message] of [
      ["fe80::1", 'Cannot use "fe80::1": a link-local address needs the zone of its link, as in'],
      ["[fe80::1]:7", 'Cannot use "[fe80::1]:7": a link-local address needs the zone of its link'],
      ["2001:db8::1%eth0", 'Cannot parse "2001:db8::1%eth0": only query and watch take a zone'],
      ["[fe80::1%a b]:7", 'Cannot parse "[fe80::1%a b]:7": only query and watch take a zone'],
      [
        "[fe80::1%eth0]:0",
        'Cannot parse port of "[fe80::1]:0": a port is a number from 1 to 65535',
      ],
    ]
  ) await assertRejects(() => locate(word, USUAL_PROTOCOLS, lookups), InputError, message);
});

Deno.test("a host that must not be queried is refused", async () => {
  const { lookups, queried } = names();
  for (
    const [word, message] of [
      ["10.0.0.0/24", 'Cannot query "10.0.0.0/24": it is a range'],
      ["224.0.0.1", 'Cannot query "224.0.0.1": never probed: multicast'],
      ["multicast.example", 'record "multicast.example A 224.0.0.1": never probed: multicast'],
      ["gone.example", 'Cannot find host "gone.example"'],
      ["a..b", 'Cannot parse "a..b"'],
      ["10.0.0.1:99999", "99999"],
    ]
  ) await assertRejects(() => locate(word, USUAL_PROTOCOLS, lookups), InputError, message);
  queried.length = 0;
  await assertRejects(
    () => locate("play.example", PROTOCOLS, lookups),
    InputError,
    'Cannot use protocol "sqp" without a port: it has no default port; give HOST:PORT',
  );
  assertEquals(queried, []);
});
