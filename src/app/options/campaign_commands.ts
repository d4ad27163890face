/**
 * The commands of campaigns: purpose, usage, examples, and the arguments that they take besides
 * options.
 *
 * @module
 */

/** Why the rate of a campaign is a number. */
export const NO_LOSS = "workers share one rate, and none of them can measure the loss that all " +
  "cause together; give a --rate such as 500 or 10k";

/** The same reason for several options that a command lacks. */
function because(reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/** The help of each command of campaigns. */
export const CAMPAIGN_COMMANDS = {
  "campaign submit": {
    usage: "campaign submit TARGET... [options]",
    purpose: "divide a scan into parts, and queue them for workers",
    mostUsed: ["name", "rate", "ports", "dry-run", "i-have-permission"],
    note:
      "TARGETs are those of scan. Names are resolved now, for all workers. Targets that overlap are\n" +
      "probed once. If submit was interrupted, run it again: it queues only the parts that are missing.\n" +
      "A NATS server with JetStream must run, for example: nats-server -js\n" +
      "The rate is the rate of the campaign. A worker sends its share: the rate divided by\n" +
      "--max-running, for each part that it scans.",
    lacks: {
      ...because(
        "a campaign probes each endpoint of its parts; an adaptive scan runs on one machine, or on " +
          "several with scan --shard",
        ["adaptive", "budget", "stop-below", "known", "net-budget"],
      ),
      ...because("workers keep the progress of parts in NATS", ["checkpoint", "from"]),
      ...because("the options of a campaign are in no file; give them on the command line", [
        "config",
        "echo-config",
      ]),
      ...because("each worker chooses its own: campaign work --engine", ["engine", "threads"]),
      "source-port": "a worker may scan several parts at a time, each from a port that is free",
      ...because("scan --list-targets prints them; campaign submit --dry-run counts them", [
        "list-targets",
        "sL",
      ]),
      "max-results": "a worker does not know how many rows the others have written",
      "max-runtime": "campaign pause and campaign cancel end its scans",
      "max-targets": "targets are divided into whole networks; name fewer of them",
      ...because("rows go to the database of campaign collect; export writes them to files", [
        ...["o", "output", "f", "format", "oD", "oJ", "oG", "oL", "append", "fields", "sort"],
      ]),
      ...because("give it to campaign collect, which writes the database", [
        ...["down-after", "keep", "text-index", "partition-by-month"],
      ]),
      ...because("campaign status shows the progress of all workers, also with --watch or --json", [
        ...["status-file", "stats-every", "metadata-file", "metrics", "v", "verbose"],
      ]),
      ...because("watch --webhook sends the events of the database of campaign collect", [
        ...["webhook", "webhook-format", "webhook-events", "webhook-template"],
        ...["webhook-header", "webhook-secret"],
      ]),
      ...because("its output is plain lines without colours", ["plain", "no-color"]),
      "rescan": "servers of a database change while workers scan; write them into a file with " +
        "export -o targets.txt, and read it with -iL",
      "resume": "workers continue unfinished parts by themselves; after a pause: campaign resume",
      "shard": "a campaign divides its targets by itself, into --parts",
    },
    examples: [
      "campaign submit 10.0.0.0/8 --name lab --i-have-permission --rate 20k",
      "campaign submit -iL networks.txt --parts 256 --max-running 16 --dry-run",
      "campaign submit 10.0.0.0/16 --views 2",
    ],
  },
  "campaign work": {
    usage: "campaign work [options]",
    purpose: "scan the parts of campaigns, one after the other",
    note: "It runs until Ctrl-C. A part that is not finished is then continued by another worker.",
    examples: [
      "campaign work --nats nats://10.0.0.1:4222",
      "campaign work --slots 8 --engine udp --source-ip 10.0.0.5",
      "campaign work --vantage berlin",
    ],
    words: { most: 0 },
  },
  "campaign collect": {
    usage: "campaign collect [NAME] -o DATABASE [options]",
    purpose: "write the rows of all campaigns into a database",
    note:
      "It runs until Ctrl-C; with NAME, until the scan of that campaign has ended. Several collectors\n" +
      "may write into one database. Rows wait in NATS until the collectors of all databases have\n" +
      "written them. After the last part of a campaign, servers that did not reply are counted.",
    examples: [
      "campaign collect -o servers.db",
      "campaign collect lab -o servers.db",
      "campaign collect -o postgres://writer@db.example.org/servers --once",
    ],
    words: { most: 1 },
  },
  "campaign status": {
    usage: "campaign status [NAME] [options]",
    purpose: "show the progress of campaigns, their workers and their rate",
    examples: ["campaign status", "campaign status lab --watch", "campaign status lab --json"],
    words: { most: 1 },
  },
  "campaign list": {
    usage: "campaign list [options]",
    purpose: "list the campaigns",
    examples: ["campaign list", "campaign list --json"],
    words: { most: 0 },
  },
  "campaign pause": {
    usage: "campaign pause NAME [options]",
    purpose: "stop the workers of a campaign; their parts keep their progress",
    examples: ["campaign pause lab"],
    words: { most: 1 },
  },
  "campaign resume": {
    usage: "campaign resume NAME [options]",
    purpose: "continue a paused campaign",
    examples: ["campaign resume lab"],
    words: { most: 1 },
  },
  "campaign cancel": {
    usage: "campaign cancel NAME [options]",
    purpose: "end a campaign: parts that are not finished are not scanned",
    examples: ["campaign cancel lab"],
    words: { most: 1 },
  },
  "campaign retry": {
    usage: "campaign retry NAME [options]",
    purpose: "queue the poisoned parts of a campaign again",
    note: "A part is poisoned after five tries have failed, also if one worker made all of them.",
    examples: ["campaign retry lab"],
    words: { most: 1 },
  },
  "campaign opt-out": {
    usage: "campaign opt-out ADDRESS... [options]",
    purpose: "exclude addresses from all present and future campaigns",
    examples: ["campaign opt-out 10.0.0.7 2001:db8::7"],
  },
  "campaign remove": {
    usage: "campaign remove NAME [options]",
    purpose: "remove a finished or cancelled campaign from NATS",
    note: "Databases keep its rows. Results of a cancelled campaign that wait in NATS are removed.",
    examples: ["campaign remove lab"],
    words: { most: 1 },
  },
} as const;
