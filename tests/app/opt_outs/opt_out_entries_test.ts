/** Parsed entries. Covers src/app/opt_outs/opt_out_file.ts. */
import { assertEquals } from "@std/assert";
import { parseOptedOut } from "../../../src/app/opt_outs/opt_out_file.ts";
import { parseTargets } from "../../../src/targets/parse.ts";

/** The addresses of a word as a target. */
function rangesOf(word: string) {
  return parseTargets(word).flatMap((target) => "range" in target ? target.range : []);
}

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
