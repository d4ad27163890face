/**
 * The options of commands, and of calls of the library.
 *
 * @module
 */
export {
  FIRST_WORDS,
  GROUPED_COMMANDS,
  isCommand,
  meantCommand,
  splitCommand,
} from "./command_words.ts";
export {
  type CallableCommand,
  type Command,
  COMMAND_NAMES,
  COMMANDS,
  SHELL_NAMES,
} from "./commands.ts";
export { formatConfig, mergeOptions, parseConfig } from "./config_file.ts";
export { connectionEnvironment } from "./connection_environment.ts";
export type { GivenOptions } from "./given_options.ts";
export {
  camelCase,
  dashed,
  type Option,
  type OptionGroup,
  propertyName,
  textOf,
} from "./option.ts";
export { OPTION_GROUPS, OPTIONS, type OptionsOf, optionsOf } from "./option_table.ts";
export { namesFile, PATH_IN_VALUE } from "./path_conflicts.ts";
export { protocolLines, textFor } from "./protocol_help.ts";
export { type ReadingContext, readOptions } from "./read_options.ts";
export { timeType } from "./value_types.ts";
export {
  CAMPAIGN_NAME,
  DEFAULT_SLOTS,
  DEFAULT_VANTAGE,
  MAX_PARTS,
  MAX_VIEWS,
} from "./groups/campaign.ts";
