/**
 * Covers src/app/options/, src/app/options/groups/, src/app/scan/scan_choice.ts,
 * src/cli/options/ and src/core/errors.ts.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { readArgs, typedNames } from "../../../src/cli/options/parse_arguments.ts";
import { readOptions } from "../command_line.ts";
import { formatConfig, mergeOptions, parseConfig } from "../../../src/app/options/config_file.ts";
import { type Command, COMMAND_NAMES, COMMANDS } from "../../../src/app/options/commands.ts";
import { commandHelp, groupOverview, overview } from "../../../src/cli/options/help_text.ts";
import { main } from "../../../src/cli/mod.ts";
import { OPTIONS, optionsOf } from "../../../src/app/options/option_table.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { InputError } from "../../../src/core/errors.ts";
import { withMessages, withResults } from "../failing_streams.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const read = (...args: string[]) => readArgs("scan", args);
const options = (...args: string[]) => readOptions("scan", read(...args));

Deno.test("options are parsed in every form, and targets may stand between them", () => {
  const { words, given } = read(
    ...["10.0.0.1", "-p", "1,2", "--rate=10k", "42", "-o", "a.csv", "-o", "-", "--append", "1e3"],
    ...["-iL", "-", "-sL", "-oJ", "x.json", "--max-retries", "2", "-c64", "--wait", "2s"],
  );
  assertEquals(words, ["10.0.0.1", "42", "1e3"]); // these values are texts, not numbers
  assertEquals(Object.fromEntries(given), {
    "ports": ["1,2"],
    "rate": ["10k"],
    "output": ["a.csv", "-"],
    "append": ["true"],
    "input-file": ["-"],
    "list-targets": ["true"],
    "oJ": ["x.json"],
    "retries": ["2"],
    "concurrency": ["64"],
    "cooldown": ["2s"],
  });
});

Deno.test("an unknown option is refused, with a suggestion if one is close", () => {
  const refused = (args: string[], message: string) =>
    assertThrows(() => read(...args), InputError, message);
  refused(["--reate", "5"], "Unknown option --reate; did you mean --rate?");
  refused(["--hostrate=5"], "did you mean --host-rate?");
  refused(["--exclud", "x"], "did you mean --exclude?");
  refused(["-e", "5"], "Unknown option -e; did you mean --seed?"); // zmap
  refused(["-P", "2"], "did you mean --retries?"); // zmap
  refused(["-oN", "a"], "Unknown option -oN; -o FILE writes .csv");
  refused(["-oX", "a"], "Unknown option -oX; -o FILE writes .csv");
  refused(
    ["-sU"],
    "Unknown option -sU; --protocol chooses the protocols, and with them UDP or TCP",
  );
  refused(["-sn"], "Unknown option -sn; --protocol chooses");
  refused(["-T4"], "Unknown option -T4; --rate chooses the packets per second");
  refused(["-Pn"], "Unknown option -Pn; nmap's -Pn is not needed: every target is probed");
  refused(["-x", "a"], "did you mean --exclude?"); // RustScan
  refused(["--nonsense"], "Unknown option --nonsense; see scan --help");
  refused(["-Z"], "Unknown option -Z");
  refused(["--rate"], "Cannot use --rate: it needs a value (NUMBER)");
  refused(["--rate", "--append"], "Cannot use --rate: it needs a value (NUMBER)");
  refused(["--rate", "1", "--rate", "2"], 'Cannot use --rate twice: "1" and "2"');
  refused(["--i-have-permission=no"], "Cannot use --i-have-permission=no: it takes no value");
  for (const value of ["", "true", "false", "1"]) {
    refused([`--dryrun=${value}`], `Cannot use --dryrun=${value}: it takes no value`);
  }
  refused(["-q=no"], 'Cannot use --quiet "no": it takes no value');
  refused(["-q5"], 'Cannot use --quiet "5": it takes no value');
  refused(["--manifest", "x"], "Unknown option --manifest"); // an option of fleet, not of scan
});

Deno.test("a suggestion is never the opposite of the word", () => {
  const hint = (command: Command, word: string) => {
    const error = assertThrows(() => readArgs(command, [word, "x"]), InputError);
    return /did you mean --([\w-]+)/.exec(error.message)?.[1];
  };
  for (const word of ["--include", "--includ", "--min-rate", "--minrate", "--unquiet"]) {
    assertEquals(hint("scan", word), undefined, word);
  }
  assertEquals(hint("scan", "--includfile"), "includefile");
  assertEquals(hint("scan", "--exludefile"), "excludefile");
  assertEquals(hint("scan", "--nofollow"), "no-follow");
});

Deno.test("arguments that a command does not have are refused", async () => {
  const lines: [line: string, message: string][] = [
    ["demo extra", 'Cannot use "extra": demo takes no arguments'],
    ["schema foo", 'Cannot use "foo": schema takes no arguments'],
    ["completions", "Cannot print completions: name a shell, one of bash, zsh, fish"],
    ["completions bash zsh", 'Cannot use "zsh": too many arguments for completions'],
    ["prune a.db b.db", 'Cannot use "b.db": too many arguments for prune'],
    ["lan 10.0.0.0/24", 'Cannot use "10.0.0.0/24": lan takes no targets'],
    ["fleet 5", 'Cannot use "5": write --servers 5'],
    ["export a.db --json", "Unknown option --json; did you mean --format ndjson?"],
    ["history h.db --format json", "Unknown option --format; did you mean --json?"],
    ["history h.db -o a.csv", "Unknown option -o; did you mean --json?"],
    ["servers a.db -oJ x.json", "Unknown option -oJ; did you mean --format json?"],
    ["history h.db -oJ x.json", "Unknown option -oJ; see history --help"],
    [
      "export a.db -oX x.xml",
      "Unknown option -oX; -o FILE writes .csv, .ndjson, .json or .txt, and -oG",
    ],
    [
      "servers a.db --limit 0",
      'Cannot use --limit "0": expected a whole number such as 500, 10k or 1M, at least 1',
    ],
    ["fleet 127.0.0.1", 'Cannot use "127.0.0.1": write --range 127.0.0.1'],
    ["query", "Cannot query: name a host"],
    ["scan 10.0.0.1 --shards 4", "Unknown option --shards; did you mean --shard?"],
    ["--version x", 'Cannot use "x" with --version'],
    ["help scan x", 'Cannot use "x" with help'],
    ["help nonsense", 'Unknown command "nonsense"'],
    ["--verison", "Unknown option --verison; did you mean --version?"],
    ["--rate=5 scan 10.0.0.1", "Unknown option --rate; write the command first"],
    ["help campaign list x", 'Cannot use "x" with help'],
    ["help campaign lst", 'Unknown command "campaign lst"; did you mean campaign list?'],
    ["help list", 'Unknown command "list"; did you mean campaign list?'],
    ["campain list", 'Unknown command "campain"; did you mean campaign?'],
    ["campaign nonsense", 'Unknown command "campaign nonsense"; campaign --help lists them'],
    ["campaign --json list", 'Cannot use "--json" with campaign without a command'],
    ["campaign list x", 'Cannot use "x": campaign list takes no arguments'],
    ["campaign list --jsno", "Unknown option --jsno; did you mean --json?"],
    ["campaign list --append", "Unknown option --append; see campaign list --help"],
  ];
  for (const [line, message] of lines) {
    const [code, text] = await withMessages(() => main(line.split(" ")));
    assertEquals([code, text.split("\n").length], [2, 2], line);
    assert(text.startsWith(`blocksweep: ${message}`), text);
  }
});

Deno.test("a command takes as many arguments as its usage line names, and not one more", () => {
  for (const command of COMMAND_NAMES) {
    const [named] = COMMANDS[command].usage.split(/ (?:-|\[--|\[options)/);
    if (named.includes("...") || command === "lan" || command === "fleet") continue; // these have hints
    const count = named.split(" ").length - command.split(" ").length;
    const words = Array.from({ length: count }, (_, i) => `word${i}`);
    assertEquals(readArgs(command, words).words, words, command);
    const more = () => readArgs(command, [...words, "x", "y"]);
    assertThrows(more, InputError, 'Cannot use "x"', command);
  }
});

Deno.test("each option of an output can be given several times", () => {
  for (const { name } of optionsOf("scan").filter(({ name }) => /^(output|o[A-Z])$/.test(name))) {
    const dashed = name.length === 2 ? `-${name}` : `--${name}`;
    assertEquals(read(dashed, "a", dashed, "b").given.get(name), ["a", "b"], name);
  }
});

Deno.test("options of another command have their own names in errors", () => {
  const nameOf = typedNames("campaign work", ["--excludefile", "a"]);
  assertEquals(["exclude-file", "ports"].map(nameOf), ["--excludefile", "--ports"]);
});

Deno.test("--no-color is accepted by every command with colours", () => {
  for (const command of ["scan", "query", "lan", "watch", "servers", "history", "demo"] as const) {
    assertEquals(readArgs(command, ["--no-color"]).given.has("no-color"), true);
  }
});

Deno.test("options of nmap and masscan are accepted", () => {
  assertEquals(read("--includefile", "a").given.get("input-file"), ["a"]);
  assertEquals(read("--port", "5").given.get("ports"), ["5"]);
  assertEquals(readArgs("lan", ["--port", "5"]).given.get("ports"), ["5"]);
  for (const args of [["-p-"], ["-p", "-"], ["--ports=-"]]) {
    const { ports } = scanChoice(options(...args), () => 1);
    assertEquals(ports("raknet", 4).length, 65_535, args.join(" "));
  }
});

Deno.test("the help of prune names --keep, as scan and watch call --observations", () => {
  assert(commandHelp("prune", PROTOCOLS).includes("(also --keep)"));
});

Deno.test("values of options are parsed by their types", () => {
  assertEquals(options("--rate", "1.5k").rate, 1500);
  assertEquals(options("--rate", "0.5").rate, 0.5);
  assertEquals(options("--rate", "auto").rate, { most: undefined });
  assertEquals(options("--rate", "auto:50k").rate, { most: 50_000 });
  const bits = ["1000", "500k", "2.5M", "1G"].map((text) => options("--bandwidth", text).bandwidth);
  assertEquals(bits, [1000, 500_000, 2_500_000, 1e9]);
  assertEquals(options("--host-rate", "off").hostRate, "off");
  assertEquals(options("--timeout", "800ms").timeout, 800);
  assertEquals(options("--timeout", "1.5s").timeout, 1500);
  assertEquals(options("--max-runtime", "2h").maxRuntime, 7_200_000);
  assertEquals(options("--shard", "2/4").shard, { index: 2, count: 4 });
  const start = { pass: 1, position: 0 };
  assertEquals(options("--from", "3:1500").from, { udp: { pass: 3, position: 1500 }, tcp: start });
  assertEquals(options("--from", "T:3:1500").from, {
    udp: start,
    tcp: { pass: 3, position: 1500 },
  });
  assertEquals(options("--max-results", "1.5k").maxResults, 1500);
  assertEquals(read("--append", "--", "--append=no").words, ["--append=no"]);
  assertEquals(options().from, { udp: start, tcp: start });
});

const WRONG: [args: string[], message: string][] = [
  [["--rate", "abc"], 'Cannot use --rate "abc": expected a number such as'],
  [["--rate", "0"], "expected a number"],
  [["--rate", "auto:"], "expected a number"],
  [["--rate", "auto:x"], "or auto, or auto:50k"],
  [["--rate", "autos"], "expected a number"],
  [["--rate", "1e9"], "expected a number"],
  ...["abc", "999", "2000G", "10 M", "10Mbit"].map((text): [string[], string] => [
    ["--bandwidth", text],
    `Cannot use --bandwidth "${text}": expected bits per second from 1k to 1000G`,
  ]),
  [["--host-rate", "0.5"], "a whole number up to 1M, or off"],
  [["--concurrency", "0"], "a whole number from 1 to 100000"],
  [["--retries", "4"], "a whole number from 0 to 3"],
  [["--timeout", "soon"], "a time such as"],
  [["--timeout", "0ms"], "it must be at least 1 ms"],
  [["--shard", "0/4"], "I/N with I from 1 to N"],
  [["--shard", "5/4"], "I/N with I from 1 to N"],
  [["--shard", "2"], "I/N with I from 1 to N"],
  [["--shard", "1/4"], "Cannot use --shard without --seed"],
  [["--from", "2"], "PASS:POSITION"],
  [["--from", "0:1"], "PASS:POSITION"],
  [["--from", "2:5"], "Cannot use --from without the --seed"],
  [["--seed", "-1"], 'Cannot use --seed "-1": expected a whole number'],
  [["--rate", "-5"], 'Cannot use --rate "-5": expected a number such as 0.5, 500'],
  [["-r", "-.5"], 'Cannot use --rate "-.5": expected a number such as 0.5, 500'],
  [["--seed", "1.5"], "a whole number"],
  [["--seed", "1", "--no-randomize"], "--no-randomize needs no seed"],
  [["--protocol", "raknte"], "did you mean raknet?"],
  [["--protocol", ","], "--protocol: it names no protocol"],
  [["--protocol", "raknet", "--ports", "T:25565"], "it has no UDP port"],
  [["--ports", "0"], 'Cannot parse port "0"'],
  [["--source-port", "70000"], 'Cannot parse port "70000"'],
  [["--source-ip", "here"], "expected an address"],
  [["--max-targets", "1.5"], "expected a whole number such as 500, 10k or 1M"],
  [["--max-results", "0"], "expected a whole number such as 500, 10k or 1M"],
  [["--max-results", "many"], "expected a whole number such as 500, 10k or 1M"],
  [["--net-rate", "0"], "expected a whole number up to 1M, or off"],
  [["--timeout", "0.5ms"], 'Cannot use --timeout "0.5ms": it must be at least 1 ms'],
];

for (const [args, message] of WRONG) {
  Deno.test(`scan refuses ${args.join(" ")}`, () => {
    assertThrows(() => scanChoice(options(...args), () => 1), InputError, message);
  });
}

Deno.test("a configuration file has the same options as the command line", () => {
  const text = JSON.stringify({
    targets: ["10.0.0.0/24"],
    rate: 500,
    output: ["a.csv", "b.ndjson"],
    append: true,
    "no-players": false,
  });
  const file = parseConfig("scan", text, '"x.json"');
  assertEquals(file.words, ["10.0.0.0/24"]);
  assertEquals(Object.fromEntries(file.given), {
    rate: ["500"],
    output: ["a.csv", "b.ndjson"],
    append: ["true"],
  });
  const merged = mergeOptions(file, read("--rate", "1k"));
  assertEquals([merged.words, merged.given.get("rate")], [["10.0.0.0/24"], ["1k"]]);
  assertEquals(mergeOptions(file, read("127.0.0.1")).words, ["127.0.0.1"]);
  assertEquals(parseConfig("scan", formatConfig("scan", merged), "x"), merged);
});

Deno.test("an unusable configuration file is refused with the reason", () => {
  const refused = (text: string, message: string) =>
    assertThrows(() => parseConfig("scan", text, '"x.json"'), InputError, message);
  refused("{", 'Cannot use "x.json": ');
  refused("[]", "it must contain one JSON object");
  refused("null", "it must contain one JSON object");
  refused('{"raet": 5}', 'there is no option "raet"; did you mean "rate"?');
  refused('{"rate": true}', '"rate" must be a text or a number (NUMBER)');
  refused('{"rate": [1, 2]}', '"rate" must be a text or a number');
  refused('{"append": "yes"}', '"append" must be true or false');
  refused('{"targets": []}', '"targets" must be');
  refused('{"config": "y.json"}', 'there is no option "config"');
  refused('{"__proto__": 5}', 'there is no option "__proto__"');
});

Deno.test("help names every command and option, within 100 columns", () => {
  for (const name of COMMAND_NAMES) {
    const [first, second] = name.split(" ");
    assert(overview(PROTOCOLS).includes(`  ${first} `));
    if (second !== undefined) assert(groupOverview(first).includes(`  ${second} `), name);
    const text = commandHelp(name, PROTOCOLS);
    for (const { name: option } of optionsOf(name)) assert(text.includes(`-${option}`), option);
    for (const line of text.split("\n")) assert(line.length <= 100, line);
  }
});

Deno.test("campaign prints its commands; help and completions know commands of two words", async () => {
  const commands = await withResults(() => main(["campaign", "--help"]));
  assertEquals(commands, [0, `${groupOverview("campaign")}\n`]);
  assertEquals(await withResults(() => main(["help", "campaign"])), commands);
  const [code, text] = await withMessages(() => main(["campaign"]));
  assertEquals([code, text], [2, commands[1]]);
  const help = await withResults(() => main(["campaign", "list", "-h"]));
  assertEquals(help, [0, `${commandHelp("campaign list", PROTOCOLS)}\n`]);
  assertEquals(await withResults(() => main(["help", "campaign", "list"])), help);
  const version = await withResults(() => main(["--version"]));
  assertEquals(await withResults(() => main(["campaign", "-V"])), version);
  assertEquals(await withResults(() => main(["campaign", "list", "--version"])), version);
});

Deno.test("the help of scan begins with the six options that most people need", () => {
  const [, mostUsed] = commandHelp("scan", PROTOCOLS).split("\n\n").slice(1);
  const names = [...mostUsed.matchAll(/^ {2}.{4}--([a-z-]+)/gm)].map(([, name]) => name);
  const expected = ["output", "ports", "rate", "dry-run", "resume", "i-have-permission"];
  assert(mostUsed.startsWith("Most used:\n"), mostUsed);
  assertEquals(names, expected);
  for (const { name } of optionsOf("scan")) {
    const lines = commandHelp("scan", PROTOCOLS).match(
      new RegExp(`^ {2}.{4}-{1,2}${name}( |$)`, "gm"),
    );
    assertEquals(lines?.length, 1, `lines of --${name}`);
  }
});

Deno.test("no two options of a command share a name", () => {
  for (const command of COMMAND_NAMES) {
    const names = optionsOf(command).flatMap((
      { name, short, aliases = [] },
    ) => [name, ...aliases, ...short === undefined ? [] : [short]]);
    assertEquals(new Set(names).size, names.length, command);
  }
  assert(OPTIONS.every(({ commands }) => commands.length > 0));
});
