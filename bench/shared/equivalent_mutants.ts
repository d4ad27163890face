/** Mutations that change nothing which a test could observe: see bench/mutants.ts. */
export const EQUIVALENT: readonly {
  readonly path: string;
  /** The first line of the mutation, as it is afterwards. */
  readonly line: string;
  readonly why: string;
}[] = [];
