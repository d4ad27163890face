/**
 * Parts that the answers of all routes of the status API have in common.
 *
 * @module
 */
import { type Content, jsonContent } from "../api/answer.ts";
import type { Parameter } from "../queries/parameters.ts";
import { FRESH_MS } from "./server_facts.ts";
import { parseStatusAddress, type StatusAddress } from "./status_address.ts";

/** How long anybody may keep an answer, seconds. */
export const FRESH_S = FRESH_MS / 1000;

/** Any address; null: it is not valid. Each service has its own answer to that. */
export const STATUS_ADDRESS: Parameter<StatusAddress | null> = {
  description: "a name, an IPv4 address or an IPv6 address, with or without a port",
  wanted: "a name or an address",
  schema: { type: "string", maxLength: 259 },
  repeats: false,
  read: (text) => parseStatusAddress(text) ?? null,
};

/** The answer of mcstatus.io to an address that is not valid. */
export function invalidAddress(): Content {
  return {
    status: 400,
    contentType: "text/plain; charset=utf-8",
    body: "Invalid address value",
  };
}

/** @param cached How long anybody may keep the document, seconds. */
export function json(document: object, cached = FRESH_S): Content {
  return { ...jsonContent(document), cached };
}
