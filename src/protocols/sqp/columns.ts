/**
 * Converts an SQP reply into columns and facts of the record.
 *
 * @module
 */
import { decodeUtf8 } from "../../core/text.ts";
import type { FactValue, ServerRecord } from "../../core/record.ts";
import { itemsWithinLimit } from "../fact_limits.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import type { ServerInfo, SqpReply, SqpRule, SqpTable } from "./chunks.ts";
import { type ChunkName, CHUNKS } from "./codec.ts";
import { floatText, type SqpValueType, type TypedValue, valueText } from "./typed_values.ts";

/** An anomaly that is found during the conversion, besides those of the decoder. */
export type SqpFlag =
  /** The reply contains no ServerInfo. */
  | "noServerInfo"
  /** A text is not valid UTF-8. */
  | "badUtf8"
  /** A name occurs twice; the first value is kept. */
  | "duplicateKey"
  /** The facts omit some values. */
  | "factsCut";

export function sqpStatement(reply: SqpReply): Statement {
  const flags = new Set<string>(reply.flags);
  const flag = (name: SqpFlag) => void flags.add(name);
  const { info, rules, players, teams, metrics } = reply;
  if (info === undefined) flag("noServerInfo");
  const columns = {
    ...(info && infoColumns(info, flag)),
    ...(players && { players: playerNames(players, flag) }),
  };
  const facts: Record<string, FactValue> = {
    version: reply.version,
    chunks: (Object.keys(CHUNKS) as ChunkName[]).filter((name) => reply[name] !== undefined),
    ...(rules && { rules: ruleFacts(rules, flag) }),
    ...(players && { players: tableFacts(players, flag) }),
    ...(teams && { teams: tableFacts(teams, flag) }),
    ...(metrics && { metrics: metrics.map(floatText) }),
  };
  return { columns, flags: [...flags], facts };
}

/** A function that records an anomaly. */
type Flag = (name: SqpFlag) => void;

function infoColumns(info: ServerInfo, flag: Flag): Partial<ServerRecord> {
  const text = (bytes: Uint8Array | null) => bytes === null ? null : textOf(bytes, flag) || null;
  return {
    ...nameColumns(text(info.name)),
    version: text(info.buildId),
    map: text(info.map),
    gamemode: text(info.gameType),
    players_online: info.online,
    players_max: info.max,
    port_v4: info.port || null, // port 0 means that the server has no port to join
  };
}

function textOf(bytes: Uint8Array, flag: Flag): string {
  return valueTextOf("string", bytes, flag);
}

function valueTextOf(type: SqpValueType, value: TypedValue, flag: Flag): string {
  const { text, badUtf8 } = valueText(type, value);
  if (badUtf8) flag("badUtf8");
  return text;
}

/** Player names, if the table has a field of that name; empty names are omitted. */
function playerNames({ fields, rows }: SqpTable, flag: Flag): string[] | null {
  if (rows.length === 0) return [];
  const column = fields.findIndex(({ name, type }) =>
    type === "string" && decodeUtf8(name).text.toLowerCase() === "name"
  );
  if (column < 0) return null;
  return rows.map((row) => textOf(row[column] as Uint8Array, flag)).filter((name) => name !== "");
}

function ruleFacts(rules: readonly SqpRule[], flag: Flag): Record<string, string> {
  const pairs = function* () {
    for (const { name, type, value } of rules) {
      yield [textOf(name, flag), valueTextOf(type, value, flag)] as const;
    }
  };
  const kept = itemsWithinLimit(
    pairs(),
    ([name, text]) => name.length + text.length,
    () => flag("factsCut"),
  );
  return firstOfEach(kept, flag);
}

function tableFacts({ fields, rows }: SqpTable, flag: Flag): Record<string, string>[] {
  const names = fields.map(({ name }) => textOf(name, flag));
  const texts = function* () {
    for (const row of rows) {
      yield row.map((value, i) => [names[i], valueTextOf(fields[i].type, value, flag)] as const);
    }
  };
  const size = (row: readonly (readonly [string, string])[]) =>
    row.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  return itemsWithinLimit(texts(), size, () => flag("factsCut")).map((row) =>
    firstOfEach(row, flag)
  );
}

/** An object with the first value of each name; `__proto__` is an ordinary name in it. */
function firstOfEach(
  pairs: readonly (readonly [string, string])[],
  flag: Flag,
): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, text] of pairs) {
    if (values.has(name)) flag("duplicateKey");
    else values.set(name, text);
  }
  return Object.fromEntries(values);
}
