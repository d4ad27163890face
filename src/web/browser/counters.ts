/** The counters of a scan that its page shows: what became of packets, replies and rows. */

/** Titles, and the paths of the counters in a status file and in `scans.counters`. Losses are first. */
const COUNTERS: readonly (readonly [title: string, ...path: readonly string[]])[] = [
  ["Rows that are not written", "lost"],
  ["Datagrams that the system dropped: receive buffer full, or bad checksum", "datagrams_dropped"],
  ["Probes that the system refused", "probes_refused"],
  ["SYN packets that the system refused", "tcp", "probes_refused"],
  ["Servers not inspected: no file descriptor", "uninspected"],
  ["Servers without a status", "no_status"],
  ["Replies, omitted", "replies", "omitted"],
  ["Replies, malformed", "replies", "malformed"],
  ["Replies, forged", "replies", "forged"],
  ["Replies, unsolicited", "replies", "unsolicited"],
  ["Datagrams of flooding hosts, ignored", "floods", "datagrams"],
  ["TCP probes, unanswered", "tcp", "unanswered"],
  ["TCP ports, refused", "tcp", "refused"],
  ["TCP ports, unreachable", "tcp", "unreachable"],
  ["TCP replies, forged", "tcp", "forged"],
  ["Replies, unverified", "replies", "unverified"],
  ["Replies, duplicate", "replies", "duplicate"],
  ["Replies, valid", "replies", "valid"],
];

/** The counters that a state has, with their titles. Another program may have written anything. */
export function countersIn(state: unknown): readonly (readonly [title: string, value: number])[] {
  return COUNTERS.flatMap(([title, ...path]) => {
    const value = path.reduce<unknown>((part, key) => Object(part)[key], state);
    return typeof value === "number" ? [[title, value] as const] : [];
  });
}
