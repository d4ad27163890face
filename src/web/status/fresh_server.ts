/**
 * Fresh statuses of servers in the form of those of the database.
 *
 * @module
 */
import type { FreshRequest, FreshStatus } from "../../app/status_api/mod.ts";
import { type Address, parseAddress } from "../../core/address.ts";
import { ATTACHMENTS, emptyRecord } from "../../core/record.ts";
import { requestText } from "../../targets/srv.ts";
import { isSmallPng } from "../data/icons.ts";
import type { StatusQuery } from "../queries/dashboard_data.ts";
import type { ShownServer } from "./server_facts.ts";
import type { StatusAddress } from "./status_address.ts";

/** The request for a fresh status of a server that a client names. */
export function freshRequest(
  { host, isName }: StatusAddress,
  { port, edition }: StatusQuery,
  client: Address,
): FreshRequest {
  const target = isName ? { name: host, port } : { address: parseAddress(host)!, port };
  return { target, edition, client };
}

/** The server of a fresh status; `undefined`: its name leads nowhere. */
export function freshServer(
  { record, endpoint, retrievedAt }: FreshStatus,
  { host, isName }: StatusAddress,
): ShownServer | undefined {
  if (endpoint === undefined) return undefined;
  const { service, ...at } = endpoint;
  if (record === undefined) {
    const requested_as = isName ? requestText(host, service) : null;
    const server = { ...emptyRecord(at, retrievedAt), requested_as };
    return { server: { ...server, online: false, probed_at: retrievedAt }, icon: null };
  }
  const { icon, sample } = record[ATTACHMENTS] ?? {};
  const bytes = icon === undefined ? null : Uint8Array.fromBase64(icon);
  return {
    server: { ...record, online: true, probed_at: retrievedAt },
    icon: bytes !== null && isSmallPng(bytes) ? bytes : null,
    uuids: new Map(sample?.flatMap(({ name, id }) => isUuid(id) ? [[name, id]] : [])),
  };
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

function isUuid(text: string | null): text is string {
  return text !== null && UUID.test(text);
}
