/** Tests of src/classify/version_ranges.ts. */
import { assert, assertEquals } from "@std/assert";
import { compareVersions, protocolReleases } from "../../src/classify/game_versions.ts";
import {
  isInRange,
  parseVersionRange,
  plainVersion,
  protocolNumbers,
  rangeTest,
} from "../../src/classify/version_ranges.ts";

const isIn = (range: string, text: string, edition: string | null = null, number?: number) =>
  rangeTest(parseVersionRange(range)!)({ text, edition, number: number ?? null });

Deno.test("versions are in a range by release, and ends include their patch releases", () => {
  const inside: Record<string, string[]> = {
    "1.21": ["1.21", "1.21.4", "v1.21.1", "1.21-pre1"],
    "1.20..1.21": ["1.20", "1.20.6", "1.21.4"],
    ">=1.20": ["1.20", "1.100", "26.4"],
    ">1.20": ["1.21"],
    "<1.9": ["1.8.9", "1"],
    "<=1.9": ["1.9.4", "1.2"],
    "1.9..": ["1.10", "1.9"],
    "..1.9": ["1.9.4", "1.8"],
    "1.20.2..1.20.4": ["1.20.2", "1.20.4"],
  };
  const outside: Record<string, string[]> = {
    "1.21": ["1.210", "1.2", "1.22", "2.21"],
    "1.20..1.21": ["1.9", "1.19.4", "1.22"],
    ">=1.20": ["1.9", "1.19.4", "1"],
    ">1.20": ["1.20", "1.20.6", "1.9"],
    "<1.9": ["1.9", "1.10"],
    "<=1.9": ["1.10"],
    "1.9..": ["1.8.9"],
    "..1.9": ["1.10"],
    "1.20.2..1.20.4": ["1.20", "1.20.1", "1.20.5", "1.21"],
  };
  for (const [range, texts] of Object.entries(inside)) {
    for (const text of texts) assert(isIn(range, text), `${text} in ${range}`);
    for (const text of outside[range]) assert(!isIn(range, text), `${text} not in ${range}`);
  }
});

Deno.test("the protocol number decides for other texts, and the text if the number is unknown", () => {
  assert(isIn("1.20", "Paper 1.20.1", "java", 763));
  assert(isIn("1.21.4", "Requires MC 1.8 / 1.21", "java", 769));
  assert(!isIn("1.8", "Requires MC 1.8 / 1.21", "java", 769));
  assert(isIn("1.8", "Requires MC 1.8 / 1.21", "java", 999_999));
  assert(isIn("1.8", "Requires MC 1.8 / 1.21", null, 769));
  assert(isIn("1.26", "", "bedrock", 2193));
  assert(!isIn("1.21", "no version"));
  assert(!isIn("1.20", "1.8.9", "java", 763), "a text that is a version is not replaced");
});

Deno.test("other texts are no ranges", () => {
  for (const text of ["", "..", "1.21..1.20", "1.21..1.20.4", ">", "=1", "1.x", "1..2..3", "x"]) {
    assertEquals(parseVersionRange(text), undefined, text);
  }
  assert(parseVersionRange("1.20.1..1.20") !== undefined, "..1.20 includes 1.20.1");
});

Deno.test("ranges have the releases that the order of versions has between their ends", () => {
  for (const edition of ["java", "bedrock"] as const) {
    const releases = [...protocolReleases(edition).values()].flat();
    const range = { from: parseVersionRange("1.9")!.from, to: parseVersionRange("1.20.2")!.to };
    for (const release of releases) {
      const isBetween = compareVersions(release, "1.9") >= 0 &&
        compareVersions(release, "1.20.3") < 0;
      assertEquals(isInRange(range, plainVersion(release)!), isBetween, release);
    }
    const numbers = protocolNumbers(edition, range);
    assert(numbers.length > 5 && numbers.length < protocolNumbers(edition).length);
  }
});
