/**
 * Options as a user wrote them, in a command, a configuration file or a checkpoint.
 *
 * @module
 */

/** Positional words, and options by their long names. */
export interface GivenOptions {
  /** Words that belong to no option. */
  readonly words: readonly string[];
  /** The values of each given option; `["true"]` for an option without a value. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** The properties of an option that stored configurations need. */
export interface OptionForm {
  /** The long name, without the dashes. */
  readonly name: string;
  /** The value that the option takes. Default: none, the option is a switch. */
  readonly takes?: {
    /** Whether the value is a path, which depends on the current folder. */
    readonly isPath?: boolean;
  };
  /** Whether the option may be given several times. */
  readonly repeat?: boolean;
  /**
   * Whether the option may have another value when a scan is resumed. `forgotten`: it may, and its
   * value is not stored, because it only names a file to read options from (`--config`,
   * `--resume`). Default: no.
   */
  readonly onResume?: "free" | "forgotten";
  /** Returns a value without its secrets. Default: the value contains none. */
  readonly withoutSecrets?: (text: string) => string;
}
