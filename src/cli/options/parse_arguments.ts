/**
 * Parses the words of a command line into options, with helpful errors.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { InputError } from "../../core/errors.ts";
import { closestName } from "../../core/closest_name.ts";
import {
  type Command,
  COMMANDS,
  dashed,
  type GivenOptions,
  type Option,
  optionsOf,
} from "../../app/options/mod.ts";

/** Options of nmap and masscan with several letters after one dash. */
const LONG_SHORTS = new Set(["-iL", "-sL", "-oD", "-oJ", "-oG", "-oL"]);

/** Short options of other tools, and the options of this program with the same meaning. */
const FOREIGN: Readonly<Record<string, string>> = {
  B: "bandwidth",
  e: "seed",
  I: "input-file",
  l: "input-file",
  n: "max-targets",
  N: "max-results",
  O: "format",
  P: "retries",
  w: "input-file",
  x: "exclude",
};

/** Options of nmap whose meaning needs no option here, or has another form, and the option of that form. */
const OF_NMAP: readonly (readonly [pattern: RegExp, text: string, option?: string])[] = [
  [
    /^Pn$/,
    "nmap's -Pn is not needed: every target is probed, without a discovery of hosts before",
  ],
  [/^o[NXSA]$/, "-o FILE writes .csv, .ndjson, .json or .txt, and -oG FILE grepable lines", "oG"],
  [/^s[A-Z]$/i, "--protocol chooses the protocols, and with them UDP or TCP", "protocol"],
  [/^T[0-5]$/, "--rate chooses the packets per second", "rate"],
];

/**
 * Reads the arguments of a command.
 * @throws InputError for an option that does not exist, lacks its value, or has a superfluous
 * value, and for an argument that the command does not take.
 */
export function readArgs(command: Command, args: readonly string[]): GivenOptions {
  const options = optionsOf(command);
  const alias = Object.fromEntries(options.map(({ name, short, aliases = [] }) => [
    name,
    short === undefined ? [...aliases] : [short, ...aliases],
  ]));
  const takesValue = options.filter(({ takes }) => takes !== undefined);
  refuseValues(args, options.filter(({ takes }) => takes === undefined));
  const parsed = parseArgs(plainArgs(args, takesValue), {
    string: ["_", ...takesValue.map(({ name }) => name)],
    boolean: options.filter(({ takes }) => takes === undefined).map(({ name }) => name),
    collect: takesValue.map(({ name }) => name),
    alias,
    unknown: (arg, key) => {
      if (key !== undefined) throw unknownOption(command, arg, options);
      return true;
    },
  });
  const given = new Map<string, readonly string[]>();
  const nameOf = typedNames(command, args);
  for (const option of options) {
    const values = valuesOf(option, parsed[option.name], nameOf(option.name));
    if (values.length > 0) given.set(option.name, values);
  }
  const words = parsed._.map(String);
  const { most = Infinity } = COMMANDS[command].words ?? {};
  if (words.length <= most) return { words, given };
  throw new InputError(
    `Cannot use "${words[most]}": ${
      most === 0 ? `${command} takes no arguments` : `too many arguments for ${command}`
    }`,
  );
}

/**
 * Returns the names of options as the user typed them: an alias, if the arguments have one. A worker of
 * a campaign reads options of a scan, which are not options of its command.
 */
export function typedNames(command: Command, args: readonly string[]): (name: string) => string {
  const typed = new Set(args.map((arg) => arg.split("=")[0]));
  const options = new Map(optionsOf(command).map((option) => [option.name, option]));
  return (name) => {
    const aliases = options.get(name)?.aliases ?? [];
    return [name, ...aliases].map(dashed).find((one) => typed.has(one)) ?? dashed(name);
  };
}

/**
 * The arguments in a form for the parser. The parser would read `-iL` as separate letters, so it
 * gets `--iL`. It would not accept `-` (standard input or output) or `-5` as a value, so it gets
 * `--output=-` and `--rate=-5`.
 */
function plainArgs(args: readonly string[], takesValue: readonly Option[]): string[] {
  const plain: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = LONG_SHORTS.has(args[i]) ? `-${args[i]}` : args[i];
    const next = args[i + 1];
    const option = next !== undefined && /^-(?:\.?\d|$)/.test(next) &&
      takesValue.find(({ name, short, aliases = [] }) =>
        [`-${short}`, `--${name}`, ...aliases.map((alias) => `--${alias}`)].includes(arg)
      );
    if (option) {
      plain.push(`--${option.name}=${next}`);
      i++;
    } else {
      plain.push(arg);
    }
  }
  return plain;
}

/** Refuses values of switches: the parser reads any value but `false` as yes. */
function refuseValues(args: readonly string[], options: readonly Option[]): void {
  const end = args.indexOf("--");
  const names = options.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const wrong = args.slice(0, end < 0 ? args.length : end).find((arg) =>
    names.some((name) => arg.startsWith(`--${name}=`))
  );
  if (wrong !== undefined) throw new InputError(`Cannot use ${wrong}: it takes no value`);
}

function valuesOf({ takes, repeat }: Option, parsed: unknown, name: string): string[] {
  if (takes === undefined) {
    if (typeof parsed === "boolean") return parsed ? ["true"] : [];
    throw new InputError(`Cannot use ${name} "${parsed}": it takes no value`); // for example -q=no or -q5
  }
  const values = (parsed ?? []) as string[];
  if (values.includes("")) {
    throw new InputError(`Cannot use ${name}: it needs a value (${takes.placeholder})`);
  }
  if (!repeat && values.length > 1) {
    throw new InputError(`Cannot use ${name} twice: "${values[0]}" and "${values[1]}"`);
  }
  return values;
}

/** For an option that a command lacks: the option to use instead, and the text that suggests it. */
const INSTEAD: Readonly<Record<string, readonly [name: string, written: string]>> = {
  json: ["format", "--format ndjson"],
  format: ["json", "--json"],
  output: ["json", "--json"],
  o: ["json", "--json"],
  oD: ["format", "--format ndjson"],
  oJ: ["format", "--format json"],
  oG: ["format", "--format grep"],
  oL: ["format", "--format hostport"],
};

function unknownOption(command: Command, arg: string, options: readonly Option[]): InputError {
  const word = arg.split("=")[0];
  const bare = word.replace(/^-+/, "");
  const typed = LONG_SHORTS.has(`-${bare}`) ? dashed(bare) : word; // the parser got `-iL` as `--iL`
  const names = options.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const [, ofNmap] =
    OF_NMAP.find(([pattern, , option]) =>
      word === `-${bare}` && pattern.test(bare) && (option === undefined || names.includes(option))
    ) ?? [];
  const reason = ofNmap ?? new Map(Object.entries(COMMANDS[command].lacks ?? {})).get(bare);
  if (reason !== undefined) return new InputError(`Unknown option ${typed}; ${reason}`);
  const letter = /^-([A-Za-z])/.exec(word)?.[1];
  const foreign = letter === undefined ? undefined : FOREIGN[letter];
  const [instead, written] = Object.hasOwn(INSTEAD, bare) ? INSTEAD[bare] : [];
  const meant = instead ?? foreign ?? closestName(bare, names);
  const hint = meant !== undefined && names.includes(meant)
    ? `; did you mean ${written ?? dashed(meant)}?`
    : "";
  return new InputError(`Unknown option ${typed}${hint || `; see ${command} --help`}`);
}
