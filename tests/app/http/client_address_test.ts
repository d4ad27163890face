import { assertEquals } from "@std/assert";
import { clientAddress } from "../../../src/app/http/client_address.ts";
import { formatAddress } from "../../../src/core/address.ts";
import { parseTargets } from "../../../src/targets/parse.ts";
import { AddressSet } from "../../../src/targets/ranges.ts";

const TRUSTED = new AddressSet(
  ["127.0.0.1", "::1", "10.0.0.0/8"].flatMap((word) => parseTargets(word))
    .flatMap((target) => "range" in target ? [target.range] : []),
);

Deno.test("the client behind trusted proxies is the last address that is not one of them", () => {
  for (
    const [peer, header, expected] of [
      ["198.51.100.1", undefined, "198.51.100.1"],
      ["198.51.100.1", "203.0.113.9", "198.51.100.1"], // invented by a client
      ["127.0.0.1", undefined, "127.0.0.1"],
      ["127.0.0.1", "", "127.0.0.1"],
      ["127.0.0.1", "203.0.113.9", "203.0.113.9"],
      ["127.0.0.1", "192.0.2.66, 203.0.113.9", "203.0.113.9"], // the first is invented
      ["127.0.0.1", "192.0.2.66, 203.0.113.9, 10.1.1.1", "203.0.113.9"],
      ["127.0.0.1", "10.0.0.2,10.0.0.3", "10.0.0.2"], // only proxies
      ["::ffff:127.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
      ["::1", "[2001:db8::7]:4711", "2001:db8::7"],
      ["127.0.0.1", "203.0.113.9:4711", "203.0.113.9"],
      ["127.0.0.1", "203.0.113.9, unknown", "127.0.0.1"],
      ["127.0.0.1", "203.0.113.9, _secret, 10.0.0.1", "10.0.0.1"],
      ["127.0.0.1", "203.0.113.9,", "127.0.0.1"],
      ["fe80::1%eth0", undefined, "fe80::1"],
    ] as const
  ) {
    assertEquals(formatAddress(clientAddress(peer, header, TRUSTED)), expected, header);
  }
});
