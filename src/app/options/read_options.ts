/**
 * Converts the texts of options to typed values, with defaults.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { checkFilesApart } from "./path_conflicts.ts";
import type { Command } from "./commands.ts";
import type { GivenOptions } from "./given_options.ts";
import { camelCase, dashed, type Option, textOf } from "./option.ts";
import { type OptionsOf, optionsOf } from "./option_table.ts";
import { wrongValue } from "./value_types.ts";

/** What the values of options depend on. */
export interface ReadingContext {
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** Returns the name of an option as the user knows it. Default: with its dashes. */
  readonly nameOf?: (option: string) => string;
}

/**
 * The values of a command's options.
 *
 * @throws InputError for the first text that is wrong, and for an output that is also an input.
 */
export function readOptions<Name extends Command>(
  command: Name,
  { words, given }: GivenOptions,
  { allProtocols, nameOf = dashed }: ReadingContext,
): OptionsOf<Name> {
  const values: Record<string, unknown> = { ...defaultsOf(command, allProtocols) };
  for (const option of optionsOf(command)) {
    const texts = given.get(option.name);
    if (texts === undefined) continue;
    values[camelCase(option.name)] = valueOf(option, command, texts, { allProtocols, nameOf });
  }
  checkFilesApart(command, { words, given, nameOf });
  return values as OptionsOf<Name>;
}

/** The values of options that are not given, by command. A program may read options for every server. */
const defaults = new Map<Command, Readonly<Record<string, unknown>>>();

/** The values of a command's options if none is given. */
function defaultsOf(
  command: Command,
  allProtocols: readonly Protocol[],
): Readonly<Record<string, unknown>> {
  const kept = defaults.get(command);
  if (kept?.allProtocols === allProtocols) return kept;
  const context = { allProtocols, nameOf: dashed };
  const entries = optionsOf(command).map((option) => [
    camelCase(option.name),
    valueOf(option, command, [], context),
  ]);
  const values = { ...Object.fromEntries(entries), allProtocols };
  defaults.set(command, values);
  return values;
}

function valueOf(
  { name, takes, repeat, default: usual, withoutSecrets }: Option,
  command: Command,
  texts: readonly string[],
  { allProtocols, nameOf }: Required<ReadingContext>,
): unknown {
  if (takes === undefined) return texts.length > 0;
  const context = { option: nameOf(name), allProtocols };
  if (takes.isPath && withoutSecrets === undefined) refuseDatabaseUrls(context.option, texts);
  const values = texts.map((text) => takes.parse(text, context));
  if (repeat) return values;
  const text = textOf(usual, command);
  return values.length > 0 || text === undefined ? values[0] : takes.parse(text, context);
}

/** Refuses URLs of databases as paths of files: errors about files would show their passwords. */
export function refuseDatabaseUrls(option: string, texts: readonly string[]): void {
  for (const text of texts) {
    const location = parseDatabaseLocation(text);
    if (location?.postgres === undefined) continue;
    throw wrongValue(option, location.path, "the path of a file");
  }
}
