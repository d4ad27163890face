/** Parsed entries. Covers src/app/opt_outs/opt_out_file.ts. */
import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { parseOptedOut, parseOptOutEntries } from "../../../src/app/opt_outs/opt_out_file.ts";
import { parseTargets } from "../../../src/targets/parse.ts";

/** The addresses of a word as a target. */
function rangesOf(word: string) {
  return parseTargets(word).flatMap((target) => "range" in target ? target.range : []);
}

Deno.test("a range with white space between its addresses is refused, not cut to its first one", () => {
  for (const rest of [" - 127.0.0.9", "\t127.0.0.9", "\t\t127.0.0.9\tArmy", " 127.0.0.9"]) {
    assertThrows(
      () => parseOptOutEntries(`127.0.0.1${rest}`, "x"),
      InputError,
      "write the range without spaces, as in 127.0.0.1-127.0.0.9",
    );
  }
});

Deno.test("an IPv4-mapped IPv6 range opts out its IPv4 addresses", () => {
  for (
    const [word, same] of [
      ["::ffff:127.9.0.1", "127.9.0.1"],
      ["::ffff:127.9.0.0/112", "127.9.0.0/16"],
      ["::ffff:127.9.0.0-::ffff:127.9.0.8", "127.9.0.0-127.9.0.8"],
      ["::ffff:0:0/96", "0.0.0.0/0"],
      ["::/95", "::/95"],
      ["::ffff:0:0/95", "::fffe:0:0/95"],
      ["::1:0:0:0", "::1:0:0:0"],
      ["::fffe:ffff:ffff", "::fffe:ffff:ffff"],
    ]
  ) assertEquals(parseOptedOut(word).ranges, rangesOf(same), word);
});
