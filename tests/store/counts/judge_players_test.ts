/** Covers src/store/counts/player_rules.ts. */
import { assertEquals } from "@std/assert";
import type { PlayerFlag } from "../../../src/core/flags.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { judgePlayers } from "../../../src/store/counts/judge_players.ts";
import type { Database, Value } from "../../../src/store/database/database.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { INSERT_OBSERVATION } from "../../../src/store/writers/observation_rows.ts";
import { UPSERT_PLAYERS } from "../../../src/store/writers/write_servers.ts";
import { onEngines, onSqlite, setClock } from "../databases.ts";
import { longTest } from "../../long.ts";
import { record, scanId } from "../records.ts";
import { histories, type History, type Truth } from "./histories.ts";
import { independentHistories, type IndependentHistory } from "./independent_histories.ts";

const between = () => Promise.resolve();

/** The flags that a lie has. `count times 1.5` is the one that no rule finds. */
const FLAG_OF: Readonly<Record<Exclude<Truth, "honest">, PlayerFlag>> = {
  constant: "playersConstant",
  scaled: "playersSteps",
  aboveSlots: "playersAboveSlots",
  sawTooth: "playersSteps",
  steps: "playersSteps",
  frozenSample: "playersSameNames",
};

/** Writes what a watch stores of a history: changes, and an observation every hour. */
async function store(
  database: Database,
  server: number,
  { polls }: Pick<History | IndependentHistory, "polls">,
): Promise<void> {
  const rows: Value[][] = [];
  let [players, online, written]: [number | null, boolean | undefined, number] = [0, undefined, 0];
  let [names, since] = ["", 0];
  for (const poll of polls) {
    const { at, slots, sample } = poll;
    const sorted = JSON.stringify(sample?.toSorted() ?? names);
    if (sample !== null && sorted !== names) [names, since] = [sorted, at];
    const isChanged = poll.players !== players || poll.online !== online;
    if (!isChanged && at - written < HOUR_MS) continue;
    [players, online, written] = [poll.players, poll.online, at];
    rows.push([server, at, 1, online ? 1 : 0, players, slots, null, null, 1]);
  }
  await database.bulk(INSERT_OBSERVATION, rows);
  const last = polls.at(-1)!.at;
  if (names !== "") await database.bulk(UPSERT_PLAYERS, [[server, names, last, since]]);
}

/** Stores histories, each of a server of its own, and judges them: the flags, by history. */
async function judged(
  database: Database,
  stored: readonly Pick<History | IndependentHistory, "polls">[],
): Promise<readonly (readonly string[])[]> {
  await writeScanRecords(
    database,
    stored.map((_, i) => record(i + 1, { seen_at: 1000, scan_id: scanId(1) })),
  );
  const rows = await database.rows("select id from servers order by id");
  for (const [i, { id }] of rows.entries()) await store(database, Number(id), stored[i]);
  setClock(database, Math.max(...stored.map(({ polls }) => polls.at(-1)!.at)));
  await judgePlayers(database, { between });
  const flags = await database.rows("select server, flag from server_flags order by flag");
  return rows.map(({ id }) =>
    flags.filter(({ server }) => server === id).map(({ flag }) => String(flag))
  );
}

onEngines("no honest history is flagged, and each lie by its rule", async (database) => {
  const all = [...histories(2, 8, 10 * 60_000)];
  const flags = await judged(database, all);
  const expected = all.map(({ truth, kind }) =>
    truth === "honest" || kind === "count times 1.5" ? [] : [FLAG_OF[truth]]
  );
  assertEquals(
    all.map(({ kind }, i) => [kind, ...flags[i]]),
    all.map(({ kind }, i) => [kind, ...expected[i]]),
  );
});

/** Shifts a history so that it ends at a time, Unix milliseconds. */
function endingAt(end: number): (history: IndependentHistory) => IndependentHistory {
  return (history) => {
    const shift = end - history.polls.at(-1)!.at;
    return { ...history, polls: history.polls.map((one) => ({ ...one, at: one.at + shift })) };
  };
}

/** What the rules find in {@linkcode independentHistories}: each kind of lie, and its flags. */
const FOUND = [
  "constant: playersConstant",
  "constant of a network: playersConstant",
  "multiplied 2: playersSteps",
  "multiplied 3: playersSteps",
  "sine: playersSteps",
  "saw-tooth: playersSteps",
  "prestige: playersAboveSlots",
  "prestige that moves: playersAboveSlots",
  "steps of 5: playersSteps",
  "steps of 10: playersSteps",
  "frozen sample: playersSameNames,playersSteps",
  "only the ping lies: playersSteps",
  "replayed day: playersSteps",
  "replayed week: playersSteps",
  "never below: playersConstant",
  "begins to lie: playersSteps",
];

onSqlite(
  "of histories by an author who did not know the rules, no honest one is flagged",
  async (database) => {
    const all = independentHistories().map(endingAt(Date.UTC(2026, 6, 1)));
    const flags = await judged(database, all);
    const of = (wanted: string) => all.flatMap(({ truth }, i) => truth === wanted ? [i] : []);
    assertEquals(of("honest").filter((i) => flags[i].length > 0).map((i) => all[i].kind), []);
    const found = of("dishonest").filter((i) => flags[i].length > 0);
    assertEquals([of("honest").length, of("dishonest").length, found.length], [59, 66, 26]);
    assertEquals([...new Set(found.map((i) => `${all[i].kind}: ${flags[i]}`))], FOUND);
  },
  longTest,
);

onEngines("a flag is stored with its reasons, is searched for, and goes", async (database) => {
  const [constant] = [...histories(1, 4, HOUR_MS)].filter(({ truth }) => truth === "constant");
  assertEquals(await judged(database, [constant]), [["playersConstant"]]);
  const find = async () =>
    await Array.fromAsync(
      selectServers(database, { flag: ["playersConstant"], sort: "players", limit: 10 }),
    );
  const [found] = await find();
  const replies = constant.polls.length;
  const [{ at: since, players }, { at: last }] = [constant.polls[0], constant.polls.at(-1)!];
  assertEquals(found.player_flags, {
    playersConstant: { since, replies, players: players! },
  });
  assertEquals(found.changed_at, last);
  // A day later another number makes the history honest.
  await database.bulk(INSERT_OBSERVATION, [
    [1, last + DAY_MS, 1, 1, players! - 3, null, null, null, 1],
  ]);
  setClock(database, last + DAY_MS);
  await judgePlayers(database, { between, everyMs: 2 * DAY_MS });
  assertEquals((await find()).length, 1, "it is not yet time to judge again");
  await judgePlayers(database, { between, everyMs: DAY_MS });
  assertEquals(await find(), []);
  const [row] = await database.rows("select player_flags, changed_at from servers");
  assertEquals([row.player_flags, Number(row.changed_at)], [null, last + DAY_MS]);
});

onEngines("counts above the slots rank below all others", async (database) => {
  const counts = [[49_999, 500], [10, 20], [400, 500], [7, null], [5, 0], [null, 20], [21, 20]];
  await writeScanRecords(
    database,
    counts.map(([players_online, players_max], i) =>
      record(i + 1, { players_online, players_max, seen_at: 1000 + i, scan_id: scanId(1) })
    ),
  );
  for (const limit of [undefined, 100]) {
    const ranked = await Array.fromAsync(selectServers(database, { sort: "players", limit }));
    assertEquals(
      ranked.map(({ players_online }) => players_online),
      [400, 10, 7, 5, null, 49_999, 21],
    );
    const many = await Array.fromAsync(
      selectServers(database, { sort: "players", minPlayers: 20, limit }),
    );
    assertEquals(many.map(({ players_online }) => players_online), [400, 49_999, 21]);
  }
});
