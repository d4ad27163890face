/**
 * The words with which a user calls a command. Commands of campaigns have two words.
 *
 * @module
 */
import { closestName } from "../../core/closest_name.ts";
import { type CallableCommand, COMMAND_NAMES, COMMANDS } from "./commands.ts";

/** Words that begin the names of several commands, with the purpose of these commands. */
const GROUPS: ReadonlyMap<string, string> = new Map([
  ["campaign", "share one scan among many machines"],
  ["opt-out", "manage the ranges and host names that are not probed"],
]);

/** The words that can come first, with their purposes: commands of one word, and groups. */
export const FIRST_WORDS: ReadonlyMap<string, string> = new Map(
  COMMAND_NAMES.map((name) => {
    const [first] = name.split(" ");
    return [first, GROUPS.get(first) ?? COMMANDS[name].purpose];
  }),
);

/** The commands of each group, by their second words. */
export const GROUPED_COMMANDS: ReadonlyMap<string, ReadonlyMap<string, CallableCommand>> = new Map(
  [...GROUPS.keys()].map((group) => {
    const names = COMMAND_NAMES.filter((name) => name.startsWith(`${group} `));
    return [group, new Map(names.map((name) => [name.slice(group.length + 1), name]))];
  }),
);

/**
 * Divides words of a user into the name of a command, or of a group, and the arguments. The name may
 * be unknown.
 */
export function splitCommand(
  [first, ...others]: readonly string[],
): [name: string, args: readonly string[]] {
  const [second, ...args] = others;
  const isPair = GROUPS.has(first) && second !== undefined && !second.startsWith("-");
  return isPair ? [`${first} ${second}`, args] : [first, others];
}

export function isCommand(name: string): name is CallableCommand {
  return (COMMAND_NAMES as readonly string[]).includes(name);
}

/** What a user may have meant by the name of a command that does not exist. */
export function meantCommand(name: string): string | undefined {
  const [first] = name.split(" ");
  const names = [...FIRST_WORDS.keys(), ...COMMAND_NAMES];
  const lacksGroup = [...GROUPS.keys()].map((group) => `${group} ${name}`).find(isCommand);
  return lacksGroup ?? closestName(name, GROUPS.has(first) ? COMMAND_NAMES : names);
}
