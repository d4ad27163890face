/** How the commands of documents are run. */

/** How a command is run. */
export type Rule =
  /** Not run, for a reason. */
  | { readonly skip: string }
  /** Runs until it prints this, after other commands; then Ctrl-C ends it. */
  | {
    readonly until: RegExp;
    readonly codes?: readonly number[];
    readonly after?: readonly string[];
  }
  /** Runs until it prints this, and goes on beside the next commands of the document. */
  | { readonly beside: RegExp }
  /** Runs to its end, after other commands, with one of these exit codes. */
  | { readonly codes: readonly number[]; readonly after?: readonly string[] };

const TO_ITS_END: Rule = { codes: [0] };

/** Commands after which there is a campaign. */
const CAMPAIGN = [
  "nats-server -js",
  "deno task campaign list | grep lab || deno task campaign submit 192.168.1.20 --name lab",
];

/** The rules in order. The first one whose expression matches a command applies to it. */
const RULES: readonly (readonly [RegExp, Rule])[] = [
  [/^(npx -y deno@\S+|deno) task (ok|test|interop|postgres|bench)\b|^deno test\b/, {
    skip: "a stage of CI",
  }],
  [/\bbench\/|^deno task fuzz\b/, { skip: "takes minutes, on a quiet machine" }],
  [/^npx -y deno@\S+ task scan RANGE$/, { skip: "tests/newcomer.sh runs it" }],
  [/write_versions\.ts/, { skip: "reads the package that the line before it downloads" }],
  [/^npm |^npx (?!-y deno@)/, { skip: "tests/npm runs the package" }],
  [/[A-Z]{4,}|@(HOST|worker)/, { skip: "contains a placeholder" }],
  [/ URL |systemctl|journalctl|\/opt\/blocksweep|\/var\/lib\//, {
    skip: "needs systemd and a published repository",
  }],
  [/\/backup\/|^pg_(dump|restore)/, { skip: "names folders of the reader" }],
  [/^blocksweep .*--engine/, { skip: "tests/npm runs the engines of the package" }],
  [/^nats-server\b/, { beside: /Server is ready/ }],
  [/\bfleet --servers\b/, { beside: /Ctrl-C to end/ }],
  [/\bfleet --check\b/, { codes: [0, 1] }], // the scan before was ended
  [/\bserve\b/, { beside: /Ctrl-C to end/ }],
  [/\bdiff servers\.db [\w-]/, { skip: "names scans of other days" }],
  [/\bdiff servers\.db$/, {
    codes: [0, 1],
    after: ["deno task scan --rescan servers.db -o servers.db -q --cooldown 500ms"],
  }],
  [/\bdiff old\.csv/, {
    codes: [0, 1],
    after: ["cp rows.csv old.csv", "cp rows.ndjson new.ndjson"],
  }],
  [/ --dry-run| -sL/, TO_ITS_END],
  [/\bcurl .*127\.0\.0\.1:8420\/(3|v2)\//, {
    codes: [0],
    after: ["deno task serve servers.db --status-api database"],
  }],
  [/\bcurl .*127\.0\.0\.1:8420/, { codes: [0], after: ["deno task serve servers.db"] }],
  [/\bcrawl\b/, { until: /probably unchanged/ }],
  [/\b(watch|crawl)\b.*>>/, { until: /watching|polled/ }],
  [/\bcampaign work\b/, { until: /: part \d+ begins/ }],
  [/\bcampaign collect\b/, { until: /collects results/, after: CAMPAIGN }],
  [/%eth0/, { codes: [1] }], // there is no such link
  [/\b(watch|lan(?! --once))\b/, { until: /Ctrl-C/ }],
  [/\bscan 127\.16\.0\.0\/16|\b(scan|fast) 1\S+\/(8|1\d)\b/, { until: /ETA/, codes: [130] }],
];

/** How a command without its comment is run. */
export function ruleOf(command: string): Rule {
  return RULES.find(([expression]) => expression.test(command))?.[1] ?? TO_ITS_END;
}

/** A command with higher limits, so that a scan takes seconds, and with the installed Deno. */
export function hurried(command: string): string {
  const rate = command.includes("--rate") ? "" : "--rate 20k ";
  const own = command.replace(/^npx -y deno@\S+/, "deno");
  return own.replace(/\bscan (?=[\d-])/, `scan ${rate}--net-rate 20000 --host-rate 1000 `);
}
