/**
 * Checks events that are read from a database or a file: another program may have changed them.
 *
 * @module
 */
import { parseHost } from "../../core/address.ts";
import type { WatchEvent } from "./watch_event.ts";

/** Whether a value is valid. */
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
/** Unix milliseconds that a `Date` can represent. */
const isTime: Check = (value) => Number.isInteger(value) && Math.abs(value as number) <= 8.64e15;
const isPair: Check = (value) => Array.isArray(value) && value.length === 2;
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const orNull = (check: Check): Check => (value) => value === null || check(value);
const orMissing = (check: Check): Check => (value) => value === undefined || check(value);

const isServer: Check = (value) =>
  isObject(value) && isValid(value, {
    players_online: orNull(isNumber),
    players_max: orNull(isNumber),
    version: orNull(isText),
  });

const BASE: Readonly<Record<string, Check>> = {
  id: (value) => isText(value) && /^[\w:-]{1,64}$/.test(value as string),
  at: isTime,
  scan_id: orNull(isText),
};

const SERVER: Readonly<Record<string, Check>> = {
  host: (value) => isText(value) && parseHost(value as string) !== undefined,
  port: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 65536,
  requested_as: orNull(isText),
  name: orNull(isText),
};

const isNull: Check = (value) => value === null;

/** The members of events of the watch itself. */
const WATCHER = { host: isNull, port: isNull, requested_as: isNull, name: isNull };

/** The members of each kind of event that sentences and templates use. */
const KINDS: Readonly<Record<WatchEvent["event"], Readonly<Record<string, Check>>>> = {
  online: { server: isServer, offline_ms: orNull(isNumber) },
  new: { server: isServer },
  back: { server: isServer, missing_ms: isNumber },
  lost: { replied_at: isTime },
  offline: { misses: isNumber, replied_at: orNull(isTime) },
  changed: {
    changes: (value) => isObject(value) && Object.values(value as object).every(isPair),
    shortened: orMissing(isTexts),
  },
  players: { players_online: isPair, joined: orMissing(isTexts), left: orMissing(isTexts) },
  restarted: { guid: isPair },
  opted_out: {},
  scan_summary: {
    ...{ new: isNumber, back: isNumber, lost: isNumber, reported: isNumber },
    state: orMissing(isText),
  },
  watcher_offline: { since: isTime, reason: isText },
  watcher_online: { offline_ms: isNumber },
};

function isValid(value: unknown, checks: Readonly<Record<string, Check>>): boolean {
  const members = value as Readonly<Record<string, unknown>>;
  return Object.entries(checks).every(([name, check]) => check(members[name]));
}

/** The value as an event; `undefined` when it is not one. */
export function validEvent(value: unknown): WatchEvent | undefined {
  if (!isObject(value) || !isValid(value, BASE)) return undefined;
  const { event } = value as { readonly event: unknown };
  const isKnown = typeof event === "string" && Object.hasOwn(KINDS, event);
  const subject = isKnown && /^watcher_|^scan_/.test(event) ? WATCHER : SERVER;
  return isKnown && isValid(value, { ...subject, ...KINDS[event as WatchEvent["event"]] })
    ? value as WatchEvent
    : undefined;
}
