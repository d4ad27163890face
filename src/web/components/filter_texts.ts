/**
 * Filters in words, for chips and titles: `version 1.20 to 1.21, with mods`.
 *
 * @module
 */
import { withCommas } from "../../core/quantities.ts";
import type { DashboardFilters } from "../queries/dashboard_data.ts";
import { FILTER_NAMES, filterQuery } from "../queries/filters.ts";
import { durationText, timeText } from "./quantities.ts";
import { editionName } from "./texts.tsx";

/** The words for a value of each filter, as URLs have it. */
const TEXTS: Readonly<Record<keyof DashboardFilters, (value: string) => string>> = {
  text: (value) => `“${value}”`,
  online: (value) => value === "true" ? "online" : "offline",
  edition: (value) => `${editionName(value)} edition`,
  software: (value) => `software ${value}`,
  confidence: (value) => `confidence ${value}`,
  version: (value) => `version ${rangeText(value)}`,
  protocol: (value) => `protocol ${value}`,
  port: (value) => `port ${value}`,
  network: (value) => value,
  flag: (value) => `flag ${value}`,
  tag: (value) => `tag ${value}`,
  named: (value) => `named ${value}`,
  country: (value) => `in ${value}`,
  operator: (value) => `AS${value}`,
  minPlayers: (value) => value === "1" ? "with players" : `${countText(value)} players or more`,
  maxPlayers: (value) => `at most ${countText(value)} players`,
  full: (value) => value === "true" ? "full" : "not full",
  noAliases: (value) => value === "true" ? "without aliases" : "with aliases",
  mods: (value) => listText("mod", value),
  plugins: (value) => listText("plugin", value),
  down: (value) => `down for ${ageText(value)} or longer`,
  replied: (value) => `replied in the last ${ageText(value)}`,
  stale: (value) => `not probed for ${ageText(value)}`,
  unknown: (value) => `${value} unknown`,
  since: (value) =>
    /^\d+$/.test(value)
      ? `changed since ${timeText(Number(value))} UTC`
      : `changed in the last ${ageText(value)}`,
  scan: scanText,
  saw: (value) => `${value} in a scan`,
};

/** The parameters of filters in URLs, and the words for each. */
export function filterTexts(
  filters: DashboardFilters,
): { readonly name: string; readonly value: string; readonly text: string }[] {
  return [...new URLSearchParams(filterQuery(filters))]
    .map(([name, value]) => ({ name, value, text: TEXTS[FILTER_NAMES[name]](value) }));
}

/** The title of a list of servers: what it lists, and its filters in words. */
export function filtersTitle(filters: DashboardFilters, what: string): string {
  const texts = filterTexts(filters).map(({ text }) => text);
  return texts.length === 0 ? what : `${what}: ${texts.join(", ")}`;
}

/** A scan by its time, which its identity contains if it is a UUIDv7. */
function scanText(id: string): string {
  const at = parseInt(id.replace("-", "").slice(0, 12), 16);
  const time = id[14] === "7" ? timeText(at).slice(0, -":00".length) : "";
  return `scan of ${time === "" ? id : `${time} UTC`}`;
}

function countText(value: string): string {
  return withCommas(Number(value));
}

function listText(one: string, value: string): string {
  return value === "yes" ? `with ${one}s` : value === "no" ? `without ${one}s` : `${one} ${value}`;
}

function ageText(age: string): string {
  const unit = { m: 60_000, h: 3_600_000, d: 86_400_000 }[age.at(-1)!]!;
  return durationText(parseInt(age, 10) * unit);
}

function rangeText(value: string): string {
  const [, sign, version] = /^(>=|<=|>|<)(.+)$/.exec(value) ?? [];
  if (sign !== undefined) return SIGNS[sign](version);
  const [first, last] = /^[\d.]*?\.\.[\d.]*$/.test(value) ? value.split("..") : [value, value];
  if (last === "") return `${first} or later`;
  if (first === "") return `up to ${last}`;
  return first === last ? first : `${first} to ${last}`;
}

const SIGNS: Readonly<Record<string, (version: string) => string>> = {
  ">=": (version) => `${version} or later`,
  "<=": (version) => `up to ${version}`,
  ">": (version) => `after ${version}`,
  "<": (version) => `before ${version}`,
};
