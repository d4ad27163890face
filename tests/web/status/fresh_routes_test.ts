/** Answers of the status API with statuses that were found for clients. */
import { assert, assertEquals } from "@std/assert";
import {
  type FreshRequest,
  type FreshStatus,
  StatusLimit,
} from "../../../src/app/status_api/fresh_statuses.ts";
import { formatAddress, parseAddress } from "../../../src/core/address.ts";
import { ATTACHMENTS, emptyRecord } from "../../../src/core/record.ts";
import { rangeOfOne } from "../../../src/targets/ranges.ts";
import { NOW } from "../fake_data.ts";
import { clientOf } from "../http/client.ts";

const ENDPOINT = { address: parseAddress("45.33.32.1")!, port: 25565 };
const UUID = "069a79f4-44e9-4726-a5be-fca90e38aaf5";

const ONLINE: FreshStatus = {
  record: {
    ...emptyRecord(ENDPOINT, NOW),
    ...{ edition: "java", protocols: ["slp"], motd: "Fresh", players_online: 3, players_max: 9 },
    players: ["Ann", "Bob", "__proto__"],
    [ATTACHMENTS]: {
      replies: {},
      sample: [{ name: "Ann", id: UUID }, { name: "Bob", id: "<b>" }, {
        name: "__proto__",
        id: UUID,
      }],
    },
  },
  endpoint: ENDPOINT,
  ...{ retrievedAt: NOW, expiresAt: NOW + 30_000, isShared: false },
};

/** A dashboard whose statuses come from a function. */
function serving(status: (request: FreshRequest) => FreshStatus | undefined, hasNames = false) {
  const requests: FreshRequest[] = [];
  const fresh = {
    status: (request: FreshRequest) => {
      requests.push(request);
      return new Promise<FreshStatus | undefined>((resolve) => resolve(status(request)));
    },
  };
  const trustedProxies = [rangeOfOne(parseAddress("127.0.0.1")!)];
  return { get: clientOf({ statusApi: { hasNames, fresh }, trustedProxies }), requests };
}

Deno.test("a fresh status has its own times, in the document and for caches", async () => {
  const { get, requests } = serving(() => ONLINE);
  const { headers, text } = await get("GET /v2/status/java/45.33.32.1", {
    "x-forwarded-for": "192.0.2.9",
  });
  const { online, retrieved_at, expires_at, players, motd } = JSON.parse(text);
  assertEquals([online, retrieved_at, expires_at], [true, NOW, NOW + 30_000]);
  assertEquals([motd.clean, players], ["Fresh", { online: 3, max: 9, list: [] }]);
  assertEquals(headers["cache-control"], "public, max-age=30");
  assertEquals([headers["x-cache-hit"], headers["x-cache-time-remaining"]], ["false", undefined]);
  assertEquals(requests.map(({ client }) => formatAddress(client)), ["192.0.2.9"]);
  const { debug } = JSON.parse((await get("GET /3/45.33.32.1")).text);
  assertEquals([debug.cachehit, debug.cacheexpire - debug.cachetime], [false, 30]);
  assertEquals(
    (await get("GET /simple/45.33.32.1")).headers["cache-control"],
    "public, max-age=30",
  );
});

Deno.test("UUIDs are in answers with names only, and only if they are some", async () => {
  const { get } = serving(() => ONLINE, true);
  const of = async (path: string) => JSON.parse((await get(`GET ${path}/45.33.32.1`)).text).players;
  assertEquals((await of("/3")).list, [
    { name: "Ann", uuid: UUID },
    { name: "Bob", uuid: "" },
    { name: "__proto__", uuid: UUID },
  ]);
  const { list, uuid } = await of("/2");
  assertEquals([list, Object.entries(uuid)], [
    ["Ann", "Bob", "__proto__"],
    [["Ann", UUID], ["__proto__", UUID]],
  ]);
  const mcstatus = await of("/v2/status/java");
  assertEquals(mcstatus.list.map((one: { uuid: string }) => one.uuid), [UUID, "", UUID]);
  const { text } = await serving(() => ONLINE).get("GET /3/45.33.32.1");
  assert(!text.includes(UUID) && !text.includes("Ann"));
});

Deno.test("an offline server and one that is never probed have the same document", async () => {
  const offline = { ...ONLINE, record: undefined, expiresAt: NOW + 60_000 };
  const { get } = serving(({ target }) => ({
    ...offline,
    endpoint: "address" in target ? target : undefined,
  }));
  for (const path of ["/3", "/bedrock/3", "/v2/status/java", "/v2/status/bedrock"]) {
    const texts = ["45.33.32.7", "10.0.0.1"].map(async (host) =>
      (await get(`GET ${path}/${host}`)).text.replaceAll(host, "HOST")
    );
    const [public_, private_] = await Promise.all(texts);
    assertEquals(public_, private_);
    assertEquals(JSON.parse(public_).online, false);
    const names = ["gone.example", "inside.example"].map(async (name) =>
      (await get(`GET ${path}/${name}`)).text.replaceAll(name, "NAME")
    );
    assertEquals(...await Promise.all(names) as [string, string]);
  }
});

Deno.test("without a fresh status the database answers; badges never cause one", async () => {
  const { get, requests } = serving(() => undefined);
  const { online, motd } = JSON.parse((await get("GET /3/10.0.0.1:25565")).text);
  assertEquals([online, motd !== undefined, requests.length], [true, true, 1]);
  for (const path of ["badge", "banner", "shields"]) {
    assertEquals((await get(`GET /${path}/10.0.0.1:25565`)).status, 200);
  }
  assertEquals(requests.length, 1);
});

Deno.test("beyond a limit the database answers, if the mode permits that and it has the server", async () => {
  const at = (databaseAnswers: boolean) =>
    serving(() => {
      throw new StatusLimit(17, databaseAnswers);
    }).get;
  const { status, text } = await at(true)("GET /3/10.0.0.1:25565");
  assertEquals([status, JSON.parse(text).online], [200, true]);
  assertEquals((await at(true)("GET /3/45.33.32.1")).status, 429);
  assertEquals((await at(false)("GET /3/10.0.0.1:25565")).status, 429);
});

Deno.test("a limit is 429 with Retry-After in all forms, as text that no cache keeps", async () => {
  const { get } = serving(() => {
    throw new StatusLimit(17);
  });
  for (
    const path of ["/3", "/2", "/simple", "/icon", "/v2/status/java", "/v2/icon", "/bedrock/3"]
  ) {
    const { status, headers, text } = await get(`GET ${path}/45.33.32.1`);
    assertEquals([status, text, headers["retry-after"]], [429, "Too Many Requests", "17"]);
    assertEquals(headers["content-type"], "text/plain; charset=utf-8");
    assertEquals(headers["access-control-allow-origin"], "*");
    assertEquals(headers["cache-control"], "no-store");
  }
});
