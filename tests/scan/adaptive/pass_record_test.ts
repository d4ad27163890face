/** The lines of passes: src/scan/adaptive/pass_record.ts. */
import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import {
  formatPassRecord,
  parsePassRecord,
  type PassRecord,
  replayPasses,
} from "../../../src/scan/adaptive/pass_record.ts";
import { ListedPasses } from "./listed_passes.ts";

const RECORD: PassRecord = {
  pass: 3,
  input: { probes: 5000, perNetwork: Infinity, perHost: 16, lossPerMille: 24 },
  digest: "0123456789abcdef",
  elapsedMs: 5432,
  found: [{
    hits: [{ address: 0x0a000001, port: 19132, fingerprint: 0xffffffff }],
    endedHosts: [0x0a000002],
    endedNetworks: [0x0a0001],
  }, { hits: [], endedHosts: [], endedNetworks: [] }],
};

Deno.test("a line gives the pass again", () => {
  assertEquals(parsePassRecord(formatPassRecord(RECORD), "a"), RECORD);
});

Deno.test("every change of a line's form is refused with what is wanted", () => {
  const line = formatPassRecord(RECORD);
  for (
    const [changed, wanted] of [
      [line.slice(0, -1), "it is not JSON"],
      [line.replace("5000", "0"), "probes"],
      [line.replace("10.0.0.1:19132/", "10.0.0.1:19132"), "an endpoint and a fingerprint"],
      [line.replace("10.0.0.2", "::1"), "an IPv4 address"],
      [line.replace("0123456789abcdef", "0123"), "16 hexadecimal digits"],
    ]
  ) {
    assertThrows(() => parsePassRecord(changed, "a"), InputError, wanted);
  }
});

Deno.test("passes are replayed only if every plan is the recorded one", () => {
  const plan = [[{ address: 1, port: 2 }], [{ address: 3, port: 4 }]];
  const discovery = new ListedPasses(plan);
  const input = RECORD.input;
  const records = plan.map((_, pass) => {
    const { digest } = discovery.plan(input);
    const found = [{ hits: [], endedHosts: [], endedNetworks: [] }];
    discovery.fold(found);
    return { pass, input, digest, found, elapsedMs: 0 };
  });
  const again = new ListedPasses(plan);
  replayPasses(again, records, "a");
  assertEquals([again.next, again.folded.length], [2, 2]);
  const other = new ListedPasses([plan[0], plan[0]]);
  assertThrows(() => replayPasses(other, records, "scan.checkpoint"), InputError, "pass 1");
  assertThrows(() => replayPasses(new ListedPasses(plan), records.slice(1), "a"), InputError);
});
