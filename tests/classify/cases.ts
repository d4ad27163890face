/**
 * The servers that classification is tested with:
 *
 * - blind.json: replies of servers, and the expected labels. It was written from documented
 *   behaviour before the rules, and no rule is adapted to it.
 * - golden.json: the expected labels of the golden messages.
 * - real.json: recorded replies of real servers.
 * - the fleet: its expected labels of each kind of server (src/fleet/simulate/expected_labels.ts).
 *
 *     deno run tests/classify/table.ts    prints the results
 */
import { expectRow, findable } from "../../src/fleet/judge/expected_rows.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";
import { SOFTWARE } from "../../src/fleet/simulate/software.ts";
import { mergeReplies } from "../../src/inspect/merge.ts";
import type { ProtocolReply } from "../../src/inspect/protocol_reply.ts";
import { NoReply, type Protocol, type Statement } from "../../src/protocols/protocol.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import { GOLDEN_PROTOCOLS, goldenOf } from "../golden/mod.ts";
import blind from "./blind.json" with { type: "json" };
import expectedOfGolden from "./golden.json" with { type: "json" };
import real from "./real.json" with { type: "json" };
import { CONTEXT, rowOf, type Sent } from "./wire.ts";

/** The expected labels: one value or one of several; missing labels are not checked. */
export interface Expected {
  readonly edition?: unknown;
  readonly software?: unknown;
  readonly confidence?: unknown;
  readonly proxy?: unknown;
}

/** A server with its expected and its actual labels. */
export interface Case {
  readonly source: "blind" | "golden" | "real" | "fleet";
  readonly name: string;
  readonly expect: Expected;
  readonly row: ServerRecord;
}

/** All cases. */
export function allCases(): Case[] {
  return [
    ...sent("blind", blind as unknown as Written[]),
    ...sent("real", real as unknown as Written[]),
    ...fromGolden(),
    ...fromFleet(),
  ];
}

type Written = Sent & { readonly name: string; readonly expect: Expected };

function sent(source: "blind" | "real", cases: readonly Written[]): Case[] {
  return cases.map((one) => ({
    source,
    name: one.name,
    expect: one.expect,
    row: rowOf(one),
  }));
}

/** Golden messages that yield a record. Those without an entry must not get confidence A. */
function fromGolden(): Case[] {
  const known = new Map(Object.entries(expectedOfGolden));
  return GOLDEN_PROTOCOLS.flatMap((protocol) => {
    return goldenOf(protocol).filter(({ statement }) => statement !== undefined).map(
      ({ name, statement }) => {
        const [software, confidence, proxy] = known.get(name) ?? [undefined, ["B", "C", null]];
        const response = { protocol, statement: statement as Statement };
        return {
          source: "golden",
          name,
          expect: { software, confidence, proxy },
          row: mergeReplies([response], CONTEXT),
        };
      },
    );
  });
}

/**
 * Each kind of server of the fleet, with all its protocols and with each one, labelled by
 * expectRow().
 */
function fromFleet(): Case[] {
  const range = { start: 0x7f100000, end: 0x7f110000 };
  const kinds = SOFTWARE.filter(({ optedOut, trick }) => !optedOut && trick === undefined);
  return kinds.flatMap(({ name }) => {
    const [{ entry, responder }] = drawFleet({ servers: 1, range, seed: 11, software: [name] });
    const spoken = findable({ ...entry, listed: true }, {
      protocols: PROTOCOLS.map((protocol) => protocol.name),
      ports: () => [entry.port],
      follow: true,
    });
    if (Object.values(entry.truth).every(({ weak }) => weak)) return []; // they give no row
    if (spoken.length === 0) throw new Error(`nobody finds ${name}`);
    const parts = spoken.length > 1 ? [spoken, ...spoken.map((one) => [one])] : [spoken];
    return parts.map((protocols) => fleetCase(entry, responder, protocols));
  });
}

function fleetCase(
  entry: ManifestEntry,
  responder: Responder | undefined,
  protocols: readonly string[],
): Case {
  const wanted = expectRow(entry, protocols);
  const replies = protocols.map((name) => answerOf(name, entry, responder));
  return {
    source: "fleet",
    name: `${entry.software}, ${protocols.join("+")}`,
    expect: {
      edition: wanted.edition,
      software: wanted.software,
      confidence: wanted.software_confidence,
      proxy: wanted.proxy,
    },
    row: mergeReplies(replies, CONTEXT),
  };
}

/** The replies of a simulated server. */
function answerOf(
  name: string,
  { truth }: ManifestEntry,
  responder: Responder | undefined,
): ProtocolReply {
  const protocol = PROTOCOLS.find((one) => one.name === name)!;
  const { columns, flags, facts } = truth[name];
  const statement = protocol.transport === "tcp"
    ? { columns, flags, facts }
    : protocol.record(talk(protocol, responder!));
  return { protocol: name, statement };
}

/** Runs an exchange with a simulated server without a network. */
function talk(protocol: Protocol, responder: Responder): unknown {
  const { endpoint } = CONTEXT;
  const exchange = protocol.exchange({ endpoint, nonce: 5n, exclusive: true, lastAttempt: true });
  for (let step = exchange.next();;) {
    if (step.done) return step.value;
    const [reply] = step.value === undefined
      ? []
      : responder.respond(step.value.bytes, endpoint, 1000);
    step = reply === undefined ? exchange.throw(new NoReply()) : exchange.next(reply);
  }
}

/** The software without its version. */
export function nameOf({ software }: ServerRecord): string | null {
  return software?.split(" ")[0] ?? null;
}

/** The difference between actual and expected labels; `undefined`: none. */
export function faultOf({ source, expect, row }: Case): string | undefined {
  // A name that only the server gives, without a rule, is not a label.
  const concluded = row.software_confidence === null ? null : nameOf(row);
  const software = source === "blind" ? concluded : row.software;
  const pairs: [string, unknown, unknown][] = [
    ["edition", expect.edition, row.edition],
    ["software", expect.software, software],
    ["confidence", expect.confidence, row.software_confidence],
    ["proxy", expect.proxy, row.proxy],
  ];
  const wrong = pairs.filter(([, wanted, is]) =>
    wanted !== undefined && !(Array.isArray(wanted) ? wanted.includes(is) : wanted === is)
  );
  return wrong.length === 0
    ? undefined
    : wrong.map(([name, wanted, is]) =>
      `${name} is ${is}, expected ${[wanted].flat().map((one) => one ?? "nothing").join(" or ")}`
    ).join("; ");
}

/** Whether a wrong label has confidence A. This must never happen. */
export function isWrongA({ expect, row }: Case): boolean {
  if (row.software_confidence !== "A") return false;
  return ![expect.confidence].flat().includes("A") ||
    expect.software !== undefined &&
      ![expect.software].flat().some((one) => nameOf(row) === String(one).split(" ")[0]);
}
