/**
 * Tests searches end to end: the page, the API, its files, the command line and the counts of the server
 * index find the same servers as predicates of rows.
 */
import { assert, assertEquals } from "@std/assert";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import { runHere } from "../../cli/run_here.ts";
import { withDatabase } from "../served_database.ts";
import { clientOf } from "./client.ts";

const texts = ({ name, motd_plain, map, software }: ListedServer) =>
  [name, motd_plain, map, software].map((text) => (text ?? "").toLowerCase());
const has = (part: string) => (one: ListedServer) => texts(one).some((text) => text.includes(part));
/** The numbers of a version, each times a power of 1,000. */
const release = ({ version }: ListedServer) => {
  const [, first, second = 0, third = 0] =
    /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(version ?? "") ??
      [];
  return first === undefined ? NaN : Number(first) * 1e6 + Number(second) * 1e3 + Number(third);
};
const players = (one: ListedServer) => one.players_online ?? NaN;

/** Whether a server has no free slots; undefined: that is unknown. */
const isFull = ({ players_online: some, players_max: all }: ListedServer) =>
  some === null || all === null || all <= 0 ? undefined : some >= all;

const nameOf = ({ host, port }: ListedServer) =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Words, and which servers they are for. The servers replied in 1970. */
const WORDS: readonly (readonly [string, (one: ListedServer) => boolean])[] = [
  ["sky", has("sky")],
  ['"skyblock 1"', has("skyblock 1")],
  ["welcome block", (one) => has("welcome")(one) && has("block")(one)],
  ["software:paper", ({ software }) => !!software?.toLowerCase().includes("paper")],
  ["edition:java,bedrock", ({ edition }) => edition === "java" || edition === "bedrock"],
  ["protocol:query", ({ protocols }) => protocols.includes("query")],
  ["port:25565 port:3", ({ port }) => port === 25565 || port === 3],
  ["10.0.1.0/24", ({ host }) => host.startsWith("10.0.1.")],
  ["net:10.0.0.0/16,2001:db8::/32", ({ host }) => /^10\.0\.|^2001:db8:/.test(host)],
  ["10.0.1.4:5", (one) => nameOf(one) === "10.0.1.4:5"],
  ["[2001:db8::7]:8", (one) => nameOf(one) === "[2001:db8::7]:8"],
  ["version:1.2..1.10", (one) => release(one) >= 1_002_000 && release(one) < 1_011_000],
  ["version:>=1.11.1", (one) => release(one) >= 1_011_001],
  ["version:1.3", (one) => Math.floor(release(one) / 1e3) === 1003],
  ["version:<1.2", (one) => release(one) < 1_002_000],
  ["players:>0", (one) => players(one) > 0],
  ["players:10..50", (one) => players(one) >= 10 && players(one) <= 50],
  ["players:<=20", (one) => players(one) <= 20],
  ["mods:yes", ({ extras }) => extras?.slp?.mods !== undefined],
  ["mods:create_2", ({ extras }) => JSON.stringify(extras).includes("Create_2")],
  ["plugins:no", ({ plugins }) => !plugins?.length],
  ["plugins:ESS", ({ plugins }) => !!plugins?.length],
  ["online:yes", ({ online }) => online],
  ["full:yes", (one) => isFull(one) === true],
  ["full:no", (one) => isFull(one) === false],
  ["down:1h", ({ online }) => !online],
  ["stale:7d", () => true],
  ["replied:24h", () => false],
  ["since:1000000000000", ({ changed_at }) => changed_at > 1e12],
  ["tag:eu", ({ tags }) => tags.includes("eu")],
  ["flag:cutShort", ({ flags }) => flags.includes("cutShort")],
  ["aliases:no", ({ alias_of }) => alias_of === null],
  ["confidence:A", ({ software_confidence }) => software_confidence === "A"],
];
/** Number of random searches. */
const ROUNDS = 60;

const keysOf = (servers: readonly ListedServer[]) => servers.map(nameOf).sort();
const rowsIn = (lines: string) =>
  lines.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

Deno.test("page, API, files, command line and counts find the servers of random searches", () =>
  withDatabase(async (data, file) => {
    const get = clientOf({ data });
    const servers: ListedServer[] = rowsIn((await get("GET /servers.ndjson")).text);
    let state = 5;
    const random = (limit: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor(state / 2 ** 32 * limit);
    };
    const used = new Set<string>();
    for (let round = 0; round < WORDS.length + ROUNDS; round++) {
      const single = WORDS[round];
      const chosen = single === undefined ? WORDS.filter(() => random(12) === 0) : [single];
      const words = chosen.map(([word]) => word);
      const names = words.map((word) =>
        /^\w+(?=:)/.exec(word)?.[0] ?? word.replace(/^[^\d[].*/, "")
      );
      const isRepeated = new Set(names).size < names.length ||
        names.filter((name) => /net|\d/.test(name)).length > 1;
      const hasPorts = words.filter((word) => /port|\d:\d+$|\]/.test(word)).length > 1;
      if (words.length === 0 || isRepeated || hasPorts) continue; // values of one filter are alternatives
      const search = words.join(" ");
      const expected = keysOf(servers.filter((one) => chosen.every(([, isMatch]) => isMatch(one))));
      const query = `q=${encodeURIComponent(search)}`;
      const api = JSON.parse((await get(`GET /api/servers?limit=500&${query}`)).text);
      assertEquals(keysOf(api.servers), expected, `the API: ${search}`);
      assertEquals(
        JSON.parse((await get(`GET /api/facets?${query}`)).text).servers,
        expected.length,
      );
      const rows = rowsIn((await get(`GET /servers.ndjson?${query}`)).text);
      assertEquals(keysOf(rows), expected, `files: ${search}`);
      const { text } = await get(`GET /servers?${query}`);
      const listed = text.match(/<td role="cell" class="c-name"/g)?.length ?? 0;
      assertEquals(listed, Math.min(50, expected.length), `the page: ${search}`);
      const args = ["servers", file, ...search.split(" "), "--json", "--limit", "1000"];
      const { code, stdout, stderr } = await runHere(args);
      assertEquals(code, 0, stderr);
      assertEquals(keysOf(rowsIn(stdout)), expected, `the command line: ${search}`);
      if (expected.length > 0 && expected.length < servers.length) {
        words.forEach((w) => used.add(w));
      }
    }
    const unused = WORDS.map(([word]) => word).filter((word) => !used.has(word));
    assert(unused.length <= 2, `no server, or every one, for ${unused}`);
  }));
