/**
 * Prints the classification of every case as a table:
 *
 *     deno run tests/classify/table.ts
 */
// deno-lint-ignore-file no-console
import { allCases, faultOf, isWrongA } from "./cases.ts";

const cases = allCases();
console.log("| Of | Case | Software | Sure | Proxy | Edition | As expected |");
console.log("| -- | ---- | -------- | ---- | ----- | ------- | ----------- |");
for (const one of cases) {
  const { source, name, row } = one;
  const cells = [
    source,
    name,
    row.software,
    row.software_confidence,
    row.proxy,
    row.edition,
    faultOf(one) ?? "yes",
  ];
  console.log(`| ${cells.map((cell) => (cell ?? "").replaceAll("|", "\\|")).join(" | ")} |`);
}
const wrong = cases.filter((one) => faultOf(one) !== undefined).length;
console.log(
  `\n${cases.length} cases, ${wrong} not as expected, ${cases.filter(isWrongA).length} wrong A`,
);
