/**
 * Command lines that are refused. Those that only read files and arguments run in this process.
 * Covers src/cli/mod.ts and src/app/exit_codes.ts.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Finished, run } from "./program.ts";
import { runHere } from "./run_here.ts";

/** Command lines, and a part of their error. */
const REFUSED: [args: string[], message: string][] = [
  [["scn"], 'Unknown command "scn"; did you mean scan?'],
  [["scan", "--reate", "5", "127.0.0.1"], "Unknown option --reate; did you mean --rate?"],
  [["scan"], "Cannot scan: name addresses"],
  [["lan", "10.0.0.0/24"], 'Cannot use "10.0.0.0/24": lan takes no targets'],
  [["lan", "--once", "0"], 'Cannot use --once "0": expected a whole number from 1 to 3600'],
  [["lan", "-p", "T:25565"], 'Cannot use --ports "T:25565": lan takes 1 to 64 UDP ports'],
  [["lan", "-p", "1-65"], "lan takes 1 to 64 UDP ports"],
  [["scan", "10.0.0.0/33"], 'Cannot parse range "10.0.0.0/33": the prefix must be 0 to 32'],
  [["scan", "256.1.1.1"], 'Cannot parse "256.1.1.1"'],
  [["scan", "010.0.0.1"], 'Cannot parse "010.0.0.1"'],
  [["scan", "1.2.3"], 'Cannot parse "1.2.3"'],
  [["scan", "10.0.0.9-10.0.0.1"], "the first address is above the last"],
  [
    ["scan", "127.0.0.1", "25565"],
    'Cannot parse "25565": a port follows its host, as in HOST:25565',
  ],
  [["query", "127.0.0.1", "25565"], "a port follows its host, as in HOST:25565"],
  [["watch", "127.0.0.1", "25565"], "a port follows its host, as in HOST:25565"],
  [
    ["scan", "C:\\Users\\me\\list.txt"],
    'Cannot scan "C:\\Users\\me\\list.txt": there is no such file; -iL FILE reads targets',
  ],
  [["scan", "127.0.0.1", "--protocol", "bedrock"], "; did you mean raknet or nethernet or query?"],
  [["query", "127.0.0.1", "--protocol", "Java"], "; did you mean slp or query?"],
  [["scan", "127.0.0.1", "-p", "0"], 'Cannot parse port "0"'],
  [["scan", "127.0.0.1", "-p", "70000"], 'Cannot parse port "70000"'],
  [["scan", "127.0.0.1", "--rate", "abc"], 'Cannot use --rate "abc"'],
  [["scan", "-iL", "/dev/null"], "Cannot use /dev/null: it contains no targets"],
  [["scan", "-iL", "/nonexistent"], 'Cannot read "/nonexistent": there is no such file'],
  [["scan", "8.8.8.8"], "Cannot scan 1 public address without --i-have-permission"],
  [
    ["scan", "8.8.8.8", "--i-have-permission"],
    "Cannot scan 1 public address without --contact: name the e-mail address or web page of who answers " +
    "complaints, once with --contact: it is kept for later scans",
  ],
  ...[
    "abuse",
    "a@b@c.org",
    "a b@c.org",
    "ftp://a.org",
    "https://u:p@a.org",
    "a@b.org\n",
    "<a@b.org>",
  ]
    .map((text): [string[], string] => [
      ["scan", "127.0.0.1", "--contact", text],
      "expected an e-mail address such as abuse@example.org, or a URL that starts with http: or https:",
    ]),
  [
    ["watch", "127.0.0.1", "--contact", `${"a".repeat(190)}@example.org`],
    "of at most 200 characters",
  ],
  [["opt-out", "add", "--why", "a", "--from", "b"], "Cannot opt out: name ranges or host names"],
  [["opt-out", "add", "10.0.0.1", "--why", "a"], "Cannot opt out without --why and --from"],
  [["opt-out", "add", "10.0.0.1:5", "--why", "a", "--from", "b"], "it applies to all ports"],
  [["opt-out", "add", "10.0.0.1", "--why", "a\nb", "--from", "b"], 'Cannot use --why "a'],
  [["opt-out", "add", "10.0.0.1", "--why", "a", "--from", "b  c"], 'Cannot use --from "b  c"'],
  [["contact-page"], "Cannot make the page without --contact"],
  [["opt-out", "remove"], "Cannot remove an opt-out: name ranges or host names"],
  [["opt-out", "list", "--json", "--ranges"], "Cannot use --json with --ranges"],
  [["scan", "224.0.0.1"], "never probed: multicast"],
  [
    ["scan", "127.0.0.1", "-o", "x.dat"],
    'Cannot choose a format for "x.dat": end it in .csv, .ndjson, .json, .txt or .db, or give --format',
  ],
  [
    ["query", "127.0.0.1", "-o", "/dev/full"],
    'Cannot choose a format for "/dev/full": end it in .csv, .ndjson, .json or .txt, or give --format',
  ],
  [["prune", "x.db", "--keep", "-1d"], 'Cannot use --keep "-1d": '],
  [["prune", "x.db", "--observations", "-1d"], 'Cannot use --observations "-1d": '],
  [["prune", "x.db", "--keep="], "Cannot use --keep: it needs a value"],
  [["scan", "127.0.0.1", "--max-rate=abc"], 'Cannot use --max-rate "abc"'],
  [["watch", "127.0.0.1", "--max-rate=abc"], 'Cannot use --max-rate "abc"'],
  [["query", "127.0.0.1", "--max-retries", "9"], 'Cannot use --max-retries "9"'],
  [["scan", "127.0.0.1", "-o", "a.csv", "-o", "./a.csv"], 'Cannot write two outputs to "./a.csv"'],
  [["scan", "127.0.0.1", "--status-file", "s", "--metadata-file", "s"], "Cannot write two outputs"],
  [["scan", "127.0.0.1", "--metadata-file", "/nonexistent/m"], 'Cannot write to "/nonexistent/m"'],
  [["scan", "127.0.0.1", "--status-file", "/dev/null"], "it is not a regular file"],
  [["scan", "127.0.0.1", "--stats-every", "abc", "--quiet"], 'Cannot use --stats-every "abc"'],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "6:0"],
    "Cannot start from 6:0: there are 4 passes; the last position is 5:0",
  ],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "5:0,T:6:0"],
    "Cannot start from T:6:0: there are 4 TCP passes; the last position is 5:0",
  ],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "1:2"],
    "Cannot start from 1:2: pass 1 has 1 target\n",
  ],
  [["scan", "127.0.0.1", "--rate", "abc", "--echo-config"], 'Cannot use --rate "abc"'],
  [["scan", "::1", "127.0.0.1", "--source-port", "40001"], "Cannot use --source-port for IPv4 and"],
  [
    ["scan", "127.0.0.1", "--fields", "hsot"],
    'Cannot write column "hsot": there is no such column; did you mean "host"?',
  ],
  [["scan", "127.0.0.1", "--fields", "host,port,host"], 'Cannot write column "host" twice'],
  [["scan", "127.0.0.1", "--fields", ","], "Cannot use --fields: it names no column"],
  [["scan", "8.8.8.8", "--i-have-permission=no"], "--i-have-permission=no: it takes no value"],
  [["scan", "127.0.0.1", "--config", "/nonexistent"], 'Cannot read "/nonexistent"'],
  [["scan", "127.0.0.1", "--status-file", "/nonexistent/s"], 'Cannot write to "/nonexistent/s"'],
  [["scan", "127.0.0.1", "-p", "9-8"], 'Cannot parse ports "9-8": the first is above the last'],
  [["scan", "127.0.0.1", "--host-rate", "5M"], 'Cannot use --host-rate "5M"'],
  [["scan", "127.0.0.1", "--opt-out-file", "/usr"], 'Cannot read "/usr": it is not a regular file'],
  [["scan", "127.0.0.1", "--source-ip", "::1"], "it is not an IPv4 address"],
  [
    ["scan", "127.0.0.1", "--protocol", "sqp"],
    "without a port: it has no default port; name ports",
  ],
  [["scan", "127.0.0.1:9000", "127.0.0.2", "--protocol", "query,sqp"], "it has no default port"],
  [["query", "127.0.0.1", "--protocol", "sqp"], "it has no default port; give HOST:PORT"],
  [["servers", "x.db", "--flag", "foo"], 'Cannot use --flag "foo": expected badUtf8, '],
  [["export", "x.db", "--flag", "cut,badUtf"], 'Cannot use --flag "badUtf": expected'],
  [["servers", "x.db", "--flag", "badUtf"], "; did you mean badUtf8?"],
  [["scan", "10.0.0.1", "--budget", "5%"], "Cannot use --budget without --adaptive"],
  [["scan", "10.0.0.1", "--stop-below", "5/M"], "Cannot use --stop-below without --adaptive"],
  [["scan", "10.0.0.1", "--known", "a.db"], "Cannot use --known without --adaptive"],
  [["scan", "10.0.0.1", "--net-budget", "5"], "Cannot use --net-budget without --adaptive"],
  [
    ["scan", "10.0.0.1", "--adaptive", "--budget", "lots"],
    'Cannot use --budget "lots": expected a',
  ],
  [
    ["scan", "10.0.0.0/24", "--adaptive", "--budget", "10"],
    "Cannot use --budget 10: it is 10 probes, and a pass has at least 5,000 at 1,000/s: give a larger budget, or a lower --rate",
  ],
  [
    ["scan", "10.0.0.0/24", "--adaptive", "--budget", "4999ms"],
    "Cannot use --budget 4999ms: it is 4,999 probes, and a pass has at least 5,000 at 1,000/s: give a larger budget, or a lower --rate",
  ],
  [
    ["scan", "10.0.0.0/24", "--adaptive", "--budget", "200M"],
    "Cannot use --budget 200M: it is 200,000,000 probes, and there are 154,368 endpoints to probe",
  ],
  [
    ["scan", "10.0.0.0/20", "--adaptive", "--budget", "300%", "-p", "25565"],
    "Cannot use --budget 300%: it is 36,864 probes, and there are 12,288 endpoints to probe (100% is 12,288)",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--max-targets", "5"],
    "Cannot use --max-targets with --adaptive: --budget limits its probes",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--seed", "1", "--from", "2:5"],
    "Cannot use --from with --adaptive: --resume continues it",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--no-randomize"],
    "Cannot use --no-randomize with --adaptive",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--rescan", "a.db"],
    "Cannot use --rescan with --adaptive: --known names a database",
  ],
  [["scan", "10.0.0.1", "--adaptive", "-sL"], "Cannot use --list-targets with --adaptive"],
  [
    ["scan", "10.0.0.1", "--adaptive", "--protocol", "raknet,sqp", "-p", "9000"],
    "Cannot use --adaptive with --protocol sqp: its targets have to be probed in raknet first, " +
    "each of them; scan it without --adaptive",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--protocol", "query"],
    "Cannot use --adaptive with --protocol query: it only follows up",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "-p", "U:1-1025,T:1"],
    'Cannot use --ports "U:1-1025,T:1" with --adaptive: it names 1,025 UDP ports; at most 1,024',
  ],
  [
    ["scan", "10.0.0.0/24", "fd00::7", "--adaptive"],
    "Cannot scan fd00::7 with --adaptive: adaptive scans are for IPv4",
  ],
  [
    ["scan", "10.0.0.0/24", "10.0.0.7:25566", "--adaptive"],
    "Cannot scan 10.0.0.7:25566 with --adaptive: name targets without a port; --ports chooses",
  ],
  [
    ["scan", "10.0.0.1", "--adaptive", "--known", "/nonexistent/rows.csv"],
    'Cannot read "/nonexistent/rows.csv": there is no such file',
  ],
  [["query"], "Cannot query: name a host"],
  [
    ["query", "127.0.0.1", "--timeout", "0ms"],
    'Cannot use --timeout "0ms": it must be at least 1 ms',
  ],
  [["query", "127.0.0.0/24"], "it is a range"],
  [["query", "255.255.255.255"], "never probed"],
  [
    ["scan", "127.0.0.1", "--protocol", "slp,query", "--verify"],
    "Cannot use --verify with --protocol slp,query: it needs raknet",
  ],
  [["query", "127.0.0.1:25565", "--protocol", "slp", "--verify"], "it needs raknet"],
  [["lan", "10.0.0.1"], "lan takes no targets"],
  [["fleet", "--software", "nonsense"], 'Cannot simulate "nonsense": there is no such software; '],
  [["fleet", "--software", "paperr"], 'Cannot simulate "paperr": did you mean "paper"?'],
  [["fleet", "--software", ","], "Cannot use --software: it names no software"],
  [["fleet", "--range", "10.0.0.0/24"], "not a loopback address"],
  [["fleet", "--range", "localhost"], 'Cannot use --range "localhost": expected addresses'],
  [["fleet", "127.0.0.1"], 'Cannot use "127.0.0.1": write --range 127.0.0.1'],
  [["fleet", "--lab", "--range", "8.8.8.0/24"], "the range must lie in data/private.txt"],
  [["fleet", "--log", "/nonexistent/x"], 'Cannot write to "/nonexistent/x": No such file'],
  [["fleet", "--loss", "200"], "a number from 0 to 100"],
  [["completions", "tcsh"], 'Cannot print completions for "tcsh": expected one of bash, zsh, fish'],
];

// With the permission for FFI, the first scan loads a library that stays loaded: tests may not do so.
await runHere(["scan", "127.0.0.1", "--dry-run"]);

/** Checks the end of a refused command. */
function assertRefused({ code, stdout, stderr }: Finished, message: string): void {
  assertEquals([code, stdout], [2, ""]);
  assertStringIncludes(stderr, message);
  assertMatch(stderr, /^blocksweep: [^\n]*\n$/);
}

for (const [args, message] of REFUSED) {
  Deno.test(`"${args.join(" ")}" is refused in one line, with exit code 2`, async () => {
    assertRefused(await runHere(args), message);
  });
}

/** Command lines that read standard input, or are refused after sockets were opened. */
const REFUSED_LATE: [args: string[], message: string][] = [
  [["scan", "-", "-iL", "-"], "Cannot read targets from standard input twice"],
  [
    ["scan", "127.0.0.1", "-o", "/nonexistent/x.csv"],
    'Cannot write to "/nonexistent/x.csv": No such file',
  ],
];

for (const [args, message] of REFUSED_LATE) {
  Deno.test(`"${args.join(" ")}" is refused in one line, with exit code 2`, async () => {
    assertRefused(await run(args), message);
  });
}

Deno.test("a command with the only argument help prints its help", async () => {
  for (const command of ["scan", "query", "servers"]) {
    const [asked, flag] = [await runHere([command, "help"]), await runHere([command, "--help"])];
    assertEquals([asked.code, asked.stdout], [0, flag.stdout]);
  }
});
