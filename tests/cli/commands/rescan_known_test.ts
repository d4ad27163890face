/**
 * `--rescan` queries each server of a database only in its known protocols until the server replies.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { type WitnessLine, WitnessLog } from "../../../src/fleet/witness_log.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { siblingsOf } from "../../../src/protocols/declared_facts.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { all, STATES } from "../../store/databases.ts";
import { portList } from "../../../src/targets/ports.ts";
import { finish, run, start, until } from "../program.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x7f5a0000, end: 0x7f5a0020 };
/**
 * The weight of SQP is low, so its software is named here to be drawn as often as other software.
 */
const SOFTWARE = ["bds", "pocketmine", "vanilla", ...Array(10).fill("sqpFull")];
const HOSTS = drawFleet({ servers: 16, range: RANGE, seed: 4, software: SOFTWARE });
const SCAN = ["127.90.0.0/27", "-p", "9000,19132,25565", "--protocol", "raknet,slp,query,sqp"];
const QUICK = ["--cooldown", "200ms", "--timeout", "500ms"];
const DEAD = ["127.90.1.1:19132", "127.90.1.2:25565", "127.90.1.3:25565", "127.90.1.4:19132"];

async function query(path: string, sql: string) {
  await using database = openSqlite(path);
  return await all(database, sql);
}

/** The known protocols of the servers in a database, by id. */
async function knownIn(list: string): Promise<Map<string, string[]>> {
  const rows = await query(list, "select key as id, protocols from servers order by key");
  return new Map(rows.map(({ id, protocols }) => [String(id), JSON.parse(String(protocols))]));
}

/**
 * A database with the servers of a fleet, and with servers that do not exist. One of these has no
 * known protocol.
 */
async function withList(
  work: (list: string, folder: string, out: readonly string[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const list = `${folder}/a.db`;
  const out = ["--opt-out-file", `${folder}/out.txt`];
  try {
    {
      await using _fleet = await openFleet(HOSTS, { clock: systemClock, seed: 1 });
      const { code, stderr } = await run([
        "scan",
        ...SCAN,
        ...QUICK,
        ...out,
        "-o",
        list,
        "--tag",
        "found",
      ]);
      assertEquals(code, 0, stderr);
    }
    await Deno.writeTextFile(`${folder}/dead.txt`, `${DEAD.join("\n")}\n`);
    assertEquals((await run(["import", list, `${folder}/dead.txt`])).code, 0);
    for (const [i, names] of [["raknet"], ["query"], ["slp", "query"]].entries()) {
      const text = JSON.stringify(names);
      await query(list, `update servers set protocols = '${text}' where key = '${DEAD[i]}'`);
    }
    const tags =
      "select distinct tags, replied_at is not null as found from server_list order by found";
    assertEquals(await query(list, tags), [
      { tags: "[]", found: 0 },
      { tags: '["found"]', found: 1 },
    ]);
    const known = await knownIn(list);
    const kinds = new Set([...known.values()].map((names) => names.join()));
    assertEquals(
      kinds,
      new Set(["raknet", "raknet,query", "slp,query", "sqp", "query", ""]),
    );
    await work(list, folder, out);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a command while the fleet runs. Returns the datagrams that the hosts received. */
async function watched(folder: string, args: readonly string[], hosts = HOSTS) {
  const log = `${folder}/log.ndjson`;
  let result;
  {
    using witness = new WitnessLog(log);
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1, witness });
    result = await run(args);
  }
  const lines: WitnessLine[] = (await Deno.readTextFile(log)).trim().split("\n")
    .filter((line) => line !== "").map((line) => JSON.parse(line));
  await Deno.remove(log);
  return { ...result, lines };
}

/** The protocols of a scan without `--protocol`. */
const USUAL = ["raknet", "nethernet", "slp", "query"];

/**
 * The protocols in which servers may be queried after a reply. Servers known for SQP get no
 * follow-ups.
 */
function followUpsOf(known: ReadonlyMap<string, string[]>): Map<string, string[]> {
  return new Map(
    [...known].map(([id, names]) => [id, names.includes("sqp") ? names : [...names, ...USUAL]]),
  );
}

/** The lines of each host before its first reply. */
function beforeReply(lines: readonly WitnessLine[]): WitnessLine[] {
  const replied = new Set<string>();
  return lines.filter(({ way, host, event }) => {
    if (way === "out" && event === undefined) replied.add(host);
    return !replied.has(host);
  });
}

/**
 * The result of an audit of lines.
 *
 * @param known The known protocols of hosts, in which they may be queried before a reply.
 * @param sendable The protocols in which hosts may be queried at any time.
 */
function faultsOf(
  lines: readonly WitnessLine[],
  known: ReadonlyMap<string, string[]>,
  sendable = followUpsOf(known),
): string[] {
  const knownForSqp = new Set(
    [...known].filter(([, names]) => names.includes("sqp")).map(([id]) => id),
  );
  return [
    ...audit(lines, { sendable, knownForSqp }),
    ...audit(beforeReply(lines), { sendable: known, knownForSqp }),
  ];
}

longTest(
  "--rescan queries each server in its known protocols before it counts as missing",
  () =>
    withList(async (list, folder, out) => {
      const known = await knownIn(list);
      const args = ["scan", "--rescan", list, ...QUICK, ...out];
      const { code, stderr, lines } = await watched(folder, [...args, "-o", list]);
      assertEquals(code, 0, stderr);
      assertStringIncludes(stderr, "16 rows written");
      assertStringIncludes(stderr, "4 known servers did not reply");
      assertEquals(faultsOf(lines, known), []);
      assertEquals(new Set(lines.map(({ host }) => host)).size, 16);
      assertEquals(await knownIn(list), known);
      const missed = await query(
        list,
        `select id from ${STATES} where missed_scans = 1 order by id`,
      );
      assertEquals(missed.map(({ id }) => id), DEAD);
    }),
);

longTest(
  "--rescan finds protocols that are missing in the database after a first reply of the server",
  () =>
    withList(async (list, folder, out) => {
      const whole = await knownIn(list);
      const pocketmine = HOSTS.filter(({ entry }) => entry.software === "pocketmine");
      const [a, b] = pocketmine.map(({ endpoint }) => formatEndpoint(endpoint));
      assertEquals([whole.get(a), whole.get(b)], [["raknet", "query"], ["raknet", "query"]]);
      for (const [id, name] of [[a, "raknet"], [b, "query"]]) {
        await query(
          list,
          `update servers set protocols = '["${name}"]', digest = x'00' where key = '${id}'`,
        );
      }
      const known = await knownIn(list);
      const args = ["scan", "--rescan", list, ...QUICK, ...out, "-o", list];
      const firstOnly = await watched(folder, [...args, "--no-follow"]);
      assertEquals(faultsOf(firstOnly.lines, known, known), []);
      assertEquals(await knownIn(list), known);
      const { code, stderr, lines } = await watched(folder, args);
      assertEquals(code, 0, stderr);
      assertEquals(faultsOf(lines, known), []);
      assertEquals(await knownIn(list), whole);
    }),
);

longTest(
  "--rescan with --protocol leaves out servers that speak none of them, and counts them",
  () =>
    withList(async (list, folder, out) => {
      const known = await knownIn(list);
      const args = ["scan", "--rescan", list, "--protocol", "raknet", ...QUICK, ...out];
      const { stderr, lines } = await watched(folder, [...args, "-o", list]);
      const others = [...known].filter(([, names]) =>
        names.length > 0 && !names.includes("raknet")
      );
      assertStringIncludes(
        stderr,
        `${others.length} known servers were not probed: they speak none of the protocols in --protocol\n`,
      );
      const allowed = new Map(
        [...known].map(([id, names]) => [id, names.filter((name) => name === "raknet")]),
      );
      assertEquals(faultsOf(lines, allowed, allowed), []);
      const missed = await query(
        list,
        `select id from ${STATES} where missed_scans > 0 order by id`,
      );
      assertEquals(missed.map(({ id }) => id), [DEAD[0], DEAD[3]]);
      const plan = await run([...args, "--dry-run"]);
      assertStringIncludes(
        plan.stdout,
        `; ${others.length} not probed: they speak no selected protocol\n`,
      );
    }),
);

/** The protocols in which a server is probed that is known to speak some: theirs, and their siblings. */
function withSiblings(names: readonly string[]): string[] {
  return [...names, ...siblingsOf(names, PROTOCOLS).map(({ name }) => name)];
}

/** The numbers in a line of text. */
const numbers = (text: string, line: RegExp) => line.exec(text)!.slice(1).map(Number);

longTest(
  "a dry run of --rescan, the list of targets and the scan agree on what is sent",
  () =>
    withList(async (list, folder, out) => {
      const known = await knownIn(list);
      const args = ["scan", "--rescan", list, ...QUICK, ...out];
      const listed = (await run([...args, "-sL"])).stdout.trim().split("\n").toSorted();
      assertEquals(
        listed,
        [...known].flatMap(([id, names]) =>
          (names.length === 0 ? USUAL : withSiblings(names)).map((name) => `${id} ${name}`)
        ).toSorted(),
      );
      const { stdout } = await run([...args, "--dry-run"]);
      const portsOf = (name: string) =>
        portList(
          listed.filter((line) => line.endsWith(` ${name}`))
            .map((line) => Number(/:(\d+) /.exec(line)![1])),
        );
      assertStringIncludes(
        stdout,
        `\nports        ${
          [...USUAL, "sqp"].map((name) =>
            `${name === "sqp" ? "interviews: " : ""}${name} ${portsOf(name)}`
          ).join("; ")
        }\n`,
      );
      assertEquals(portsOf("sqp"), "9000");
      const countOf = (name: string) => listed.filter((line) => line.endsWith(` ${name}`)).length;
      const [raknet, nethernet, slp, query, sqp] = ["raknet", "nethernet", "slp", "query", "sqp"]
        .map(countOf);
      const streams = nethernet + slp;
      assertStringIncludes(
        stdout,
        `\npasses       raknet ${raknet}, raknet ${raknet}, query ${query}, query ${query}; ` +
          `at the same time slp ${slp}, slp ${slp}, nethernet ${nethernet}, nethernet ${nethernet}\n`,
      );
      assertStringIncludes(stdout, `; ${sqp} queried over sqp outside the passes\n`);
      assertEquals(numbers(stdout, /probes {7}at most (\d+)/), [2 * (raknet + query + sqp)]);
      assertEquals(numbers(stdout, /TCP probes {3}at most (\d+)/), [2 * streams]);
      // No server replies, so everything that may be sent is sent.
      const { stderr } = await run([...args, "-v", "-o", `${folder}/rows.csv`]);
      assertEquals(numbers(stderr, /\nUDP: sent (\d+) probes/), [2 * (raknet + query)]);
      assertEquals(numbers(stderr, /\nTCP: sent (\d+) probes/), [2 * streams]);
      assertStringIncludes(stderr, `pass 1 of 4: raknet, ${raknet} of 20 targets`);
    }),
);

longTest(
  "a resumed rescan queries servers in the protocols that were known at its start",
  () =>
    withList(async (list, folder, out) => {
      const known = await knownIn(list);
      const checkpoint = `${folder}/c`;
      const sqp = HOSTS.filter(({ entry }) => "sqp" in entry.truth)
        .map(({ endpoint }) => formatEndpoint(endpoint));
      // SQP servers are interviewed first, and do not run in the first run of the scan.
      const first = await watched(folder, [
        ...["scan", "--rescan", list, "-o", list, "--checkpoint", checkpoint, ...QUICK, ...out],
        ...["--rate", "8", "--max-runtime", "1500ms", "--retries", "0", "--down-after", "1"],
      ], HOSTS.filter(({ entry }) => !("sqp" in entry.truth)));
      assertStringIncludes(first.stderr, "scan --resume");
      const hasReplied = await query(
        list,
        "select count(*) as n from observations where online = 1",
      );
      assert(Number(hasReplied[0].n) < 32, String(hasReplied[0].n));
      for (const id of known.keys()) {
        const names = JSON.stringify(sqp.includes(id) ? ["slp", "sqp"] : USUAL);
        const sql = `update servers set protocols = '${names}', digest = x'00' where key = '${id}'`;
        if (id !== DEAD[0]) await query(list, sql);
      }
      const second = await watched(folder, ["scan", "--resume", checkpoint, "--rate", "1000"]);
      assertEquals(second.code, 0, second.stderr);
      assertEquals(faultsOf(first.lines, known), []);
      assertEquals(faultsOf(second.lines, known), []);
      assertEquals(new Set([...first.lines, ...second.lines].map(({ host }) => host)).size, 16);
      const twice = "select count(*) as n from observations where online = 1";
      assertEquals(await query(list, twice), [{ n: 32 }]); // each server once in each scan
      // Columns that were not queried stay: servers known for SQP at the start get no follow-ups.
      const now = await knownIn(list);
      for (const id of sqp) assertEquals(now.get(id), ["slp", "sqp"], id);
      // For servers that replied in the second part, columns of queried protocols without a reply are
      // not kept: --down-after 1.
      const requests = new Set(second.lines.map(({ host }) => host));
      const bds = HOSTS.filter(({ entry }) => entry.software === "bds")
        .map(({ endpoint }) => formatEndpoint(endpoint));
      for (const id of bds) assertEquals(now.get(id), requests.has(id) ? ["raknet"] : USUAL, id);
      // The other servers were not queried in all protocols that the database now contains for them.
      const missed = await query(
        list,
        `select id from ${STATES} where missed_scans > 0 order by id`,
      );
      assertEquals(missed.map(({ id }) => id), [DEAD[0], DEAD[3]]);
    }),
);

Deno.test("rescans of one database at the same time have their own checkpoints", async () => {
  const folder = await Deno.makeTempDir();
  const list = `${folder}/a.db`;
  try {
    await Deno.writeTextFile(`${folder}/dead.txt`, `${DEAD.join("\n")}\n`);
    assertEquals((await run(["import", list, `${folder}/dead.txt`])).code, 0);
    const out = ["--opt-out-file", `${folder}/out.txt`];
    const places = ["a.db", "a.db.2", "a.db.3"].map((name) => `${folder}/${name}.checkpoint`);
    const scans = places.map(() =>
      start(["scan", "--rescan", list, "-o", list, "--cooldown", "10m", ...out])
    );
    for (const place of places) await until(scans[0], () => Deno.statSync(place).isFile);
    for (const scan of scans) scan.kill("SIGINT");
    const ends = await Promise.all(scans.map(finish));
    const named = ends.map(({ stderr }) => /--resume (\S+)/.exec(stderr)?.[1]);
    assertEquals(named.toSorted(), places.toSorted(), ends.map(({ stderr }) => stderr).join());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
