/**
 * Options as a user wrote them: what a configuration file, a checkpoint and a command to continue
 * with hold.
 *
 * @module
 */

/** What was given: positional words, and options by their long names. */
export interface GivenOptions {
  /** Words that belong to no option. */
  readonly words: readonly string[];
  /** Options that were given; each a list, `"true"` for those without a value. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** The properties of an option that stored configurations need. */
export interface OptionForm {
  /** Its long name, without the dashes. */
  readonly name: string;
  /** What it takes. Default: nothing, it is given or not. */
  readonly takes?: {
    /** Whether that is a path, which depends on the folder that the program runs in. */
    readonly isPath?: boolean;
  };
  /** Whether it may be given several times. */
  readonly repeat?: boolean;
  /**
   * Whether it may be given anew where a scan is resumed. `forgotten`: it may, and it is not kept
   * with the scan, because it names the scan and is not a part of it. Default: no.
   */
  readonly onResume?: "free" | "forgotten";
  /** A value without its secrets. Default: it holds none. */
  readonly withoutSecrets?: (text: string) => string;
}
