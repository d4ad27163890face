/**
 * Reads the rows of a message. A worker may be broken or hostile: no row reaches the database that a
 * scan of the part could not have written.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import {
  entriesOf,
  FieldError,
  integer,
  objectOf,
  optional,
  parseJson,
  text,
} from "../../core/checked_values.ts";
import { countOf, DAY_MS } from "../../core/quantities.ts";
import {
  ATTACHMENTS,
  type Attachments,
  type RawReply,
  type RecordWithAttachments,
  serverId,
} from "../../core/record.ts";
import { recordFromJson } from "../../sinks/read_rows.ts";
import { MAX_ROWS_BYTES } from "../results.ts";
import { type CollectedCampaign, endpointOfRow } from "./collected_campaign.ts";

/** Differences of clocks up to this are normal, milliseconds. Workers refuse larger ones. */
const SKEW_MS = 5000;
/** The longest time between a reply and the storing of its row in NATS, milliseconds. */
const MAX_AGE_MS = DAY_MS;

/** The rows of a message. */
export interface ReadRows {
  readonly records: readonly RecordWithAttachments[];
  /** What was refused or changed, in one line; `undefined`: nothing. */
  readonly trouble: string | undefined;
}

/** A row that cannot be used, or a part of it. */
class BadRow extends Error {}

/**
 * Reads the rows of a part.
 *
 * @param bytes The payload of the message.
 * @param storedAt When NATS stored the message, Unix milliseconds.
 */
export function readRows(
  campaign: CollectedCampaign,
  part: number,
  bytes: Uint8Array,
  storedAt: number,
): ReadRows {
  const records: RecordWithAttachments[] = [];
  const troubles: string[] = [];
  let [rows, refused] = [0, 0];
  for (const line of linesOf(bytes)) {
    rows++;
    try {
      records.push(readRow(line, { campaign, part, storedAt }, (why) => troubles.push(why)));
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
      troubles.push(error.message);
      refused++;
    }
  }
  if (troubles.length === 0) return { records, trouble: undefined };
  const what = refused === 0 ? "changed rows" : `ignored ${refused} of ${countOf(rows, "row")}`;
  return { records, trouble: `${what}: ${troubles[0]}` };
}

/** The lines of a payload without line feeds, as bytes. */
function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at);
    const next = end < 0 ? bytes.length : end;
    if (next > at) yield bytes.subarray(at, next);
    at = next + 1;
  }
}

/** Where a row comes from. */
interface RowOrigin {
  readonly campaign: CollectedCampaign;
  readonly part: number;
  readonly storedAt: number;
}

/** @throws BadRow for a row that cannot be used. */
function readRow(
  line: Uint8Array,
  { campaign, part, storedAt }: RowOrigin,
  note: (why: string) => void,
): RecordWithAttachments {
  if (line.length > MAX_ROWS_BYTES) throw new BadRow("a row is larger than 512 KiB");
  const { attachments, ...row } = parseObject(line);
  const record = recordFromJson(row);
  const endpoint = record && endpointOfRow(record);
  if (record === undefined || endpoint === undefined) {
    throw new BadRow("a row has a missing or wrong column");
  }
  const id = serverId(record);
  if (campaign.partOf(endpoint) !== part) throw new BadRow(`${id} is no target of the part`);
  if (record.scan_id !== campaign.scanId) throw new BadRow(`${id} is a row of another scan`);
  if (record.requested_as !== campaign.requestedAs(endpoint)) {
    throw new BadRow(`${id} has a name that was not requested`);
  }
  const isKnown = (name: string) => campaign.scope.allProtocols.some((one) => one.name === name);
  if (record.protocols.length === 0 || ![record.protocol, ...record.protocols].every(isKnown)) {
    throw new BadRow(`${id} has a protocol that does not exist`);
  }
  const { seen_at } = record;
  const isPlausible = seen_at > storedAt - MAX_AGE_MS && seen_at <= storedAt + SKEW_MS;
  if (!isPlausible) note(`${id} has a wrong time; the time of the message is used`);
  return {
    ...record,
    seen_at: isPlausible ? Math.min(seen_at, storedAt) : storedAt,
    ...readAttachments(attachments, record.favicon_hash, (why) => note(`${id} ${why}`)),
  };
}

function parseObject(line: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return Object.fromEntries(entriesOf(parseJson(new TextDecoder().decode(line)), "row"));
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new BadRow("a row is no JSON object, or nested too deeply");
  }
}

const BASE64 = text(
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  "base64",
);
const REPLY = objectOf({ size: integer(0, 2 ** 31 - 1), data: BASE64 });

/** The raw replies of a row; the name of each protocol is a key of the database. */
function replies(value: unknown, field: string): Readonly<Record<string, RawReply>> {
  const checked = entriesOf(value, field).map(([name, reply]) => {
    if (!/^\w{1,32}$/.test(name)) throw new FieldError(`${field} has a wrong name`);
    return [name, REPLY(reply, `${field}.${name}`)] as const;
  });
  return Object.fromEntries(checked);
}

const checkAttachments = objectOf({ replies, icon: optional(BASE64) });

/** The attachments of a row. Wrong ones are left out. */
function readAttachments(
  value: unknown,
  hash: string | null,
  note: (why: string) => void,
): Pick<RecordWithAttachments, typeof ATTACHMENTS> {
  if (value === undefined) return {};
  try {
    const { replies, icon } = checkAttachments(value, "attachments");
    const isRight = icon === undefined || hashOf(icon) === hash;
    if (!isRight) note("has an icon with another hash; the icon is not stored");
    const attachments: Attachments = isRight && icon !== undefined
      ? { replies, icon }
      : { replies };
    return { [ATTACHMENTS]: attachments };
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    note(`has wrong attachments, which are not stored: ${error.message}`);
    return {};
  }
}

function hashOf(icon: string): string {
  return nodeCrypto().hash("sha256", Uint8Array.fromBase64(icon), "hex");
}
