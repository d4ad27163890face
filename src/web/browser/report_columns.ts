/** The rows of a report as columns: the contract between the report and its script. */

/** Columns of rows. Numbers of texts are indexes of `texts`, in which 0 stands for an unknown value. */
export interface ReportColumns {
  readonly texts: readonly string[];
  /** A number: the difference to the IPv4 address before, at first to 0. A text: another host. */
  readonly hosts: readonly (number | string)[];
  readonly ports: readonly number[];
  /** 1: online. */
  readonly online: readonly number[];
  /**
   * Names or MOTDs. Runs of one style are separated by `\r`. Before the text of a run with a style are
   * the letters of its classes and `\t`.
   */
  readonly names: readonly string[];
  readonly players: readonly (number | null)[];
  readonly slots: readonly (number | null)[];
  /** Numbers of texts. */
  readonly versions: readonly number[];
  /** The numbers of texts in `versions` other than 0, the oldest version first. */
  readonly versionOrder: readonly number[];
  readonly software: readonly number[];
  readonly editions: readonly number[];
  readonly countries: readonly number[];
  readonly operators: readonly number[];
  /** Numbers of texts: protocols with spaces between them. */
  readonly protocols: readonly number[];
  /** Minutes from the last probe to the report. */
  readonly ages: readonly number[];
  /** Tenths of a millisecond. */
  readonly latencies: readonly (number | null)[];
}
