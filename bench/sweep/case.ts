/** One measurement of `bench/sweep.ts`. */
export interface Case {
  /** What the measurement shows, on one line. */
  readonly purpose: string;
  /** Its options with their defaults. */
  readonly options: Readonly<Record<string, string>>;
  /** Whether it runs at the far end of a pair of namespaces. Default: yes. */
  readonly atFarEnd?: boolean;
  /**
   * Measures, and prints a table.
   *
   * @param folder A folder that is removed at the end.
   * @returns Whether no error was found.
   */
  run(options: Readonly<Record<string, string>>, folder: string): Promise<boolean>;
}
