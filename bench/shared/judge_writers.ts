/** Compares what many writers left in a database with the true changes of the servers. */
import { storedServers } from "../../tests/store/databases.ts";
import { verifyAgainstManifest } from "../../src/fleet/judge/verify_rows.ts";
import { type Database, hexColumn, type Row } from "../../src/store/database/database.ts";
import { type ChangingServer, type Kind, type TrueChange } from "./changing_servers.ts";
import { usualSelection } from "./jobs.ts";

/** Tolerance of times: a poll is written with the time at which its interview ended, ms. */
const TOLERANCE_MS = 3000;
/** Tolerance of times with several protocols: one that does not reply is queried for seconds, ms. */
const LONG_TOLERANCE_MS = 10_000;
/** An observation without a reply has the time of the end of its scan or of its poll, ms. */
const SCAN_MS = 15_000;

/** An event as a program printed it. */
export interface PrintedEvent {
  readonly id: string;
  readonly event: string;
  readonly host: string;
  readonly port: number;
  readonly at: number;
  readonly changes?: Readonly<Record<string, readonly [before: unknown, now: unknown]>>;
  readonly players_online?: readonly [before: number | null, now: number | null];
}

/** What a comparison found. */
export interface Judgement {
  /** Number of true changes. */
  readonly changes: number;
  /** Number of rows of the table `events`. */
  readonly events: number;
  /** Further numbers, each with its name. */
  readonly lines: readonly [name: string, number: string][];
  /** One line per difference. */
  readonly faults: readonly string[];
}

/** Compares the tables of a database with the servers. */
export async function judgeDatabase(
  database: Database,
  servers: readonly ChangingServer[],
  printed: readonly PrintedEvent[],
  read: readonly { readonly id: string }[],
  protocols: readonly string[],
): Promise<Judgement> {
  const events = await database.rows(
    "select e.id, e.at, e.kind, e.data, s.key, c.kind as writer from events e " +
      "join servers s on s.id = e.server left join scans c on c.id = e.scan " +
      "order by e.at, e.tx, e.seq",
  );
  const observations = await database.rows(
    `select s.key, o.at, o.online, o.players_online, ${
      hexColumn(database, "o.content")
    } as content, ` +
      "c.kind as writer " +
      "from observations o join servers s on s.id = o.server join scans c on c.id = o.scan",
  );
  const byServer = Map.groupBy(events, ({ key }) => String(key));
  const seen = Map.groupBy(observations, ({ key }) => String(key));
  const faults = [
    ...servers.flatMap((server) => eventFaults(server, byServer.get(server.name) ?? [])),
    ...servers.flatMap((server) =>
      observationFaults(server, seen.get(server.name) ?? [], protocols.length)
    ),
    ...await rowFaults(database, servers, protocols),
    ...printedFaults(events, printed),
    ...difference("read by history --events --follow", read, events),
  ];
  const changes = servers.reduce((sum, server) => sum + server.changes.length, 0);
  const lines: [string, string][] = [["observations", String(observations.length)]];
  return { changes, events: events.length, lines, faults };
}

/**
 * Compares the events that a webhook has received with the servers, and with a database that was away
 * at times: its events combine the changes during an outage.
 */
export async function judgeReceived(
  database: Database,
  servers: readonly ChangingServer[],
  received: readonly PrintedEvent[],
  protocols: readonly string[],
): Promise<Judgement> {
  const events = await database.rows(
    "select e.id, c.kind as writer from events e left join scans c on c.id = e.scan",
  );
  const ids = new Set(received.map(({ id }) => id));
  const stored = new Set(events.map(({ id }) => String(id)));
  const unsent = events.filter(({ id, writer }) => writer === "watch" && !ids.has(String(id)));
  const byServer = Map.groupBy(received, ({ host, port }) => `${host}:${port}`);
  const faults = await rowFaults(database, servers, protocols);
  if (unsent.length > 0) faults.push(`${unsent.length} stored events were not sent`);
  let [changes, repeated] = [0, 0];
  for (const server of servers) {
    const sent = new Map((byServer.get(server.name) ?? []).map((event) => [event.id, event]));
    const last = [...sent.values()].findLast(({ event }) => /^o(n|ff)line$/.test(event));
    if (last?.event === "offline") faults.push(`${server.name}: its last event is offline`);
    for (const [kind, all] of Map.groupBy(server.changes, ({ kind }) => kind)) {
      const wanted = all.filter(({ at }) => at > server.changes[0].at); // not that of the first scan
      const found = [...sent.values()].filter(({ event }) => event === kind);
      const counts = wanted.map(({ at }, i) =>
        found.filter((one) => one.at >= at && !(one.at >= wanted[i + 1]?.at)).length
      );
      const inTime = counts.reduce((sum, count) => sum + count, 0);
      changes += wanted.length;
      repeated += counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
      if (inTime < found.length) faults.push(`${server.name}: ${kind} before the first change`);
      for (const [i, { at }] of wanted.entries()) {
        if (counts[i] === 0) faults.push(`${server.name}: ${kind} at ${at} was not sent`);
      }
    }
    const now = server.changes.findLast(({ kind }) => kind === "changed")?.values?.[1];
    const motd = [...sent.values()].findLast((one) => one.changes?.motd)?.changes?.motd[1];
    if (motd !== now) faults.push(`${server.name}: the last MOTD sent is ${motd}, not ${now}`);
  }
  const early = [...ids].filter((id) => !stored.has(id)).length;
  const lines: [string, string][] = [
    [
      "events sent, of them with an id that was sent before",
      `${received.length}, ${received.length - ids.size}`,
    ],
    ["events sent without being stored", String(early)],
    ["events sent of a change that was sent with another id", String(repeated)],
  ];
  return { changes, events: events.length, lines, faults };
}

/** Compares the rows of servers with what the servers publish now. */
async function rowFaults(
  database: Database,
  servers: readonly ChangingServer[],
  protocols: readonly string[],
): Promise<string[]> {
  const entries = servers.map(({ entry }) => entry);
  const selection = usualSelection(protocols);
  const rows = await storedServers(database);
  const verdict = verifyAgainstManifest(entries, rows, selection, "ndjson");
  const [{ n }] = await database.rows(
    "select count(*) as n from server_state where online and missed_scans = 0",
  );
  const faults = [...verdict.faults];
  if (verdict.partial > 0) faults.push(`${verdict.partial} rows lack a protocol`);
  if (Number(n) !== servers.length) faults.push(`${n} of ${servers.length} servers are online`);
  return faults;
}

/** Compares the events of a server with its changes, kind by kind. */
function eventFaults(server: ChangingServer, events: readonly Row[]): string[] {
  const kinds = new Set([...server.changes, ...events].map(({ kind }) => kind as Kind));
  return [...kinds].flatMap((kind) => {
    const wanted = server.changes.filter((change) => change.kind === kind);
    const stored = events.filter((event) => event.kind === kind);
    if (wanted.length !== stored.length) {
      const times = stored.map(({ at, data, writer }) => `${at} ${writer} ${data}`).join("; ");
      const due = wanted.map(({ at }) => at).join(" ");
      return [
        `${server.name}: ${stored.length} × ${kind}, not ${wanted.length}: ${times} (${due})`,
      ];
    }
    return stored.flatMap((event, i) =>
      isOf(event, wanted[i], wanted[i + 1]) ? [] : [
        `${server.name}: ${kind} at ${event.at}: ${event.data}, true: ${JSON.stringify(wanted[i])}`,
      ]
    );
  });
}

/** Whether an event reports this change: after it, and before the next one of the kind. */
function isOf(event: Row, { kind, at, values }: TrueChange, next: TrueChange | undefined): boolean {
  const isInTime = Number(event.at) >= at && Number(event.at) < (next?.at ?? Infinity);
  const data = JSON.parse(String(event.data));
  if (kind === "changed") {
    // The names of columns that follow from the MOTD are not events of their own.
    return isInTime && JSON.stringify(data.changes) === JSON.stringify({ motd: values });
  }
  if (kind === "restarted") return isInTime && JSON.stringify(data.guid) === JSON.stringify(values);
  return isInTime;
}

/**
 * Observations with a state that the server did not have at that time. A reply in several protocols has
 * the time of the first; if the server changed meanwhile, it has players and content of both states.
 */
function observationFaults(
  server: ChangingServer,
  observations: readonly Row[],
  protocols: number,
): string[] {
  const contents = new Map<number, unknown>();
  return observations.flatMap(({ at, online, players_online, content, writer }) => {
    const players = online === 1 ? Number(players_online) : undefined;
    const tolerance = protocols === 1 ? TOLERANCE_MS : LONG_TOLERANCE_MS;
    const earliest = Number(at) - (players === undefined ? SCAN_MS : tolerance);
    const latest = Number(at) + (protocols === 1 ? 0 : tolerance);
    const states = server.statesBetween(earliest, latest);
    const where = `${server.name}: observation of a ${writer} at ${at}`;
    if (!states.has(players)) return [`${where} with ${players} players, not ${[...states]}`];
    if (players === undefined || protocols > 1 && states.size > 1) return [];
    const first = contents.get(players) ?? content;
    contents.set(players, first);
    return first === content ? [] : [`${where} with ${players} players has a foreign content`];
  });
}

/** The events that the watches printed: those that they stored, and each change of players once. */
function printedFaults(events: readonly Row[], printed: readonly PrintedEvent[]): string[] {
  const ofWatches = events.filter(({ writer }) => writer === "watch");
  const [players, others] = [true, false].map((is) =>
    printed.filter(({ event }) => (event === "players") === is)
  );
  const changes = players.map(({ host, players_online }) => `${host}: ${players_online}`);
  const twice = changes.filter((change, i) => changes.indexOf(change) !== i);
  return [
    ...difference("printed by the watches", others, ofWatches),
    ...twice.map((change) => `players printed twice: ${change}`),
  ];
}

/** Compares the ids of events: each stored event occurs once, and no other does. */
function difference(
  name: string,
  found: readonly { readonly id: string }[],
  stored: readonly { readonly id?: unknown }[],
): string[] {
  const ids = found.map(({ id }) => id);
  const all = new Set(stored.map(({ id }) => String(id)));
  const once = new Set(ids);
  const twice = ids.length - once.size;
  const missing = [...all.difference(once)];
  const foreign = [...once.difference(all)];
  const counts = [[twice, "twice"], [missing.length, "missing"], [foreign.length, "foreign"]];
  return counts.filter(([count]) => count !== 0)
    .map(([count, what]) => `${name}: ${count} events ${what} of ${all.size}`);
}
