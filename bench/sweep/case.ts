/** One measurement of `bench/sweep.ts`. */
export interface Case {
  /** What it shows, in a line. */
  readonly purpose: string;
  /** Its options, with their usual values. */
  readonly options: Readonly<Record<string, string>>;
  /** Whether it runs at the far end of a pair of namespaces. Default: yes. */
  readonly atFarEnd?: boolean;
  /**
   * Measures, and prints a table.
   *
   * @param folder Is removed at the end.
   * @returns Whether all is as it should be.
   */
  run(options: Readonly<Record<string, string>>, folder: string): Promise<boolean>;
}
