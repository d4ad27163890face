/** Compares the output that a document shows with the output of the command. */

/** Lines of documents that are examples, and depend on the servers. */
const EXAMPLES = [
  /^players +\d/,
  /^software +/,
  /^\S+Z +(offline|online)/,
  /^[{[]"|^127\.16\.\S+ +1\./,
];

/** What a word has in common with other words of its kind. */
function kindOf(word: string): string {
  if (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(word)) return "HOST:PORT";
  return word.replace(/\d[\d,.:]*/g, "#");
}

function kindsOf(line: string): string[] {
  return line.trim().split(/\s+/).map(kindOf);
}

/** The number of fields of a row in CSV. `undefined`: the line is no row. */
function fieldsOf(line: string): number | undefined {
  return /^\d+\.\d+\.\d+\.\d+,\d+,/.test(line.trim()) ? line.split(",").length : undefined;
}

/** Whether a line has the shape of a line in a document: equal but for numbers and servers. */
function isLike(shown: string, printed: string): boolean {
  const fields = fieldsOf(shown);
  if (fields !== undefined) return fieldsOf(printed) === fields;
  const [wanted, kinds] = [kindsOf(shown), kindsOf(printed)];
  if (wanted[0] === "HOST:PORT") return kinds[0] === "HOST:PORT" && kinds.length > 1;
  const end = wanted.findIndex((kind) => kind.includes("…"));
  if (end < 0 && kinds.length !== wanted.length) return false;
  return wanted.slice(0, end < 0 ? undefined : end).every((kind, i) => kind === kinds[i]);
}

/** The lines that a document shows, and that nothing printed resembles. */
export function missingLines(shown: string, printed: string): string[] {
  const lines = printed.split("\n");
  return shown.split("\n").filter((line) => line.trim() !== "" && line.trim() !== "…")
    .filter((line) => !EXAMPLES.some((example) => example.test(line.trim())))
    .filter((line) => !lines.some((one) => isLike(line, one)));
}
