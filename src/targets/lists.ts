/**
 * The lists that every scan obeys: what is never asked, what is asked only when named, the usual
 * ports, and how a MOTD says that its server wants to be left alone.
 *
 * @module
 */
import excludeText from "../../data/exclude.txt" with { type: "text" };
import markerText from "../../data/opt-out.txt" with { type: "text" };
import portsText from "../../data/ports.txt" with { type: "text" };
import privateText from "../../data/private.txt" with { type: "text" };
import type { Address } from "../address.ts";
import { parseRangeList } from "./parse.ts";
import { parseUsualPorts } from "./ports.ts";
import type { Range } from "./ranges.ts";

/** A range, and why it is listed. */
export interface ReasonedRange {
  /** The addresses. */
  readonly range: Range;
  /** Why. */
  readonly reason: string;
}

/** What is never asked: data/exclude.txt. */
export function neverRanges(): readonly ReasonedRange[] {
  return parseRangeList(excludeText, "data/exclude.txt");
}

/** Why an address is never asked; `undefined` where it may be. */
export function neverAsked(address: Address): string | undefined {
  return neverRanges().find(({ range: { start, end } }) =>
    typeof start === typeof address && start <= address && address < end
  )?.reason;
}

/** What is asked only when a target lies wholly inside: data/private.txt. */
export function privateRanges(): readonly ReasonedRange[] {
  return parseRangeList(privateText, "data/private.txt");
}

/** The usual ports of a protocol in a family: data/ports.txt. */
export function usualPorts(): (protocol: string, family: 4 | 6) => readonly number[] {
  return parseUsualPorts(portsText);
}

/** Whether a MOTD holds one of the markers of data/opt-out.txt. */
export function optOutCheck(): (motd: string) => boolean {
  const markers = markerText.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  return (motd) => markers.some((marker) => motd.includes(marker));
}
