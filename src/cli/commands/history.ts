/**
 * The history command: what was seen of one server.
 *
 * @module
 */
import { formatAddress, parseAddress, parseEndpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { serverId } from "../../core/record.ts";
import { jsonText } from "../../sinks/json.ts";
import type { Database } from "../../store/database/database.ts";
import {
  countObservations,
  historyOf,
  type Observation,
  portsOf,
} from "../../store/server_queries.ts";
import { withDatabaseErrors } from "../../store/store.ts";
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readCommandLine } from "../options/read_options.ts";
import { print, tellLine } from "../term/console.ts";
import { openNamed } from "../../app/databases/select_servers.ts";

/** Runs `history`; returns the exit code. */
export async function runHistory(args: readonly string[]): Promise<number> {
  const { words: [place, server], options: { limit, json } } = readCommandLine("history", args);
  await using database = await openNamed(place, connectionEnvironment(tellLine));
  const { id, seen, all } = await withDatabaseErrors("read", database, async () => {
    const id = await findServer(database, server);
    const seen = await historyOf(database, id, limit);
    const all = seen.length < limit ? seen.length : await countObservations(database, id);
    return { id, seen, all };
  });
  if (json) {
    for (const one of seen) await print(jsonText({ server: id, ...one }));
  } else {
    await print(historyLines(id, seen).join("\n"));
  }
  if (all > seen.length) {
    const shown = withCommas(seen.length);
    tellLine(`the last ${shown} of ${countOf(all, "observation")}; raise --limit for more`);
  }
  return EXIT.done;
}

/** The id of the server that a user names. */
async function findServer(database: Database, word: string | undefined): Promise<string> {
  if (word === undefined) {
    throw new InputError("Cannot tell a history: name a server, as HOST:PORT");
  }
  const endpoint = parseEndpoint(word);
  const address = endpoint?.address ?? parseAddress(word);
  if (address === undefined) {
    throw new InputError(`Cannot find "${word}": it wants an address, as 192.0.2.1 or [::1]:19132`);
  }
  const host = formatAddress(address);
  const ports = await portsOf(database, host);
  if (endpoint !== undefined && ports.includes(endpoint.port)) {
    return serverId({ host, ...endpoint });
  }
  if (endpoint === undefined && ports.length === 1) return serverId({ host, port: ports[0] });
  throw new InputError(
    ports.length === 0
      ? `Cannot find "${word}": it is not in ${database.name}`
      : `Cannot find "${word}": ${database.name} has this host with port ${ports.join(", ")}`,
  );
}

/** The history as a table, with the players as a line of bars above it. */
export function historyLines(id: string, seen: readonly Observation[]): string[] {
  if (seen.length === 0) return [id, "never seen in a scan"];
  const answered = seen.filter(({ online }) => online);
  const players = answered.flatMap(({ players_online: one }) => one === null ? [] : [one]);
  const most = players.reduce((a, b) => Math.max(a, b), 0);
  const share = (100 * answered.length / seen.length).toFixed(1).replace(/\.0$/, "");
  return [
    `${id}: answered ${answered.length} of ${seen.length} times (${share} %)`,
    ...(players.length === 0 ? [] : [`players ${sparkline(seen, most)} at most ${most}`]),
    "",
    "TIME (UTC)           PLAYERS            MS  CHANGED",
    ...seen.map((one, i) => line(one, contentBefore(seen, i))),
  ];
}

/** What the server said of itself when it last answered before. */
function contentBefore(seen: readonly Observation[], at: number): string | null {
  return seen.slice(0, at).findLast(({ online }) => online)?.content_hash ?? null;
}

function line(one: Observation, before: string | null): string {
  const time = new Date(one.seen_at).toISOString().slice(0, 19).replace("T", " ");
  if (!one.online) return `${time}  no answer`;
  const players = `${one.players_online ?? "?"}/${one.players_max ?? "?"}`;
  const ms = one.latency_ms === null ? "" : one.latency_ms.toFixed(1);
  const changed = before !== null && before !== one.content_hash ? "yes" : "";
  return `${time}  ${players.padEnd(11)}  ${ms.padStart(8)}  ${changed}`.trimEnd();
}

const BARS = "▁▂▃▄▅▆▇█";
/** More bars are wider than terminals: several observations share one, the fullest of them counts. */
const MOST_BARS = 60;

/** A bar for each observation: none where it did not answer, a dot where it told no number. */
export function sparkline(seen: readonly Observation[], most: number): string {
  const each = Math.ceil(seen.length / MOST_BARS);
  let bars = "";
  for (let at = 0; at < seen.length; at += each) {
    const some = seen.slice(at, at + each).filter(({ online }) => online);
    const counts = some.flatMap(({ players_online: one }) => one === null ? [] : [one]);
    const fullest = Math.max(...counts);
    bars += some.length === 0
      ? " "
      : counts.length === 0
      ? "·"
      : BARS[most === 0 ? 0 : Math.min(7, Math.floor(8 * fullest / most))];
  }
  return bars;
}
