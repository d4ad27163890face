/**
 * The summary of `deno task test`: counts, failed tests, the slowest files, and ignored tests by
 * reason, from the JUnit files that the groups of tests have written.
 */

/** Slowest files that are listed. */
const FILES = 5;

/** A test in a JUnit file. */
export interface TestResult {
  /** The file that registered the test. */
  readonly file: string;
  readonly name: string;
  /** Duration, seconds. */
  readonly seconds: number;
  readonly outcome: "passed" | "failed" | "ignored";
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

function attribute(tag: string, name: string): string {
  const [, text] = new RegExp(` ${name}="([^"]*)"`).exec(tag) ?? [];
  if (text === undefined) throw new Error(`Cannot read a JUnit file: no ${name} in ${tag}`);
  return text.replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity);
}

/**
 * Reads the tests in a JUnit file. Steps count as parts of their tests. Tests without a duration were
 * filtered out, and are omitted.
 *
 * @throws Error when a test lacks its name or file.
 */
export function readJunit(xml: string): TestResult[] {
  const ran = [...xml.matchAll(/<testcase [^>]*>([^]*?)<\/testcase>/g)]
    .filter(([all]) => / time="/.test(all.slice(0, all.indexOf(">"))));
  const results = ran.map(
    ([all, content]) => {
      const tag = all.slice(0, all.indexOf(">"));
      return {
        file: attribute(tag, "classname").replace(/^\.\//, ""),
        name: attribute(tag, "name"),
        seconds: Number(attribute(tag, "time")),
        outcome: content.includes("<skipped")
          ? "ignored" as const
          : /<(failure|error)/.test(content)
          ? "failed" as const
          : "passed" as const,
      };
    },
  );
  const names = new Set(results.map(({ file, name }) => `${file} ${name}`));
  const isStep = ({ file, name }: TestResult) =>
    [...name.matchAll(/ > /g)].some(({ index }) => names.has(`${file} ${name.slice(0, index)}`));
  return results.filter((one) => !isStep(one));
}

/** The reason at the end of the name of an ignored test. */
function reasonOf(name: string): string {
  return /\(([^()]+)\)$/.exec(name)?.[1] ?? `no reason in the name: ${name}`;
}

function slowestFiles(results: readonly TestResult[]): string[] {
  const byFile = Map.groupBy(results, ({ file }) => file);
  return [...byFile].map(([file, tests]) => ({
    file,
    seconds: tests.reduce((sum, { seconds }) => sum + seconds, 0),
    slowest: tests.reduce((a, b) => b.seconds > a.seconds ? b : a),
  })).sort((a, b) => b.seconds - a.seconds).slice(0, FILES).map(({ file, seconds, slowest }) =>
    `  ${seconds.toFixed(1).padStart(6)} s  ${file}\n` +
    `            of which ${slowest.seconds.toFixed(1)} s: ${slowest.name}`
  );
}

function ignoredByReason(results: readonly TestResult[]): string[] {
  const reasons = Map.groupBy(results, ({ name }) => reasonOf(name));
  return [...reasons].sort(([, a], [, b]) => b.length - a.length)
    .map(([reason, tests]) => `  ${String(tests.length).padStart(6)}    ${reason}`);
}

/**
 * The lines of the summary.
 *
 * @param groups The results of each group of tests, or `undefined` if the group wrote none.
 */
export function summaryOf(
  groups: ReadonlyMap<string, readonly TestResult[] | undefined>,
): string[] {
  const results = [...groups.values()].flatMap((group) => group ?? []);
  const of = (outcome: TestResult["outcome"]) => results.filter((one) => one.outcome === outcome);
  const [passed, failed, ignored] = [of("passed"), of("failed"), of("ignored")];
  const missing = [...groups].filter(([, group]) => group === undefined).map(([name]) => name);
  return [
    `Tests in all: ${passed.length} passed, ${failed.length} failed, ${ignored.length} ignored`,
    ...missing.map((name) => `The group ${name} wrote no results.`),
    ...failed.map(({ file, name }) => `Failed: ${file} => ${name}`),
    "The slowest files, which run at the same time as others:",
    ...slowestFiles(results),
    ...ignored.length === 0 ? [] : ["Ignored here; what runs them, or what they lack:"],
    ...ignoredByReason(ignored),
  ];
}
