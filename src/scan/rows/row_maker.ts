/**
 * Makes rows from replies: decodes, merges, classifies, and finds aliases. It needs nothing but its
 * arguments, so that it can run in a thread of its own.
 *
 * @module
 */
import { CUT_SHORT } from "../../core/flags.ts";
import type { Endpoint } from "../../core/address.ts";
import { ATTACHMENTS, type RecordWithAttachments, type ServerRecord } from "../../core/record.ts";
import {
  attachedOf,
  decodeRawReply,
  mergeReplies,
  type ProtocolReply,
  type UndecodedReply,
} from "../../inspect/mod.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Aliases } from "./aliases.ts";

export interface RowSource {
  readonly endpoint: Endpoint;
  /** When the server replied, Unix milliseconds. */
  readonly seenAt: number;
  /** Round-trip time of the first reply, milliseconds; `null` when it is unknown. */
  readonly latencyMs: number | null;
  /** The value of the column `requested_as`. */
  readonly requestedAs: string | null;
  /** Whether queries or a verification were omitted. */
  readonly isCutShort: boolean;
  /** The replies of the server, or the only one, which was not decoded yet. */
  readonly replies: readonly ProtocolReply[] | UndecodedReply;
}

/** Options of {@linkcode RowMaker}. */
export interface RowMakerOptions {
  /** The id of the scan, a UUIDv7. */
  readonly scanId: string;
  /** Every protocol that rows may name. */
  readonly allProtocols: readonly Protocol[];
  /** Whether rows contain names of players. */
  readonly players: boolean;
  /** Whether records have raw replies and icons. Default: no. */
  readonly attach?: boolean;
}

export class RowMaker {
  /**
   * Makes rows that may be aliases of earlier rows.
   *
   * @param aliases The signatures of the earlier rows, to which those of new rows are added.
   */
  constructor(private readonly options: RowMakerOptions, readonly aliases: Aliases) {}

  make(source: RowSource): ServerRecord {
    const { scanId, allProtocols, players, attach } = this.options;
    const { endpoint, seenAt, latencyMs, requestedAs, replies: given, isCutShort } = source;
    const replies = "raw" in given ? [decodeRawReply(given, allProtocols)] : given;
    const context = { endpoint, seenAt, latencyMs, requestedAs, scanId, allProtocols };
    const record: RecordWithAttachments = mergeReplies(replies, context);
    if (isCutShort) record.flags = [...record.flags, CUT_SHORT].sort();
    if (attach) record[ATTACHMENTS] = attachedOf(replies, players ? "all" : "icons");
    record.alias_of = this.aliases.of(record, endpoint);
    return players ? record : withoutPlayers(record, allProtocols);
  }
}
