/**
 * Lines that explain errors of sending, and outages of the network.
 *
 * @module
 */
import { GIVE_UP_MS, type Outage, type SendErrorKind } from "../../scan/mod.ts";
import { roughDuration, withCommas } from "../../core/quantities.ts";

/** The most likely cause of an error of sending, and its remedy. */
const REFUSALS: Readonly<Record<string, string>> = {
  EPERM:
    "a firewall of this machine drops them, probably by a rule for output, which the command " +
    "`nft list ruleset` or `iptables -S OUTPUT` lists",
  EACCES: "the destination is a broadcast address, or a firewall of this machine rejects them",
  ENETUNREACH: "there is no route to the targets; the command `ip route` lists the routes",
  EHOSTUNREACH: "a next hop on the link does not reply",
  EMSGSIZE: "they exceed the MTU of the route",
  EINVAL: "the system does not accept the address or port",
  ENOBUFS: "the transmit queue has been full for a second: use a lower --rate",
};

/** The scarce resource by error code, and the remedy besides a lower concurrency. */
const SHORT: Readonly<Record<string, { readonly what: string; readonly remedy?: string }>> = {
  EMFILE: { what: "no file descriptors left", remedy: "raise the limit (ulimit -n)" },
  ENFILE: { what: "the system has no file descriptors left" },
  EADDRNOTAVAIL: { what: "no local ports left" },
};

/**
 * Reports a shortage that has lasted for a second.
 *
 * @param waiting What waits for the end of the shortage, in the plural.
 */
export function shortageLine(waiting: string, code: string = "EMFILE"): string {
  return `${SHORT[code]?.what ?? "this machine is out of resources"} (${code}): ${waiting} wait`;
}

/**
 * The line for an error that occurred for the first time.
 *
 * @returns `undefined` when no line is due.
 */
export function sendErrorLine(code: string, kind: SendErrorKind): string | undefined {
  if (kind === "short") {
    const remedies = [SHORT[code]?.remedy, "lower --concurrency"].filter((one) =>
      one !== undefined
    );
    return `blocksweep: ${shortageLine("connections and inspections", code)}; results become ` +
      `incomplete if that lasts: ${remedies.join(", or ")}`;
  }
  if (kind === "refused") return `blocksweep: the system refuses packets ${refusalText(code)}`;
  return code !== "ENETDOWN"
    ? undefined
    : "blocksweep: the interface is down (ENETDOWN): the scan continues when it is up again; " +
      "Ctrl-C ends the scan and keeps its rows";
}

/** An error of sending, with its most likely cause: `(ENOBUFS): the transmit queue …`. */
export function refusalText(code: string): string {
  const why = REFUSALS[code];
  return why === undefined ? `(${code})` : `(${code}): ${why}`;
}

/** Errors and how often they occurred, for example `12 EPERM, 3 EINVAL`. */
export function codeList(codes: Readonly<Record<string, number>>): string {
  return Object.entries(codes).sort(([, a], [, b]) => b - a)
    .map(([code, times]) => `${withCommas(times)} ${code}`).join(", ");
}

/**
 * What happens in an outage, for example `no server has replied for 6 s`.
 *
 * @param now Unix milliseconds.
 */
export function outageText({ since, reason }: Outage, now: number): string {
  const ms = roughDuration(now - since);
  return reason === "no_route"
    ? `the system has refused every packet for ${ms}, because there is no route`
    : `no server has replied for ${ms}, not even those that replied before`;
}

/**
 * The line for the beginning of an outage, or for its end.
 *
 * @param now Unix milliseconds.
 */
export function outageLine(outage: Outage, isOver: boolean, now: number): string {
  return isOver
    ? `blocksweep: the network works again after ${roughDuration(now - outage.since)}; the scan ` +
      "repeats what it sent meanwhile"
    : `blocksweep: ${outageText(outage, now)}: the scan waits for the network, at most ` +
      roughDuration(GIVE_UP_MS);
}
