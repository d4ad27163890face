/** Builds rows from the replies of servers. */
import { concat } from "../../src/core/bytes.ts";
import { encodePong, raknetProtocol } from "../../src/protocols/raknet/mod.ts";
import {
  decodeStat,
  encodeBasicStat,
  encodeFullStat,
  queryProtocol,
  type Stat,
} from "../../src/protocols/query/mod.ts";
import { slpProtocol } from "../../src/protocols/slp/mod.ts";
import { NoReply } from "../../src/protocols/protocol.ts";
import { mergeReplies } from "../../src/inspect/merge.ts";
import type { ProtocolReply } from "../../src/inspect/protocol_reply.ts";
import type { ServerRecord } from "../../src/core/record.ts";

/** The replies of a server, by protocol. */
export interface Sent {
  /** A pong. */
  readonly raknet?: { readonly guid: string; readonly text: string };
  /** A stat. Default: a full stat. */
  readonly query?: {
    readonly form?: "none" | "basic";
    readonly rawToken: boolean;
    readonly header?: string;
    readonly pairs?: readonly (readonly [string, string])[];
    readonly players?: readonly string[];
    readonly [basic: string]: unknown;
  };
  /** The JSON of a status. */
  readonly slp?: string;
}

const utf8 = (text: unknown) => new TextEncoder().encode(String(text));

/** Endpoint and time of the replies. */
export const CONTEXT = {
  endpoint: { address: 0x7f000001, port: 19132 },
  seenAt: 0,
  latencyMs: 1,
  scanId: "scan",
  requestedAs: null,
};

/** The row that a scan builds from the replies. */
export function rowOf({ raknet, query, slp }: Sent): ServerRecord {
  const replies: ProtocolReply[] = [];
  if (raknet !== undefined) replies.push(pong(raknet));
  if (query !== undefined) replies.push(stat(query));
  if (slp !== undefined) replies.push(status(slp));
  return mergeReplies(replies, CONTEXT);
}

function pong({ guid, text }: NonNullable<Sent["raknet"]>): ProtocolReply {
  const bytes = encodePong({ advertise: false, time: 1n, guid: BigInt(guid), text: utf8(text) });
  const { status } = raknetProtocol.probe!.content!(bytes);
  return { protocol: "raknet", statement: raknetProtocol.record(status!) };
}

function stat(printed: NonNullable<Sent["query"]>): ProtocolReply {
  const challenge = { session: 1, token: 1, raw: printed.rawToken, fill: 0, flags: [] };
  const bytes = printed.form === "none" ? undefined : printed.form === "basic"
    ? encodeBasicStat({
      session: 1,
      motd: utf8(printed.motd),
      gametype: utf8(printed.gametype),
      map: utf8(printed.map),
      online: utf8(printed.online),
      max: utf8(printed.max),
      ip: utf8(printed.ip),
      port: Number(printed.port),
    })
    : encodeFullStat({
      session: 1,
      header: printed.header!,
      pairs: printed.pairs!.map(([key, value]) => [key, utf8(value)]),
      players: printed.players!.map(utf8),
    });
  const read: Stat | undefined = bytes && decodeStat(bytes);
  const status = { stat: read, challenge, fullLost: false };
  return { protocol: "query", statement: queryProtocol.record(status) };
}

/** The frame of a status, as the reply to the first request; later requests get no reply. */
function status(json: string): ProtocolReply {
  const text = utf8(json);
  const body = concat([0], varint(text.length), text);
  const exchange = slpProtocol.exchange({
    endpoint: CONTEXT.endpoint,
    nonce: 1n,
    exclusive: true,
    lastAttempt: true,
  });
  exchange.next();
  let step = exchange.next(concat(varint(body.length), body));
  while (!step.done) step = exchange.throw(new NoReply());
  return { protocol: "slp", statement: slpProtocol.record(step.value) };
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [value & 0x7f | 0x80, ...varint(value >> 7)];
}
