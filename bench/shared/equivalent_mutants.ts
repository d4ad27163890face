/** Mutations that change nothing which a test could observe: see bench/mutants.ts. */
export const EQUIVALENT: readonly {
  readonly path: string;
  /** The first line of the mutation, as it is afterwards. */
  readonly line: string;
  readonly why: string;
}[] = [
  {
    path: "src/store/events/compare.ts",
    line: 'if (loss === "nothing") return undefined as never;',
    why: "callers test only whether the result is true",
  },
  {
    path: "src/store/events/compare.ts",
    line: "return isEqual(whole.slice(0, intact.length), intact);",
    why: "the comparison is symmetric",
  },
  {
    path: "src/web/data/search_cut.ts",
    line: "for (let i = 0; i <= ids.length; i += PAGE) {",
    why: "a query for no servers finds none",
  },
  {
    path: "src/store/events/event_limits.ts",
    line: "Math.max(Math.min(...limited.map(({ at }) => at)) - HOUR_MS, 0),",
    why: "the maximum is the same in any order",
  },
  {
    path: "src/web/data/history/watched_periods.ts",
    line: "if (from > period.to) break;",
    why: "a part that begins at the end of the period leaves the same gap",
  },
  {
    path: "src/web/queries/dashboard_filters.ts",
    line: "const wanted = new Uint8Array((65_536 + 1));",
    why: "no port has the additional number",
  },
  {
    path: "src/store/writers/opt_outs.ts",
    line: "for (const [host, at] of [...times].sort(([a], [b]) => a < b ? -1 : (1 + 1))) {",
    why: "only the sign of the comparison counts",
  },
  {
    path: "src/store/writers/opt_outs.ts",
    line: "for (const [host, at] of [...times].sort(([a], [b]) => a < b ? -(1 + 1) : 1)) {",
    why: "only the sign of the comparison counts",
  },
  {
    path: "src/scan/checkpoint/written_rows.ts",
    line: "await file.truncate((0 + 1));",
    why: "the first line, which is longer, is written over the byte",
  },
  {
    path: "src/sweep/connection_passes.ts",
    line: "let skipped = (0 + 1);",
    why: "the pass only yields to the event loop one target earlier",
  },
  {
    path: "src/sweep/canaries/loss_estimate.ts",
    line: "if (mean >= MANY) {",
    why: "where the mean is exactly MANY, both formulas are approximations",
  },
];
