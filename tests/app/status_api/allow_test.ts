/**
 * The mode `allow` of the status API on a simulated network. Covers
 * src/app/status_api/fresh_statuses.ts, src/app/status_api/open_fresh_statuses.ts,
 * src/app/metrics/probe/probe_engine.ts and src/web/status/fresh_server.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type FreshStatus,
  FreshStatuses,
  MAX_WAITING,
  SHARED_MS,
  StatusLimit,
} from "../../../src/app/status_api/fresh_statuses.ts";
import { ALLOW_LIMIT } from "../../../src/app/status_api/open_fresh_statuses.ts";
import { MAX_PROBES, ProbeRefused } from "../../../src/app/metrics/probe/probe_engine.ts";
import { type Endpoint, parseAddress } from "../../../src/core/address.ts";
import { ATTACHMENTS } from "../../../src/core/record.ts";
import { rangeOfOne } from "../../../src/targets/ranges.ts";
import type { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { freshServer } from "../../../src/web/status/fresh_server.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";
import { settingsOf, shown, withStatuses } from "./bench.ts";

const JAVA = { software: "vanilla", status: { name: "Lobby", players_online: 3, players_max: 20 } };
const BEDROCK = { software: "bds", status: { name: "Bedrock", players_online: 1 } };

/** Servers under names, with and without an SRV record. */
function prepare(network: SimulatedNetwork): void {
  network.addServer({ host: "45.33.32.1", ...JAVA });
  network.addServer({ host: "45.33.32.1", ...BEDROCK });
  network.addServer({ host: "45.33.32.2", ...JAVA });
  network.addName("play.example.org", ["45.33.32.9"], { host: "mc.example.net", port: 25565 });
  network.addName("mc.example.net", ["45.33.32.2"]);
  network.addName("twice.example.org", ["45.33.32.9"], { host: "play.example.org", port: 25565 });
}

Deno.test("servers of the list are probed, in the edition of the route; others are left to the database", () =>
  withStatuses(settingsOf("45.33.32.1,play.example.org"), async ({ get, sent, lookups }) => {
    assertEquals(shown(await get("45.33.32.3")), "database");
    assertEquals(shown(await get("mc.example.net")), "database");
    assertEquals(shown(await get("[::ffff:127.0.0.1]:25565")), "database");
    assertEquals([sent(), lookups], [[], []]);
    const java = await get("45.33.32.1") as FreshStatus;
    assertEquals([java.record?.edition, java.record?.players_online], ["java", 3]);
    assertEquals(sent(), ["45.33.32.1:25565"]);
    const bedrock = await get("45.33.32.1", "bedrock") as FreshStatus;
    assertEquals([bedrock.record?.edition, bedrock.record?.players_online], ["bedrock", 1]);
    assertEquals(sent(), ["45.33.32.1:19132", "45.33.32.1:25565"]);
    assertEquals(shown(await get("45.33.32.1:25566")), "offline");
  }, { prepare }));

Deno.test("a low port is permitted only for the target with which the list names it", () => {
  const list = "45.33.32.1:25,45.33.32.2,play.example.org,mc.example.net:26";
  return withStatuses(settingsOf(list), async ({ get, sent }) => {
    assertEquals(shown(await get("45.33.32.1:25")), "offline");
    assertEquals(sent(), ["45.33.32.1:25"]);
    for (const text of ["45.33.32.2:25", "play.example.org:25", "play.example.org:26"]) {
      assertEquals(shown(await get(text)), "database", text);
    }
    assertEquals(sent(), ["45.33.32.1:25"]);
  }, { prepare });
});

Deno.test("an SRV record is followed once, for the usual port of a Java server only", () =>
  withStatuses(
    settingsOf("play.example.org,twice.example.org"),
    async ({ get, sent }) => {
      const { endpoint, record } = await get("play.example.org") as FreshStatus;
      assertEquals(endpoint?.service, { host: "mc.example.net", port: 25565 });
      assertEquals(record?.requested_as, "play.example.org SRV mc.example.net:25565");
      assertEquals(sent(), ["45.33.32.2:25565"]);
      assertEquals(shown(await get("play.example.org", "bedrock")), "offline");
      assertEquals(sent(), ["45.33.32.2:25565", "45.33.32.9:19132"]);
      assertEquals(shown(await get("twice.example.org")), "offline"); // and not play's own record
      assertEquals(sent(), ["45.33.32.2:25565", "45.33.32.9:19132", "45.33.32.9:25565"]);
    },
    { prepare },
  ));

Deno.test("a status is shared: 30 s online, 60 s offline, 300 s of a name that leads nowhere", () =>
  withStatuses(
    settingsOf("45.33.32.0/24,gone.example.org"),
    async ({ get, later, network, lookups }) => {
      const count = () => network.streams.begun.length;
      for (
        const [text, state, kind] of [
          ["45.33.32.1", "Lobby", "online"],
          ["45.33.32.77", "offline", "offline"],
          ["gone.example.org", "nowhere", "unresolved"],
        ] as const
      ) {
        const cost = () => kind === "unresolved" ? lookups.length : count();
        const first = await get(text) as FreshStatus;
        const { retrievedAt, expiresAt } = first;
        assertEquals([shown(first), expiresAt - retrievedAt], [state, SHARED_MS[kind]], text);
        const before = cost();
        await later(SHARED_MS[kind] - 1000);
        const again = await Promise.all(Array.from({ length: 100 }, () => get(text)));
        assert(again.every((one) => (one as FreshStatus).isShared));
        assertEquals((again[0] as FreshStatus).retrievedAt, retrievedAt);
        assertEquals(cost(), before);
        await later(2000);
        const next = await get(text) as FreshStatus;
        assertEquals([next.isShared, next.retrievedAt > retrievedAt], [false, true]);
        assert(cost() > before);
      }
    },
    { prepare },
  ));

Deno.test("1,000 requests a second for 50 servers cause at most 10 interviews a second", () =>
  withStatuses(
    settingsOf("45.33.32.0/24"),
    async ({ get, later, network }) => {
      const seconds = 34;
      let [limited, answered] = [0, 0];
      const pending: Promise<void>[] = [];
      for (let tick = 0; tick < seconds * 100; tick++) {
        for (let i = 0; i < 10; i++) {
          const client = `198.51.100.${i}`;
          const one = get(`45.33.32.${1 + (tick * 10 + i) % 50}`, "java", client).then(
            () => void answered++,
            (error) => {
              assert(error instanceof StatusLimit, String(error));
              limited++;
            },
          );
          pending.push(one);
        }
        await later(10);
      }
      await Promise.all(pending);
      assertEquals(answered + limited, seconds * 1000);
      const starts = network.streams.begun.map(({ at }) => at);
      const most = Math.max(
        ...starts.map((from) => starts.filter((at) => at >= from && at < from + 5000).length),
      );
      assert(starts.length > 50, `${starts.length} interviews`); // some servers twice
      assert(most <= 50, `${most} interviews in five seconds`);
      assert(answered > 0.9 * seconds * 1000, `${answered} answered`);
    },
    {
      prepare: (network) => {
        for (let i = 1; i <= 50; i++) network.addServer({ host: `45.33.32.${i}`, ...JAVA });
      },
    },
  ));

Deno.test("a client that asks for silent servers leaves three quarters of the probes to others", () =>
  withStatuses(settingsOf("45.33.32.0/24"), async ({ get, later, network }) => {
    network.streams.absent = "timeout";
    const ask = (host: string, client: string) =>
      get(host, "java", client).then(shown, (error) => {
        assert(error instanceof StatusLimit && error.databaseAnswers, String(error));
        return error.retryAfterS;
      });
    const pending: Promise<string | number>[] = [];
    for (let i = 0; i < 24; i++) pending.push(ask(`45.33.32.${100 + i}`, "2001:db8::1"));
    assertEquals(await ask("45.33.32.1", "198.51.100.2"), "Lobby");
    assertEquals(await ask("45.33.32.2", "2001:db8:0:ff::2"), 1); // the same /56
    const answers = await Promise.all(pending);
    assertEquals(answers.filter((one) => one === "offline").length, MAX_PROBES / 4);
    assertEquals(answers.filter((one) => one === 1).length, 24 - MAX_PROBES / 4);
    await later(10_000);
    assertEquals(await ask("45.33.32.2", "2001:db8:0:ff::2"), "Lobby");
  }, { prepare }));

Deno.test("a client has a limit in a minute, and others have their own", () => {
  const names = Array.from({ length: ALLOW_LIMIT.burst + 1 }, (_, i) => `gone${i}.example`);
  return withStatuses(settingsOf(`45.33.32.0/24,${names}`), async ({ get, later }) => {
    for (const name of names.slice(1)) assertEquals(shown(await get(name)), "nowhere");
    const limit = await assertRejects(() => get(names[0]), StatusLimit);
    assertEquals([limit.retryAfterS, limit.databaseAnswers], [1, true]);
    assertEquals(shown(await get(names[1])), "nowhere"); // a shared status does not count
    assertEquals(shown(await get(names[0], "java", "198.51.100.8")), "nowhere");
    await later(1000);
    assertEquals(shown(await get("45.33.32.1")), "Lobby");
  }, { prepare });
});

Deno.test("a client may wait for a bounded number of statuses that others find", () =>
  withStatuses(settingsOf("45.33.32.0/24"), async ({ get, network }) => {
    network.streams.absent = "timeout";
    const first = get("45.33.32.99", "java", "198.51.100.1");
    const waiting = Array.from({ length: MAX_WAITING + 5 }, () => get("45.33.32.99"));
    const other = get("45.33.32.99", "java", "198.51.100.2");
    const ended = await Promise.allSettled(waiting);
    assertEquals(ended.filter(({ status }) => status === "fulfilled").length, MAX_WAITING);
    assertEquals([shown(await first), shown(await other)], ["offline", "offline"]);
    assertEquals(shown(await get("45.33.32.99")), "offline");
  }, { prepare }));

Deno.test("a limit of one client does not end the requests of others for the same server", async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  const statuses = new FreshStatuses({
    engine: {
      probe: async ({ target, client = "" }) => {
        asked.push(client);
        await gate.promise;
        if (client === "192.0.2.1/32") throw new ProbeRefused(429, "a limit of the client", 9);
        return { endpoint: target as Endpoint, replied: undefined, tookMs: 0, lookupMs: 0 };
      },
    },
    targets: { require: () => {} },
    ...{ protocolsOf: () => [], clock, databaseAnswers: true },
  });
  const of = (client: string) => {
    const target = { address: 1, port: 25565 };
    return statuses.status({ target, edition: "java", client: parseAddress(client)! });
  };
  const all = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"].map(of);
  gate.resolve();
  const ended = await Promise.allSettled(all);
  assertEquals(ended.map(({ status }) => status), [
    ...["rejected", "rejected", "fulfilled", "fulfilled"],
  ]);
  assertEquals(asked, ["192.0.2.1/32", "192.0.2.2/32"]);
});

Deno.test("more servers at once than may be probed are a limit, and no status", () =>
  withStatuses(settingsOf("45.33.32.0/24"), async ({ get }) => {
    const all = await Promise.allSettled(
      Array.from(
        { length: MAX_PROBES + 5 },
        (_, i) => get(`45.33.32.${100 + i}`, "java", `198.51.100.${i}`),
      ),
    );
    const refused = all.filter(({ status }) => status === "rejected");
    assertEquals(refused.length, 5);
    const { reason } = refused[0] as PromiseRejectedResult;
    assertEquals([reason instanceof StatusLimit, reason.retryAfterS], [true, 1]);
    assertEquals(shown(await get("45.33.32.104")), "offline");
    assertEquals(shown(await get("45.33.32.120")), "offline"); // a limit is not remembered
  }));

Deno.test("opt-outs and exclusions hold: those of the file, of the database and of the server itself", async () => {
  const excluded = [rangeOfOne(parseAddress("45.33.32.4")!)];
  await withStatuses(
    settingsOf("45.33.32.0/24,own.example.org", { excluded }),
    async ({ get, sent, later, network }) => {
      for (const text of ["45.33.32.3", "45.33.32.4", "45.33.32.5"]) {
        assertEquals(shown(await get(text)), "offline");
      }
      assertEquals(shown(await get("own.example.org")), "nowhere");
      assertEquals(sent(), []);
      network.optedOut.push(parseAddress("45.33.32.1")!);
      await later(1500);
      assertEquals(shown(await get("45.33.32.1")), "offline");
      assertEquals(sent(), []);
      assertEquals(shown(await get("45.33.32.2")), "offline"); // it says so in its MOTD
      assertEquals(sent(), ["45.33.32.2:25565"]);
      assert(network.optedOut.includes(parseAddress("45.33.32.2")!));
      const before = network.streams.begun.length;
      await later(SHARED_MS.offline + 1000);
      assertEquals(shown(await get("45.33.32.2")), "offline");
      assertEquals(network.streams.begun.length, before);
    },
    {
      isOptedOut: (address) => Promise.resolve(address === parseAddress("45.33.32.5")),
      prepare: (network) => {
        network.optedOut.push(parseAddress("45.33.32.3")!);
        network.addName("own.example.org", ["45.33.32.3"]);
        for (const last of [1, 3, 4, 5]) {
          network.addServer({ host: `45.33.32.${last}`, ...JAVA });
        }
        const status = { ...JAVA.status, name: "§b§d§f§d§b closed" };
        network.addServer({ host: "45.33.32.2", software: "vanilla", status });
      },
    },
  );
});

Deno.test("if the database cannot say who opted out, nothing is sent", () =>
  withStatuses(settingsOf("45.33.32.0/24"), async ({ get, sent }) => {
    await assertRejects(() => get("45.33.32.1"), Error, "the database is away");
    await assertRejects(() => get("45.33.32.1"), Error, "the database is away");
    assertEquals(sent(), []);
  }, { prepare, isOptedOut: () => Promise.reject(new Error("the database is away")) }));

for (const hasNames of [true, false]) {
  Deno.test(`UUIDs of players are in a fresh status ${hasNames ? "" : "only "}with --names`, () =>
    withStatuses(settingsOf("45.33.32.0/24", { hasNames }), async ({ get }) => {
      const status = await get("45.33.32.6") as FreshStatus;
      const server = freshServer(status, { host: "45.33.32.6", isName: false, port: undefined })!;
      assertEquals(status.record?.players?.includes("Ann"), true);
      assertEquals(server.uuids!.size > 0, hasNames);
      for (const uuid of server.uuids!.values()) assertEquals(uuid.length, 36);
      assertEquals(status.record![ATTACHMENTS]?.replies, {});
      assert(!JSON.stringify(status.record).includes([...server.uuids!.values()][0] ?? "-no-"));
    }, {
      prepare: (network) => {
        const players = { players_online: 2, players_max: 20, players: ["Ann", "Bob"] };
        network.addServer({ host: "45.33.32.6", software: "vanilla", status: players });
      },
    }));
}

Deno.test("10,000 servers leave a bounded number of statuses behind", async () => {
  const clock = new ManualClock();
  const statuses = new FreshStatuses({
    engine: {
      probe: ({ target }) =>
        Promise.resolve({
          endpoint: target as Endpoint,
          replied: undefined,
          tookMs: 0,
          lookupMs: 0,
        }),
    },
    targets: { require: () => {} },
    ...{ protocolsOf: () => [], clock, databaseAnswers: false },
  });
  for (let address = 0; address < 10_000; address++) {
    const target = { address, port: 25565 };
    await statuses.status({ target, edition: "java", client: 1 });
  }
  assert(statuses.size <= 1024, `${statuses.size} statuses`);
});
